"""The page in a real browser, over a scripted API."""

from __future__ import annotations

import pytest
from support.browser import Browser
from support.page_server import PageServer


@pytest.fixture(scope="module")  # while it is open, an event loop of Playwright's runs, beside which asyncio.run fails
def browser():
    with Browser.open() as chromium:
        yield chromium


@pytest.fixture
def server():
    with PageServer() as running:
        yield running


@pytest.fixture
def tab(browser, server):
    with browser.tab(server.url) as opened:
        yield opened
