"""Test feedback on answers: it is stored beside the runs, listed and deleted like all quotes, and made into cases."""

from dataclasses import replace

import pytest
from support.databases import sql
from support.garden import BEGIN, CUP, GREENHOUSE

from local_rag.evaluation.cases import read_cases
from local_rag.evaluation.figures import is_right
from local_rag.evaluation.labels import case_of_feedback
from local_rag.runtime.history import History


@pytest.fixture
def history(here):
    with History.open() as opened:
        yield opened


@pytest.fixture
def ids(history):
    """Return the run of each question."""
    return {each.question: each.id for each in history.runs()}


def kept(said, what=""):
    return {each["name"] for each in said.json(f"kept {what}") if each["kind"] == "feedback"}


def test_kept_names_it_and_deletes_it(here, history, ids, said):
    greenhouse, cup = (history.judge(ids[question], True).run for question in (GREENHOUSE, CUP))
    for what in ("", "--index default", "notes/plan.md"):  # the other one looked at the plan
        assert kept(said, what) == {greenhouse, cup}
    assert kept(said, "--index other") == set() == kept(said, "notes/none.md")
    assert "1 answer with feedback" in said(f"kept {greenhouse} --delete") and kept(said) == {cup}
    assert "deleted" in said("kept notes/plan.md --delete") and history.judgements() == []


def test_it_goes_with_its_chat_its_index_and_by_age(here, history, ids, said, monkeypatch):
    for run_id in ids.values():
        history.judge(run_id, True)
    said("threads delete garden")
    assert {each.question for each in history.judgements()} == {CUP, BEGIN}
    sql(history.path, "UPDATE judgements SET at = '2020-01-01T00:00:00+00:00' WHERE question = ?", ids[CUP])
    said("runs")
    assert len(history.judgements()) == 2
    monkeypatch.setenv("LOCAL_RAG_HISTORY_KEEP_DAYS", "30")
    assert "deleted 1 judgement of more than 30 days ago (history.keep_days)" in said("runs")
    assert [each.question for each in history.judgements()] == [BEGIN]
    said("remove --index default")
    assert history.judgements() == []


@pytest.mark.slow
def test_judged_answers_become_cases_without_a_word_where_the_judgement_says_enough(here, history, ids, said):
    make = "eval make mine.jsonl --from-feedback"
    history.judge(ids[GREENHOUSE], True, note="with its price")
    history.judge(ids[CUP], True)
    history.judge(ids[BEGIN], False, note="no idea")
    text = said(make)
    assert "2 cases of feedback kept in mine.jsonl (2 cases now)" in text
    assert "1 answer left out: say on the page what a right answer says" in text
    (first, second) = read_cases(here / "mine.jsonl")
    assert (first.question, first.answerable, first.relevant[0].file) == (GREENHOUSE, True, "plan.md")
    assert first.answers[-1] == first.relevant[-1].quote, "its quotes are right"
    assert first.note.startswith("feedback on the run ") and first.note.endswith(": with its price")
    assert (second.question, second.answerable, second.relevant) == (CUP, False, ())
    history.judge(ids[BEGIN], False, expected="3 May")
    text = said(make)
    assert "1 case of feedback kept in mine.jsonl (3 cases now)" in text and "2 questions were there already" in text
    assert read_cases(here / "mine.jsonl")[2].answers == ("3 May",)
    assert "3 answers from other indexes left out" in said(f"{make} --index other")
    said("eval mine.jsonl --graph plain --out run")
    assert any(each["kind"] == "cases" for each in said.json("kept"))


def test_what_is_relevant_by_what_a_person_says(here, history, ids):
    def case(question, good, **said):
        return case_of_feedback(history.judge(ids[question], good, **said), [])

    assert case(GREENHOUSE, False) is None, "nobody said what is right"
    assert case(CUP, False).answerable is True, "of a bad abstention it is known that the files do answer"
    assert case(GREENHOUSE, False, unanswerable=True).answerable is False
    wrong = case(GREENHOUSE, False, expected="nothing like it")
    assert (wrong.answers, wrong.relevant) == (("nothing like it",), ()), "what a wrong answer cites is not relevant"
    good = case(GREENHOUSE, True)
    for text, right in (("It is 4,200 euros, all in all [1].", True), ("It costs 42 euros [1].", False)):
        record = {"answer": {"status": "grounded", "text": text}}
        assert is_right(good, record) is right, "other words with the same answer are right"
    said = history.judgement(ids[GREENHOUSE])
    wordless = replace(said, answer=replace(said.answer, short="", highlights=()))
    of_list = case_of_feedback(wordless, [])
    assert of_list.answers == () and of_list.relevant == good.relevant, "it is compared by what it cites alone"
    held = case(GREENHOUSE, False, expected="4,200 euros")
    assert [target.file[-7:] for target in held.relevant] == ["plan.md"]
