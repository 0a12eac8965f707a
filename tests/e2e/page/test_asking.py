"""A question in a real browser: what is seen of it from the first stage to the answer, and how it ends otherwise."""

from __future__ import annotations

from support.page_server import HOLD, answer, ended, passage, quote, started, token

QUESTION = "How much is the rent?"


def graded(kind, verdict, why="", chunk_id=None, score=None):
    return "graded", {"kind": kind, "verdict": verdict, "why": why, "score": score, "chunk_id": chunk_id, "source": ""}


def test_the_question_box_has_the_focus_and_nothing_is_asked_of_an_empty_one(tab, server):
    tab.page.locator("textarea:focus").wait_for()
    tab.box.press("Enter")
    tab.box.fill("   ")
    tab.box.press("Enter")
    assert tab.page.get_by_role("button", name="Ask", exact=True).is_disabled()
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
    tab.page.get_by_role("button", name="How it came about").click()
    expect(tab.page.locator(".graph g.taken")).to_have_text(
        ["question", "Search your files", "Check the passages", "Write the answer", "Check the answer", "answer"]
    )
    expect(tab.page.locator(".graph .running")).to_have_count(0)


def test_stop_ends_the_question_at_the_server_and_asking_again_is_a_click(tab, server):
    server.script(started("generate", "writing the answer"), HOLD, answer())
    tab.ask(QUESTION)
    tab.see("Writing the answer")
    tab.page.get_by_role("button", name="Stop", exact=True).click()
    tab.see("Stopped")
    assert server.stopped.wait(60)
    tab.page.get_by_role("button", name="Ask again").click()
    tab.see("Quoted from your files")
    thread = next(iter(server.threads))
    assert [body for path, body in server.posted if path == "ask"][1] == {"question": QUESTION, "thread": thread}
    tab.holds(lambda: tab.page.get_by_text("Stopped", exact=True).count() == 0)


def test_escape_stops(tab, server):
    server.script(HOLD)
    tab.ask(QUESTION)
    tab.page.get_by_role("heading", level=1, name=f"2026-11-23 {QUESTION}").wait_for()
    tab.box.press("Escape")
    tab.see("Stopped")
    assert server.stopped.wait(60)


def test_a_reload_in_mid_answer_joins_the_question_again(tab, server):
    server.script(started("generate", "writing the answer"), token("The rent is 900"), HOLD, answer())
    tab.ask(QUESTION)
    tab.see("Writing the answer")
    tab.page.reload()
    tab.page.get_by_role("heading", name=QUESTION, exact=True).wait_for()
    tab.see("Writing the answer")
    tab.see("The rent is 900")
    server.release()
    tab.see("Quoted from your files")
    tab.holds(
        lambda: (
            tab.page.locator("article").count() == 1 and len([path for path, _ in server.posted if path == "ask"]) == 1
        )
    )


def test_a_question_of_another_tab_is_seen_and_stopped(browser, tab, server):
    server.script(started("generate", "writing the answer"), HOLD, answer())
    tab.ask(QUESTION)
    tab.see("Writing the answer")
    with browser.tab(tab.page.url, beside=tab) as second:
        second.see("Writing the answer")
        second.page.get_by_role("button", name="Stop", exact=True).click()
        second.see("Stopped")
        tab.see("Stopped")
        second.page.get_by_role("button", name="Rename, save or delete").click()
        second.holds(
            lambda: second.page.get_by_role("dialog").get_by_role("link").count() == 0
        )  # nothing is there to be saved
        second.page.keyboard.press("Escape")
        second.page.get_by_role("button", name="Ask again").click()
        second.see("Quoted from your files")
    assert server.posted[-1][1]["question"] == QUESTION


def test_a_follow_up_goes_on_in_the_thread_and_says_how_it_was_understood(tab, server):
    server.script(answer())
    understood = {"understood": "understood as: How high is the deposit of the lease?"}
    server.script(answer("The deposit is 1800 euros", lines=understood))
    tab.ask(QUESTION)
    tab.see("Quoted from your files")
    tab.ask("And the deposit?")
    tab.see("understood as: How high is the deposit of the lease?")
    thread = next(iter(server.threads))
    assert server.posted[-1] == ("ask", {"question": "And the deposit?", "thread": thread})
    tab.has("article h2", [QUESTION, "And the deposit?"])


def test_the_place_in_the_queue_is_shown(tab, server):
    server.script(("queued", {"id": "q1", "position": 2}), HOLD, ("begun", None), HOLD, answer())
    tab.ask(QUESTION)
    tab.see("2 questions are answered before yours.")
    server.release()
    tab.gone("2 questions")
    server.release()
    tab.see("Quoted from your files")


def test_words_leave_only_after_a_click(tab, server):
    query = {"query": "rent in Vienna", "engine": "duckduckgo", "asks": True}
    server.script(started("web_search_node", "searching the web"), ("web_query", query), HOLD, answer())
    tab.ask(QUESTION)
    tab.see("rent in Vienna")
    assert not [path for path, _ in server.posted if path == "jobs/q1/web"]
    tab.page.get_by_role("button", name="Send these words").click()
    tab.gone("rent in Vienna")
    server.release()
    tab.see("Quoted from your files")
    assert ("jobs/q1/web", {"send": True, "query": "rent in Vienna"}) in server.posted


