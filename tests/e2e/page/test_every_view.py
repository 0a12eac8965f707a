"""Every view of a real server: what axe finds, at the widths of a desk and a phone."""

from __future__ import annotations

import pytest
from support.garden import GREENHOUSE, notes_in
from support.serving import a_workspace

from local_rag.cli.app import run

VIEWS = ("ask", "search", "index", "doctor", "evaluation", "runs")


@pytest.fixture
def indexed(home, converted):
    assert run(["index", str(notes_in(home))]) == 0


def test_axe_has_no_serious_finding_and_nothing_is_cut_off(browser, indexed):
    with browser.signed_in(a_workspace(), axe=True) as tab:
        tab.ask(GREENHOUSE)
        tab.see("Quoted from your files")
        for view in VIEWS:
            tab.page.goto(f"http://{tab.origin}/#/{view}")
            tab.page.locator("main h1").first.wait_for()
            for width in (1280, 390):
                assert tab.axe_everywhere(width) == [], view
                assert tab.page.evaluate("document.documentElement.scrollWidth") <= width, view
