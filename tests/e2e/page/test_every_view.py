"""Every view of a real server: what axe finds, at the widths of a desk and a phone; and a sign-in while it answers."""

from __future__ import annotations

import pytest
from support.garden import GREENHOUSE, notes_in
from support.ollama_server import OllamaServer, say
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


def test_a_question_that_runs_is_joined_by_who_signs_in_anew(browser, indexed, monkeypatch):
    monkeypatch.setenv("LOCAL_RAG_GRAPH", "plain")
    monkeypatch.setenv("LOCAL_RAG_MODEL", "tiny")
    with OllamaServer() as ollama:
        monkeypatch.setenv("OLLAMA_HOST", ollama.host)
        with serving("--port", str(free_port())) as server:
            with browser.tab(server.printed) as tab:
                ollama.script(say("The greenhouse costs 4,200 euros [1]. " * 100, pace=0.2))
                tab.ask(GREENHOUSE)
                tab.see("The greenhouse costs 4,200 euros")
            with browser.tab(server.printed) as tab:
                tab.page.locator(".threads li a").first.click()
                tab.see("The greenhouse costs 4,200 euros")
                tab.page.get_by_role("main").get_by_role("button", name="Stop").click()
                tab.see("Stopped")
