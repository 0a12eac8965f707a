"""A question in a real browser: what is seen of it from the first stage to the answer, and how it ends otherwise."""

from __future__ import annotations

from support.page_server import HOLD, answer, ended, passage, quote, started, token

from local_rag.core.answer import Conflict, Position
from local_rag.server.answers import file_id

QUESTION = "How much is the rent?"


def graded(kind, verdict, why="", chunk_id=None, score=None):
    return "graded", {"kind": kind, "verdict": verdict, "why": why, "score": score, "chunk_id": chunk_id, "source": ""}


def test_the_question_box_has_the_focus_and_nothing_is_asked_of_an_empty_one(tab, server):
    tab.page.locator("textarea:focus").wait_for()
    tab.box.press("Enter")
    tab.box.fill("   ")
    tab.box.press("Enter")
    assert tab.button("Ask", exact=True).is_disabled()
    assert server.posted == []


def test_stages_drafts_and_the_answer(tab, server):
    server.script(
        started("retrieve", "searching your files"),
        HOLD,
        ended("retrieve"),
        started("generate", "writing the answer"),
        token("## Rent\n\n1. *One*\n\n| A | B |\n|---|---|\n| `2` | 3 |\n\n```\nx = 1\n```\n\nThe rent is **700"),
        HOLD,
        graded("grade_generation", "not supported", "no passage says 700"),
        started("generate", "writing the answer again"),
        token("The rent is 900", 2),
        HOLD,
        answer("The rent is 900 euros", 1, 2),
    )
    tab.ask(QUESTION)
    tab.see("Searching your files")
    assert server.posted == [("ask", {"question": QUESTION, "thread": ""})]
    server.release()
    tab.see("Draft, not checked yet")
    tab.has(".draft h3", ["Rent"])
    for drawn, texts in {
        "ol em": ["One"],
        "td": ["2", "3"],
        "td code": ["2"],
        "pre": ["x = 1"],
        "strong": ["700"],
    }.items():
        tab.has(f".draft {drawn}", texts)
    server.release()
    tab.see("Draft, taken back")
    tab.see("no passage says 700")
    tab.see("The rent is 900")
    server.release()
    tab.see("Quoted from your files")
    article = tab.page.get_by_role("article")
    tab.has("article .cite", ["1", "2"])
    tab.holds(lambda: "700" not in article.inner_text() and "Draft" not in article.inner_text())
    tab.page.locator("textarea:focus").wait_for()


def test_verdicts_stand_beside_their_passages_and_the_running_node_is_lit(tab, server):
    from playwright.sync_api import expect

    server.script(
        started("retrieve", "searching your files"),
        ("retrieved", {"query": "rent", "passages": [passage(1), passage(2, "notes.md", "Parking costs 40 euros.")]}),
        ended("retrieve"),
        started("grade_documents", "grading 2 passages"),
        graded("relevance", "relevant", "it names the rent", "c1", 0.91),
        graded("relevance", "irrelevant", "it is about parking", "c2", 0.05),
        HOLD,
        answer(),
    )
    tab.ask(QUESTION)
    tab.see("Grading 2 passages")
    tab.holds(lambda: tab.page.get_by_text("it is about parking").count() == 0)
    tab.page.get_by_text("How it comes about").click()
    passages = tab.page.locator(".passage")
    expect(passages).to_have_count(2)
    for number, parts in enumerate(
        (
            ("lease.pdf, p. 1", "relevant", "0.91", "it names the rent"),
            ("notes.md", "irrelevant", "0.05", "it is about parking"),
        )
    ):
        for part in parts:
            expect(passages.nth(number)).to_contain_text(part)
    expect(tab.page.locator(".graph .running")).to_have_text(["Check the passages"])
    expect(tab.page.locator(".graph g.taken")).to_have_text(["question", "Search your files"])
    server.release()
    tab.press("How it came about")
    expect(tab.page.locator(".graph g.taken")).to_have_text(
        [
            "question",
            "Understand the question",
            "Search your files",
            "Check the passages",
            "Write the answer",
            "Check the answer",
            "Make the answer",
            "answer",
        ]
    )
    expect(tab.page.locator(".graph .running")).to_have_count(0)


def test_escape_stops(tab, server):
    server.script(HOLD)
    tab.ask(QUESTION)
    tab.heading(level=1, name=f"2026-11-23 {QUESTION}")
    tab.box.press("Escape")
    tab.see("Stopped")
    assert server.stopped.wait(60)


def test_words_leave_only_after_a_click(tab, server):
    query = {"query": "rent in Vienna", "engine": "duckduckgo", "asks": True}
    server.script(started("web_search_node", "searching the web"), ("web_query", query), HOLD, answer())
    tab.ask(QUESTION)
    tab.see("rent in Vienna")
    assert not [path for path, _ in server.posted if path == "jobs/q1/web"]
    tab.press("Send these words")
    tab.gone("rent in Vienna")
    server.release()
    tab.see("Quoted from your files")
    assert ("jobs/q1/web", {"send": True, "query": "rent in Vienna"}) in server.posted


