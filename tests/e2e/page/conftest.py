"""The page in a real browser."""

import pytest
from support.browser import Browser


@pytest.fixture(scope="package")  # while it is open, an event loop of Playwright's runs, beside which asyncio.run fails
def browser():
    with Browser.open() as chromium:
        yield chromium
