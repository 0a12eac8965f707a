"""Threads at the side, and two tabs."""

from __future__ import annotations

import re

from support.page_server import Job, answer, now, unanswered

QUESTION = "How much is the rent?"
GROUNDED = "Quoted from your files"


def turns(count, thread="lease"):
    """A thread with so many answers."""
    answers = [
        answer(f"Answer {n} [1] " + "and more " * 20, question=f"Question {n}", thread=thread, turn=n)[1]
        for n in range(1, count + 1)
    ]
    return {"name": thread, "turns": answers, "unanswered": [], "running": []}


def test_threads_are_listed_renamed_saved_and_deleted(tab, server):
    tab.ask(QUESTION)
    tab.see(GROUNDED)
    threads = tab.page.get_by_role("region", name="Chats")
    threads.get_by_role("link", name=QUESTION).wait_for()
    threads.get_by_role("button", name="Rename, save or delete").click()
    dialog = tab.page.get_by_role("dialog")
    saved = dialog.get_by_role("link", name="Save as Markdown")
    tab.holds(lambda: saved.get_attribute("href").startswith("/api/thread/export?thread="))
    dialog.get_by_label("Name").fill("Lease 2026")
    dialog.get_by_role("button", name="Rename", exact=True).click()
    tab.page.wait_for_url(re.compile("#/ask/Lease%202026$"))
    tab.see(GROUNDED)
    threads.get_by_role("link", name="Lease 2026").wait_for()
    assert list(server.threads) == ["Lease 2026"]
    threads.get_by_role("button", name="Rename, save or delete").click()
    dialog.get_by_role("button", name="Delete …").click()
    assert list(server.threads) == ["Lease 2026"]
    dialog.get_by_role("button", name="Delete for good").click()
    tab.see("Your questions will stand here.")
    assert server.threads == {}
    tab.see("What do you want to know?")


def test_chats_stand_by_day_and_are_found_by_their_words(tab, server):
    for name, days in (("Boiler", 400), ("lease", 1), ("Deposit", 0)):
        server.threads[name] = turns(1, name) | {"at": now(days)}
    tab.page.reload()
    tab.has(".threads li a", ["Deposit", "lease", "Boiler"])
    day = tab.page.evaluate("(at) => new Date(at).toLocaleDateString(undefined, { dateStyle: 'medium' })", now(400))
    tab.has(".threads h3", ["Today", "Yesterday", day])
    find = tab.page.get_by_role("searchbox", name="Find a chat")
    find.fill("LEA se")
    tab.has(".threads li a", ["lease"])
    tab.has(".threads h3", ["Yesterday"])
    find.fill("question 1")  # the words of the first question count, too
    tab.has(".threads li a", ["Deposit", "lease", "Boiler"])
    find.fill("cellar")
    tab.see("No chat has these words.")


def test_what_is_used_less_stands_under_more(tab, server):
    server.answers["runs"] = (200, {"runs": [], "total": 0, "good": {}})
    more = tab.page.get_by_text("More", exact=True)
    history = tab.page.get_by_role("link", name="History")
    tab.holds(lambda: history.count() == 0)
    more.click()
    tab.has("nav details a", ["Evaluation", "History", "Doctor"])
    history.click()
    tab.heading(level=1, name="History")
    tab.page.reload()
    tab.holds(history.is_visible)


def test_an_answer_alone_is_copied_and_saved(tab, server):
    tab.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    server.threads["lease"] = turns(1)
    tab.page.goto(server.url + "#/ask/lease")
    links = {name: tab.page.get_by_role("link", name=name) for name in ("Markdown", "HTML with its quotes")}
    tab.holds(lambda: links["Markdown"].get_attribute("href") == "/api/thread/export?thread=lease&turn=1&format=md&")
    tab.holds(
        lambda: (
            links["HTML with its quotes"].get_attribute("href") == "/api/thread/export?thread=lease&turn=1&format=html&"
        )
    )
    tab.press("Copy")
    tab.page.get_by_role("status").get_by_text("Copied").wait_for(state="attached")
    assert tab.page.evaluate("navigator.clipboard.readText()").startswith("Answer 1 [1]")


