"""The first minute in a real browser: from nothing to an answer without a terminal, over the real API."""

import os
from contextlib import contextmanager

import pytest
from support.garden import notes_in
from support.serving import a_workspace, index_here, work_here

from local_rag.config.settings import Settings
from local_rag.runtime.dropped import dropped_files
from local_rag.server.watching import watch


@pytest.fixture
def at_home(home, converted, monkeypatch):
    monkeypatch.setenv("LOCAL_RAG_ENGINE", "extractive")
    notes_in(home)
    (home / "notes" / "lease.md").write_text("# Lease\n\n## Notice period\n\nThe notice period is three months.\n")
    for name in (".hidden", "locked"):
        (home / name).mkdir()
    (home / "letter.txt").write_text("A file is no folder.")
    monkeypatch.setattr(
        "os.access", lambda path, mode, access=os.access: "locked" not in str(path) and access(path, mode)
    )
    return home


@pytest.fixture
def at_once(monkeypatch):
    """Begin no process for what a page begins; the test of a chosen folder has that process."""
    work_here(monkeypatch)


@contextmanager
def first_look(browser, **options):
    with browser.signed_in(a_workspace(), **options) as tab:
        tab.see("What do you want to know?")
        yield tab


def test_a_folder_of_the_home_is_chosen_counted_indexed_and_asked_by_the_keyboard_alone(browser, at_home):
    def pressed(name):
        tab.button(name).focus()
        tab.page.keyboard.press("Enter")

    with first_look(browser) as tab:
        tab.has(".primary:not(.send)", ["Choose a folder"])
        tab.see("No language model writes the answers")
        tab.page.get_by_text("With Ollama a model writes the answer: how").click()
        tab.page.get_by_role("link", name="choose a model").wait_for()
        pressed("Choose a folder")
        tab.has(
            ".folders button", ["data", "notes"]
        )  # nothing that is hidden or locked, no file, and no way above the home
        pressed("notes")
        tab.see("4 files: 2 .md and 2 .txt")
        tab.has(".folders button", ["The folder above", "letters"])
        pressed("Index this folder")
        pressed("What is “Lease” about?")
        tab.see("Notice period")
        tab.holds(lambda: "No language model" not in tab.page.get_by_role("main").inner_text())


def test_the_sample_is_tried_and_asked(browser, at_home, at_once):
    with first_look(browser) as tab:
        tab.press("Try the sample")
        tab.holds(lambda: tab.page.locator(".suggested").count() == 3)
        tab.press("What does CRAG do when every retrieved document is irrelevant?")
        tab.see("Quoted from your files")
    assert Settings.load(index="demo").index_path.exists() and not Settings.load().index_path.exists()


def test_dropped_files_are_copied_and_indexed_and_what_cannot_be_is_said(browser, at_home, at_once):
    with first_look(browser) as tab:
        tab.expected.append("400")
        tab.drop("film.mp4", "x")
        tab.see("film.mp4: ")
        tab.drop("well.md", "# Well\n\n## Depth\n\nThe well is 12 metres deep.\n")
        tab.see("What is “Well” about?")
        tab.page.goto(f"{tab.page.url.split('#')[0]}#/index")
        tab.page.get_by_role("checkbox", name="Choose Dropped files/well.md").wait_for()
        tab.follow("Ask")
        tab.see("Asking: well.md alone")
        tab.ask("How deep is the well?")
        tab.see("12 metres")
        tab.drop("shed.md", "# Shed\n\nThe shed is 3 metres wide.\n")
        tab.see("Asking: shed.md alone")
        tab.press("Edit the question")
        tab.holds(lambda: tab.box.input_value() == "How deep is the well?")
        tab.box.fill("How wide is the shed?")
        tab.follow("Search")
        held = []
        tab.page.route("**/api/thread?*", lambda route: held.append(route))
        tab.page.go_back()
        tab.holds(lambda: held and tab.box.input_value() == "How wide is the shed?")
        tab.box.press("Enter")  # it is sent once the chat is there
        for each in held:
            each.continue_()
        tab.page.unroute("**/api/thread?*")
        tab.see("Asked of Dropped files/shed.md")
    assert {path.name for path in dropped_files(Settings.load()).iterdir()} == {"well.md", "shed.md"}


