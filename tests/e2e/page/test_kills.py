"""What a page says after its server was killed: a real process, and a real browser that stays open."""

import time
from contextlib import suppress

from support.garden import GREENHOUSE, notes_in
from support.marks import posix
from support.ollama_server import OllamaServer, say
from support.processes import free_port, serving

from local_rag.cli.app import run
from local_rag.runtime.history import History
from local_rag.server.unfinished import Unfinished

pytestmark = posix  # Windows has no SIGKILL
TEXT = "The greenhouse costs 4,200 euros [1]. " * 200


def killed(server):
    server.child.kill()
    server.child.wait()


def test_a_killed_question_keeps_its_draft_and_is_asked_again_in_a_tab_that_stayed_open(
    browser, home, converted, monkeypatch
):
    monkeypatch.setenv("LOCAL_RAG_GRAPH", "plain")
    monkeypatch.setenv("LOCAL_RAG_MODEL", "tiny")
    assert run(["index", str(notes_in(home))]) == 0
    port = str(free_port())
    with OllamaServer() as ollama:
        monkeypatch.setenv("OLLAMA_HOST", ollama.host)
        with serving("--port", port) as server, browser.tab(server.printed) as tab:
            tab.expected += ["ERR_", "status of 401"]
            tab.ask("Who wrote the plan?")
            tab.page.locator("article .status").wait_for()
            ollama.script(say(TEXT, pace=0.2))
            tab.follow("New chat")
            tab.ask(GREENHOUSE)
            tab.see("The greenhouse costs 4,200 euros")
            tab.ask("And the fence?")
            tab.see("It is asked in its turn.")
            with History.open(home / "data") as history:
                tab.holds(lambda: [each for (each, *_) in history.unanswered().values() if "euros" in each.draft])
            killed(server)
            tab.see("The server does not answer. Start")
            with serving("--port", port) as again, browser.tab(again.printed, beside=tab):
                tab.gone("The server does not answer. Start")
                tab.has("article .badge", ["Draft, not checked", "Cut off", "Cut off"])
                tab.see("The greenhouse costs 4,200 euros")
                tab.has(".threads li a", [f"{GREENHOUSE} not answered", "Who wrote the plan?"])
                tab.page.get_by_role("article", name=GREENHOUSE).get_by_role("button", name="Ask again").click()
                tab.page.get_by_role("article", name=GREENHOUSE).locator(".answer").wait_for()
                tab.has("article h2", ["And the fence?", GREENHOUSE])


def test_indexing_that_was_killed_is_said_with_how_far_it_was_and_goes_on(browser, home, converted):
    notes = notes_in(home)
    for number in range(600):
        (notes / f"bed {number}.md").write_text(f"# Bed {number}\n\n" + f"Bed {number} has {number} roses. " * 3)
    port = str(free_port())
    with serving("--port", port) as server, server.page() as page:
        home_folder = page.get("/api/index").json()["allowed"][0]["file_id"]
        with page.stream("POST", "/api/index/add", json={"root": home_folder, "below": "notes"}) as stream:
            next(line for line in stream.iter_lines() if " of 60" in line)
            while not Unfinished(home / "data").all()["default"]["share"]:
                time.sleep(0.01)  # what is told is kept right after it
            killed(server)
    with serving("--port", port) as again, browser.tab(again.printed) as tab:
        tab.expected.append("status of 4")  # what "Go on" gets meanwhile
        notice = tab.page.get_by_role("status").filter(has_text="The server ended while it indexed default, ")
        tab.holds(lambda: " % of it done" in notice.inner_text())
        with again.page() as page:
            from playwright.sync_api import TimeoutError

            def went_on():
                """A click, unless it works: the process of the killed server may still write for a moment."""
                if (button := tab.button("Go on")).is_visible():
                    with suppress(TimeoutError):  # it works by now, and the button is gone
                        button.click(timeout=5_000)
                return page.get("/api/jobs").json() == {"jobs": [], "unfinished": []}

            tab.holds(went_on)
            assert page.get("/api/index").json()["files"] == 602
        tab.page.reload()
        tab.see("What do you want to know?")
        tab.holds(lambda: notice.count() == 0)