def test_settings_of_a_question_are_sent_and_the_usual_ones_are_not(tab, server):
    tab.holds(lambda: tab.page.get_by_label("Graph").count() == 0)  # folded away
    tab.press("Settings")
    tab.page.get_by_label("Graph").select_option("crag")
    tab.page.get_by_label("Model").select_option("qwen3:4b")
    tab.page.get_by_label("Web").select_option("ask")
    tab.page.get_by_label("Index").select_option("mail")
    tab.page.get_by_label("Files").fill("*.pdf, contracts/**")
    tab.page.get_by_label("File types").fill("pdf")
    tab.page.get_by_label("Author or sender").fill("Huber, Maier")
    tab.page.get_by_label("Dated since").fill("2023-03-31")
    tab.page.get_by_label("Dated before").fill("2024-01-01")
    tab.page.get_by_label("Passages to read").fill("9")
    tab.press("Settings")
    tab.ask(QUESTION)
    tab.see("Quoted from your files")
    chosen = {
        "graph": "crag", "engine": "ollama", "model": "qwen3:4b", "web": True, "index": "mail", "k": 9,
        "within": "*.pdf, contracts/**", "types": "pdf", "authors": "Huber, Maier", "after": "2023-03-31",
        "before": "2024-01-01",
    }  # fmt: skip
    assert server.posted[-1][1] == {"question": QUESTION, "thread": "", **chosen}
    tab.press("Graph: crag")
    tab.button("Graph: crag").wait_for(state="detached")
    tab.ask(QUESTION)
    tab.page.locator("article").nth(1).locator(".status").wait_for()
    assert "graph" not in server.posted[-1][1] and server.posted[-1][1]["k"] == 9
    tab.press("All as usual")
    tab.ask(QUESTION)
    tab.page.locator("article").nth(2).locator(".status").wait_for()
    assert server.posted[-1][1].keys() == {"question", "thread"}


def test_a_new_chat_asks_while_another_answers_and_every_tab_shows_what_works(browser, tab, server):
    server.script(started("generate", "writing the answer"), HOLD, answer())
    tab.ask(QUESTION)
    tab.see("Writing the answer")
    with browser.tab(server.url + "#/search", beside=tab) as second:
        second.has(".jobs li", [QUESTION])
        tab.follow("New chat")
        tab.ask("And the deposit?")
        tab.see("Quoted from your files")
        second.press(f"Stop: {QUESTION}")
        assert server.stopped.wait(60)
        second.has(".jobs li", [])
        second.page.goto(f"{server.url}#/nowhere")
        second.heading("Not here")


def test_an_answer_that_files_do_not_give_shows_the_nearest_passages(tab, server):
    reason = "none of the 4 passages found answers the question"
    server.script(answer(status="abstained", reason=reason, citations=(), nearest=(quote(3),), about=("leases",)))
    tab.ask(QUESTION)
    tab.see("Your files do not say")
    tab.see(reason)
    tab.see("Nearest passages:")
    tab.has(".source .small bdi", ["lease.pdf, p. 3"])
    tab.see("The index is about: leases.")


def test_files_that_disagree_stand_side_by_side(tab, server):
    sides = (
        Position("900 euros", "2026-01-01", (quote(1, title="Lease of 2026"),), "document"),
        Position("850 euros", "2024-01-01", (quote(2, "old.pdf", "850 euros"),), "file"),
    )
    twice = (quote(1), quote(1, text="It is due on the first.", start=31, end=54), quote(3))
    doubt = {"status": "partial", "certainty": "probably", "reason": "your files disagree"}
    server.script(answer(**doubt, citations=twice, conflicts=(Conflict(sides),)))
    tab.ask(QUESTION)
    tab.see("Probably")
    tab.has(
        ".conflict li",
        ["[1] Lease of 2026 2026-01-01 900 euros", "[2] old.pdf, p. 2 file changed 2024-01-01 850 euros"],
    )
    tab.holds(lambda: tab.page.locator("main").inner_text().count("files disagree") == 1)
    tab.has(".source .number", ["1", "3"])
    tab.has("li:first-child > .source .quote", ["The rent is 900 euros a month.", "It is due on the first."])
    server.answers[f"documents/{file_id('lease.pdf')}/place"] = (404, {})
    tab.expected.append("status of 404")
    tab.page.get_by_text("It is due on the first.").click()
    tab.see("Quote 2 of 4")


def test_an_error_shows_its_message_its_command_and_a_way_on(tab, server):
    error = {"code": "engine", "message": "Ollama does not answer at 127.0.0.1:11434", "hint": "ollama serve"}
    server.script(started("generate", "writing the answer"), ("error", error))
    tab.ask(QUESTION)
    alert = tab.page.get_by_role("alert")
    alert.get_by_text("Ollama does not answer at 127.0.0.1:11434").wait_for()
    tab.holds(lambda: alert.locator("code").inner_text() == "ollama serve")
    tab.press("Settings")
    tab.page.get_by_label("Graph").select_option("crag")
    alert.get_by_role("button", name="Try again").click()
    tab.see("Quoted from your files")
    assert (server.posted[-1][1]["question"], server.posted[-1][1]["graph"]) == (QUESTION, "crag"), (
        "as settings are now"
    )