def test_an_index_is_made_by_name_chosen_and_deleted(browser, at_home, at_once):
    with first_look(browser) as tab:
        tab.follow("Files")
        for name in ("", "letters"):
            tab.press("Add a folder" if name else "Choose a folder")
            dialog = tab.page.get_by_role("dialog")
            dialog.get_by_role("button", name="notes").click()
            dialog.get_by_text("More", exact=True).click()
            tab.page.get_by_label("Into an index of its own, called").fill(name)
            tab.press("Index this folder")
            tab.see("Brought up to date")
        choice = tab.page.get_by_role("combobox", name="Index")
        tab.holds(lambda: choice.count() == 1 and choice.input_value() == "letters")
        tab.follow("Ask")
        tab.press("Settings")
        tab.page.get_by_role("combobox", name="Index").select_option("letters")
        tab.see("Asking: letters, 3 files")
        tab.ask("How long is the notice period?")
        tab.see("Asked of letters")
        chat = tab.page.url
        tab.page.get_by_role("link", name="New chat").click()
        tab.see("Asking: notes, 3 files")
        tab.page.goto(chat)
        tab.page.reload()
        tab.see("Asking: letters, 3 files")
        tab.follow("Files")
        choice.select_option("letters")
        tab.press("Delete this index …")
        tab.press("Delete for good")
        tab.holds(lambda: tab.page.url.endswith("#/index") and choice.count() == 0)
        tab.page.goto(chat)
        tab.see("The index letters is not there any more, so this chat asks the default one. Asking: notes, 3 files")
        tab.ask("How long is the notice period of the tenant?")
        tab.has("article .cite", ["1", "1"])
        tab.see("Asking: notes, 3 files")


def test_files_are_chosen_beside_the_question_and_in_the_view_of_a_file(browser, at_home, at_once):
    question = "How long is the notice period?"
    with first_look(browser, axe=True, reduced_motion="reduce") as tab:
        tab.button("Choose a folder").wait_for()
        assert tab.axe_everywhere(1280, 400) == []
        tab.press("Choose a folder")
        tab.press("notes")
        tab.see("4 files")
        assert tab.axe_everywhere(1280, 400) == []
        tab.press("Index this folder")
        tab.button("What is “Lease” about?").wait_for()
        tab.press("Files", exact=True)
        tab.page.get_by_role("searchbox", name="Filter by name").fill("lease")
        tab.has("dialog li", ["notes/lease.md"])
        tab.page.get_by_role("checkbox", name="notes/lease.md").check()
        assert tab.axe_everywhere(1280, 400) == []
        tab.press("Done")
        tab.has(".composer .changed", ["notes/lease.md"])
        assert tab.axe_everywhere(1280, 400) == []
        tab.ask(question)
        tab.see("three months")
        tab.has(".source .small bdi", ["notes/lease.md, § Lease > Notice period"])
        tab.button("notes/lease.md").last.click()
        tab.has(".composer .changed", [])
        tab.page.goto(f"{tab.page.url.split('#')[0]}#/index")
        tab.see("~/notes")
        tab.follow("plan.md")
        tab.press("Ask about this file")
        tab.has(".composer .changed", ["notes/plan.md"])


def test_what_changed_on_the_disk_is_said_of_each_file_and_taken_in(browser, at_home, at_once):
    notes = at_home / "notes"
    index_here(notes)
    (notes / "plan.md").write_text("The greenhouse costs 5,000 euros.")
    (notes / "lease.md").unlink()
    (notes / "keys.md").write_text("The keys hang beside the door.")
    with browser.signed_in(a_workspace(), "#/index", axe=True, reduced_motion="reduce") as tab:
        tab.see("On the disk since then: 1 new, 1 changed, 1 gone.")
        tab.has(".files .badge.warn", ["not on disk any more", "changed on disk"])
        tab.page.get_by_text("Which files").click()
        tab.see("New: notes/keys.md")
        assert tab.axe_everywhere(1280, 390) == []
        tab.press("Take in the changes")
        tab.see("keys.md")
        tab.has(".files .badge.warn", [])
        tab.gone("On the disk since then")


def test_the_page_shows_that_it_watches_and_what_changed_last(browser, at_home):
    index_here(at_home / "notes")
    lines, workspace = [], a_workspace()
    with browser.signed_in(workspace, "#/index") as tab:
        watch(workspace, lines.append, quiet=0.2)
        tab.holds(lambda: any("watching" in line for line in lines))
        tab.page.reload()
        tab.see("Watching ~/notes")
        (at_home / "notes" / "keys.md").write_text("The keys hang beside the door.")
        tab.see("Last change")
        tab.see("added ~/notes/keys.md")
    assert [line.split("added ")[1].split(" (")[0] for line in lines if "added" in line] == ["~/notes/keys.md"]