def test_a_long_question_shows_its_beginning_and_the_whole_on_a_click(browser, server):
    text = "The tenant moved out in May and wants the deposit back. " * 60 + "What is due?"
    server.threads["lease"] = turns(1) | {"unanswered": [unanswered(text)]}
    with browser.tab(f"{server.url}#/ask/lease", viewport={"width": 400, "height": 800}) as tab:
        heading = tab.page.locator("article h2").last
        heading.get_by_text("The tenant moved out").wait_for()
        tab.holds(lambda: heading.inner_text().endswith("…") and heading.bounding_box()["height"] < 200)
        tab.press("The whole question")
        tab.holds(lambda: heading.inner_text() == text)
        tab.press("Only its beginning")
        tab.holds(lambda: heading.inner_text().endswith("…"))


def test_a_second_tab_sees_what_the_first_has_asked(browser, tab, server):
    server.threads["lease"] = turns(1)
    with browser.tab(server.url + "#/ask/lease", beside=tab) as second:
        second.see("Answer 1")
        tab.page.goto(server.url + "#/ask/lease")
        tab.see("Answer 1")
        tab.ask(QUESTION)
        tab.page.locator("article").nth(1).locator(".status").wait_for()  # the server keeps it by now
        second.page.evaluate("window.dispatchEvent(new Event('focus'))")
        second.heading(QUESTION, exact=True)
        second.ask("And the deposit?")
        second.heading("And the deposit?")
        assert len(server.threads["lease"]["turns"]) >= 2


def test_indexing_is_seen_in_every_tab_joined_after_a_reload_and_stopped_in_one(browser, server):
    work = server.jobs["i1"] = Job("i1", "", {})
    work.events += [("begun", {"id": "i1"}), ("progress", {"share": 0.2, "line": "12 of 51 files"})]
    row = {"id": "i1", "kind": "indexing", "state": "running", "about": {"index": "flat"}}
    server.answers |= {
        "jobs": (200, {"jobs": [row], "unfinished": []}),
        "index": (200, {"exists": True, "job": "i1"}),
    }
    with browser.tab(server.url) as tab, browser.tab(server.url, beside=tab) as second:
        for each in (tab, second):
            each.see("12 of 51 files")
            each.has(".jobs a", ["Indexing flat"])
        tab.page.reload()
        tab.see("12 of 51 files")
        second.press("Stop: Indexing flat")
        assert server.stopped.wait(60)
        server.answers |= {"jobs": (200, {"jobs": [], "unfinished": []}), "index": (200, {"exists": True})}
        work.events.append(("error", {"code": "stopped", "message": "stopped", "hint": ""}))
        work.ended = True
        for each in (tab, second):
            each.see("Stopped. What was done so far is kept.")
            each.has(".jobs a", [])


def test_a_long_thread_opens_at_its_end_and_goes_on(tab, server):
    server.threads["lease"] = turns(200)
    tab.page.goto(server.url + "#/ask/lease")
    tab.heading("Question 200")
    tab.in_view("article:last-of-type")
    tab.page.locator("article h2").get_by_text("Question 1", exact=True).wait_for(state="attached")
    tab.holds(lambda: tab.page.locator("article").count() == 200)
    tab.in_view("article:last-of-type")
    tab.ask("Question 201")
    tab.heading("Question 201")
    tab.page.locator("textarea:focus").wait_for()


def test_refusals_of_the_server_say_what_to_do(browser, server):
    from playwright.sync_api import expect

    refusals = {
        403: ("forbidden", "a request from another site", "open the page itself", "Open the page itself"),
        429: ("busy", "8 questions wait already", "", ""),
    }
    for status, (code, message, hint, shown) in refusals.items():
        server.answers["ask"] = (status, {"error": {"code": code, "message": message, "hint": hint}})
        with browser.tab(server.url) as tab:
            tab.expected.append(f"status of {status}")
            tab.ask(QUESTION)
            alert = tab.page.get_by_role("alert")
            alert.get_by_text(message).wait_for()
            expect(alert).to_contain_text(shown)
