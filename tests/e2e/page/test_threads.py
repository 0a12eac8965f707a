"""Threads at the side, answers that stay, and what several tabs know of each other; over the real API."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from support.asking import scripted
from support.fakes import ScriptedEngine

PLAN, ANSWERED = "What does the plan cost?", "Supported by your files"
LEASE = "#/ask/lease"


@pytest.fixture
def workspace():
    """One whose thread "lease" has one answer."""
    made = scripted()
    made.scripted.ask(PLAN, thread="lease")
    return made


def test_threads_are_listed_renamed_saved_and_deleted(browser, workspace):
    with browser.signed_in(workspace) as tab:
        threads, dialog = tab.page.get_by_role("region", name="Chats"), tab.page.get_by_role("dialog")
        threads.get_by_role("link", name="lease").click()
        tab.see(ANSWERED)
        threads.get_by_role("button", name="Rename, save or delete").click()
        saved = dialog.get_by_role("link", name="Save as Markdown")
        tab.holds(lambda: saved.get_attribute("href").startswith("/api/thread/export?thread="))
        dialog.get_by_label("Name").fill("Lease 2026")
        dialog.get_by_role("button", name="Rename", exact=True).click()
        tab.page.wait_for_url(re.compile("#/ask/Lease%202026$"))
        tab.see(ANSWERED)
        assert workspace.history.names() == ["Lease 2026"]
        threads.get_by_role("button", name="Rename, save or delete").click()
        dialog.get_by_role("button", name="Delete …").click()
        assert workspace.history.names() == ["Lease 2026"]
        dialog.get_by_role("button", name="Delete for good").click()
        tab.see("Your questions will stand here.")
        assert workspace.history.names() == []
        tab.see("What do you want to know?")


def test_chats_stand_by_day_and_are_found_by_their_words(browser):
    def at(days):
        return (datetime.now(UTC) - timedelta(days)).isoformat()

    row = {"turns": 1, "first": "Question 1", "unanswered": False}
    threads = [row | {"name": name, "at": at(days)} for name, days in (("Deposit", 0), ("lease", 1), ("Boiler", 400))]
    with browser.signed_in(scripted()) as tab:
        tab.page.route("**/api/threads", lambda route: route.fulfill(json={"threads": threads}))
        tab.page.reload()
        tab.has(".threads li a", ["Deposit", "lease", "Boiler"])
        day = tab.page.evaluate("(at) => new Date(at).toLocaleDateString(undefined, { dateStyle: 'medium' })", at(400))
        tab.has(".threads h3", ["Today", "Yesterday", day])
        find = tab.page.get_by_role("searchbox", name="Find a chat")
        find.fill("LEA se")
        tab.has(".threads li a", ["lease"])
        tab.has(".threads h3", ["Yesterday"])
        find.fill("question 1")  # the words of the first question count, too
        tab.has(".threads li a", ["Deposit", "lease", "Boiler"])
        find.fill("cellar")
        tab.see("No chat has these words.")


def test_an_answer_alone_is_copied_and_saved(browser, workspace):
    with browser.signed_in(workspace, LEASE) as tab:
        tab.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        for name, kind in {"Markdown": "md", "HTML with its quotes": "html"}.items():
            link = tab.page.get_by_role("link", name=name)
            saved = f"/api/thread/export?thread=lease&turn=1&format={kind}&"
            tab.holds(lambda link=link, saved=saved: link.get_attribute("href").startswith(saved))
        tab.press("Copy")
        tab.page.get_by_role("status").get_by_text("Copied").wait_for(state="attached")
        assert tab.page.evaluate("navigator.clipboard.readText()").startswith("It costs 100 euros [1]")


def test_a_long_question_shows_its_beginning_and_the_whole_on_a_click(browser):
    text = "The tenant moved out in May and wants the deposit back. " * 60 + "What is due?"
    workspace = scripted()
    workspace.scripted.ask(text, thread="lease")
    with browser.signed_in(workspace, LEASE, viewport={"width": 400, "height": 800}) as tab:
        heading = tab.page.locator("article h2").last
        heading.get_by_text("The tenant moved out").wait_for()
        tab.holds(lambda: heading.inner_text().endswith("…") and heading.bounding_box()["height"] < 200)
        tab.press("The whole question")
        tab.holds(lambda: heading.inner_text() == text)
        tab.press("Only its beginning")
        tab.holds(lambda: heading.inner_text().endswith("…"))


def test_a_long_thread_opens_at_its_end_and_goes_on(browser):
    workspace = scripted(ScriptedEngine(drafts=["It costs 100 euros [1]. " * 8]))
    for number in range(1, 61):
        workspace.scripted.ask(f"Question {number}", thread="lease", graph="plain", record=False)
    with browser.signed_in(workspace, LEASE) as tab:
        tab.heading("Question 60")
        tab.in_view("article:last-of-type")
        tab.page.locator("article h2").get_by_text("Question 1", exact=True).wait_for(state="attached")
        tab.holds(lambda: tab.page.locator("article").count() == 60)
        tab.in_view("article:last-of-type")
        tab.ask("Question 61")
        tab.heading("Question 61")
        tab.page.locator("textarea:focus").wait_for()
