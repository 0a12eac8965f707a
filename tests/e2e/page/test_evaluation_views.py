"""Runs, judged answers, evaluations and the checks in a real browser, over a real server with real runs."""

import re

import pytest
from support.evaluation_cases import cases_file
from support.garden import CUP, GREENHOUSE, asked_in, enter
from support.serving import a_workspace

from local_rag.evaluation.cases import read_cases
from local_rag.runtime.history import History

pytestmark = pytest.mark.usefixtures("converted")

NEEDED = "qwen3:4b-instruct"
HOSTILE = "<img src=x onerror=alert(1)><script>alert(2)</script>[x](javascript:alert(3))"


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    """Questions about indexed notes, one of which they do not answer, and a case file."""
    base = tmp_path_factory.mktemp("asked")
    asked_in(base)
    (base / "data/cases").mkdir()
    cases_file(base / "data/cases")
    return base


@pytest.fixture
def here(asked, monkeypatch):
    enter(monkeypatch, asked)
    return asked


@pytest.fixture
def tab(browser, here):
    """A tab that is signed in to a server."""
    with browser.signed_in(a_workspace(), axe=True) as opened:
        yield opened


def show(tab, view, heading):
    """Go to a view by the navigation."""
    places = tab.page.get_by_role("navigation", name="Views")
    if not places.locator("details[open]").count():
        places.get_by_text("More").click()
    places.get_by_role("link", name=view).click()
    tab.heading(heading, exact=True)


def test_a_run_is_replayed_on_the_drawing_and_kept_as_a_case(tab, here):
    show(tab, "History", "History")
    assert tab.axe_everywhere(390, 1280) == []
    tab.page.get_by_role("searchbox", name="Filter by question").fill("greenhouse")
    tab.page.get_by_text(CUP).wait_for(state="detached")
    tab.follow(GREENHOUSE)
    tab.heading("The way to it")
    drawing = tab.page.get_by_role("group", name="The way through the graph").get_by_role("img")
    tab.holds(lambda: "Search your files" in drawing.get_attribute("aria-label"))
    slider = tab.page.get_by_role("slider", name="Step")
    slider.fill("1")
    tab.holds(lambda: drawing.locator(".running").count() == 1)  # the node of that step is lit
    tab.press("Replay")
    tab.button("Pause").wait_for()
    tab.button("notes/plan.md").first.wait_for()
    assert tab.axe() == []
    tab.press("Make a case of it")
    tab.page.get_by_role("textbox", name="Case file").fill("from runs")
    assert tab.axe() == []
    tab.press("Keep")
    tab.page.get_by_role("dialog").wait_for(state="detached")
    (case,) = read_cases(here / "data/cases/from runs.jsonl")
    assert (case.question, case.answerable, len(case.relevant)) == (GREENHOUSE, True, 1)


def test_judged_answers_become_cases(tab, here):
    with History.open() as history:
        answered = {each.question: each.id for each in history.runs()}[GREENHOUSE]
    show(tab, "History", "History")
    tab.follow(GREENHOUSE)
    tab.press("Good answer")
    tab.holds(lambda: tab.button("Good answer").get_attribute("aria-pressed") == "true")
    tab.press("Bad answer")
    tab.see("What would have been right?")
    tab.page.get_by_label("Note", exact=True).fill(HOSTILE)
    tab.page.get_by_label("What a right answer says").fill("4,200 euros")
    assert tab.axe() == []
    tab.press("Keep")
    tab.page.get_by_role("dialog").wait_for(state="detached")
    tab.holds(lambda: tab.button("Bad answer").get_attribute("aria-pressed") == "true")
    show(tab, "Evaluation", "Evaluation")
    tab.see(f"{HOSTILE} · right: 4,200 euros")
    tab.has("main img, main script", [])
    tab.press("Make cases of them")
    tab.see("1 kept; the file has 1 case now.")
    (case,) = read_cases(here / "data/cases/my cases.jsonl")
    assert case.answers == ("4,200 euros",) and answered in case.note
    assert tab.axe() == []


def test_cases_are_chosen_asked_and_their_figures_shown(tab, here):
    other = here / "other.jsonl"
    other.write_text("no case")
    show(tab, "Evaluation", "Evaluation")
    tab.press("Ask the cases of mine")
    tab.drop("other.jsonl", "no case")
    tab.see("Other work goes on here")
    tab.heading("Answers")
    tab.page.get_by_role("link", name="The whole report, case by case").wait_for()
    assert tab.axe_everywhere(1280, 390) == []
    tab.page.get_by_label("Choose a file of cases").set_input_files(other)
    tab.see("Other.jsonl, line 1 is not JSON")
    tab.has("main section h2", [])
    assert "local-rag" not in tab.page.get_by_role("main").inner_text()


def test_the_checks_are_shown_and_a_model_is_fetched(browser, here, ollama, monkeypatch):
    ollama.registry.add(NEEDED)
    monkeypatch.setenv("LOCAL_RAG_PROFILE", "16gb")
    with browser.signed_in(a_workspace(), axe=True) as tab:
        show(tab, "Doctor", "Doctor")
        tab.page.get_by_text(re.compile("checks (found something|are well)")).wait_for(timeout=300_000)
        tab.press(f"Fetch {NEEDED}")
        tab.see(f"{NEEDED} is installed (2.0 GB).")
        tab.button(f"Try {NEEDED}").wait_for()
        assert tab.axe_everywhere(1280, 390) == []
