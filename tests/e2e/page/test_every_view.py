"""Every view of a real server: what axe finds, at the widths of a desk and a phone."""

from __future__ import annotations

import pytest
from support.garden import GREENHOUSE, notes_in
from support.processes import free_port, serving

from local_rag.cli.app import run

VIEWS = ("ask", "search", "index", "doctor", "evaluation", "runs")


@pytest.fixture
def indexed(home, converted):
    assert run(["index", str(notes_in(home))]) == 0


def test_axe_has_no_serious_finding_and_nothing_is_cut_off(browser, indexed):
    with serving("--port", str(free_port())) as server, browser.tab(server.printed, axe=True) as tab:
        tab.ask(GREENHOUSE)
        tab.see("Quoted from your files")
        for view in VIEWS:
            tab.page.goto(f"{server.base}/#/{view}")
            tab.page.locator("main h1").first.wait_for()
            for width in (1280, 390):
                assert tab.axe_everywhere(width) == [], view
                assert tab.page.evaluate("document.documentElement.scrollWidth") <= width, view