def test_settings_of_a_question_are_sent_and_the_usual_ones_are_not(tab, server):
    tab.holds(lambda: tab.page.get_by_label("Graph").count() == 0)  # folded away
    tab.page.get_by_role("button", name="Settings").click()
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
    tab.page.get_by_role("button", name="Settings").click()
    tab.ask(QUESTION)
    tab.see("Quoted from your files")
    chosen = {
        "graph": "crag", "engine": "ollama", "model": "qwen3:4b", "web": True, "index": "mail", "k": 9,
        "within": "*.pdf, contracts/**", "types": "pdf", "authors": "Huber, Maier", "after": "2023-03-31",
        "before": "2024-01-01",
    }  # fmt: skip
    assert server.posted[-1][1] == {"question": QUESTION, "thread": "", **chosen}
    tab.page.get_by_role("button", name="Graph: crag").click()
    tab.page.get_by_role("button", name="Graph: crag").wait_for(state="detached")
    tab.ask(QUESTION)
    tab.page.locator("article").nth(1).locator(".status").wait_for()
    assert "graph" not in server.posted[-1][1] and server.posted[-1][1]["k"] == 9
    tab.page.get_by_role("button", name="All as usual").click()
    tab.ask(QUESTION)
    tab.page.locator("article").nth(2).locator(".status").wait_for()
    assert server.posted[-1][1].keys() == {"question", "thread"}


def test_a_look_at_another_view_does_not_stop_the_question(tab, server):
    server.script(started("generate", "writing the answer"), HOLD, answer())
    tab.ask(QUESTION)
    tab.see("Writing the answer")
    thread = tab.page.url
    tab.page.goto(server.url + "#/nowhere")
    tab.page.get_by_role("heading", name="Not here").wait_for()
    tab.page.goto(thread)
    tab.see("Writing the answer")
    server.release()
    tab.see("Quoted from your files")
    assert not server.stopped.is_set()


def test_a_new_chat_asks_while_another_answers_and_every_tab_shows_what_works(browser, tab, server):
    server.script(started("generate", "writing the answer"), HOLD, answer())
    tab.ask(QUESTION)
    tab.see("Writing the answer")
    with browser.tab(server.url + "#/search", beside=tab) as second:
        second.has(".jobs li", [QUESTION])
        tab.page.get_by_role("link", name="New chat").click()
        tab.ask("And the deposit?")
        tab.see("Quoted from your files")
        second.page.get_by_role("button", name=f"Stop: {QUESTION}").click()
        assert server.stopped.wait(60)
        second.has(".jobs li", [])


def test_an_answer_that_files_do_not_give_shows_the_nearest_passages(tab, server):
    text = "Your files do not say: none of the 4 passages found answers the question"
    lines = {"nearest": "Nearest passages:", "about": "The index is about: leases."}
    server.script(answer("", status="abstained", status_text=text, citations=[], nearest=[quote(3)], lines=lines))
    tab.ask(QUESTION)
    tab.see("Your files do not say")
    tab.see("none of the 4 passages found answers the question")
    tab.see("Nearest passages:")
    tab.see("The index is about: leases.")


def test_files_that_disagree_stand_side_by_side(tab, server):
    sides = [
        {"text": "900 euros", "when": "2026-01-01", "citations": [quote(1) | {"title": "Lease of 2026"}]},
        {"text": "850 euros", "when": "file changed 2024-01-01", "citations": [quote(2, "old.pdf", "850 euros")]},
    ]
    text = "Probably: your files disagree"
    twice = [quote(1), quote(1, text="It is due on the first.") | {"start": 31}, quote(3)]
    server.script(
        answer(
            status="partial",
            status_text=text,
            citations=twice,
            conflicts=[{"line": "What they say:", "positions": sides}],
        )
    )
    tab.ask(QUESTION)
    tab.see("Probably")
    tab.has(
        ".conflict li",
        ["[1] Lease of 2026 2026-01-01 900 euros", "[2] old.pdf, p. 2 file changed 2024-01-01 850 euros"],
    )
    tab.holds(lambda: tab.page.locator("main").inner_text().count("files disagree") == 1)
    tab.has(".source .number", ["1", "3"])
    tab.has("li:first-child > .source .quote", ["The rent is 900 euros a month.", "It is due on the first."])
    server.answers["documents/f1/place"] = (404, {})
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
    tab.page.get_by_role("button", name="Settings").click()
    tab.page.get_by_label("Graph").select_option("crag")
    alert.get_by_role("button", name="Try again").click()
    tab.see("Quoted from your files")
    assert (server.posted[-1][1]["question"], server.posted[-1][1]["graph"]) == (QUESTION, "crag"), (
        "as settings are now"
    )
