"""Feedback on answers: kept beside the runs, named and deleted like all that quotes files, made into cases for eval."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

import pytest
from support.garden import BEGIN, CUP, GREENHOUSE

from local_rag.cli.app import run
from local_rag.evaluation.cases import read_cases
from local_rag.evaluation.labels import case_of_feedback
from local_rag.runtime.history import History


@pytest.fixture
def history(here):
    with History.open() as opened:
        yield opened


@pytest.fixture
def ids(history):
    """The run of each question."""
    return {each.question: each.id for each in history.runs()}


def said(capsys, *command, code=0):
    capsys.readouterr()
    assert run([*command]) == code
    written = capsys.readouterr()
    return written.err if code else written.out


def kept(capsys, *more):
    return [each["name"] for each in json.loads(said(capsys, "kept", "--json", *more)) if each["kind"] == "feedback"]


def test_kept_names_it_and_deletes_it(here, history, ids, capsys):
    greenhouse, cup = (history.judge(ids[question], True).run for question in (GREENHOUSE, CUP))
    assert set(kept(capsys)) == {greenhouse, cup} == set(kept(capsys, "--index", "default"))
    assert set(kept(capsys, "notes/plan.md")) == {greenhouse, cup}, "the other one looked at it"
    assert kept(capsys, "--index", "other") == [] == kept(capsys, "notes/none.md")
    assert "1 answer with feedback" in said(capsys, "kept", greenhouse, "--delete")
    assert kept(capsys) == [cup]
    assert "deleted" in said(capsys, "kept", "notes/plan.md", "--delete") and history.judgements() == []


def test_it_goes_with_its_chat_its_index_and_by_age(here, history, ids, capsys, monkeypatch):
    for run_id in ids.values():
        history.judge(run_id, True)
    said(capsys, "threads", "delete", "garden")
    assert {each.question for each in history.judgements()} == {CUP, BEGIN}
    with closing(sqlite3.connect(history.path)) as database, database:
        database.execute("UPDATE judgements SET at = '2020-01-01T00:00:00+00:00' WHERE question = ?", (ids[CUP],))
    said(capsys, "runs")
    assert len(history.judgements()) == 2
    monkeypatch.setenv("LOCAL_RAG_HISTORY_KEEP_DAYS", "30")
    capsys.readouterr()
    assert run(["runs"]) == 0
    assert "deleted 1 judgement of more than 30 days ago (history.keep_days)" in capsys.readouterr().err
    assert [each.question for each in history.judgements()] == [BEGIN]
    said(capsys, "remove", "--index", "default")
    assert history.judgements() == []


@pytest.mark.slow
def test_judged_answers_become_cases_without_a_word_where_the_judgement_says_enough(here, history, ids, capsys):
    history.judge(ids[GREENHOUSE], True, note="with its price")
    history.judge(ids[CUP], True)
    history.judge(ids[BEGIN], False, note="no idea")
    text = said(capsys, "eval", "make", "mine.jsonl", "--from-feedback")
    assert "2 cases of feedback kept in mine.jsonl (2 cases now)" in text
    assert "1 answer left out: say on the page what a right answer says" in text
    (first, second) = read_cases(here / "mine.jsonl")
    assert (first.question, first.answerable, first.relevant[0].file) == (GREENHOUSE, True, "plan.md")
    assert first.note.startswith("feedback on the run ") and first.note.endswith(": with its price")
    assert (second.question, second.answerable, second.relevant) == (CUP, False, ())
    history.judge(ids[BEGIN], False, expected="3 May")
    text = said(capsys, "eval", "make", "mine.jsonl", "--from-feedback")
    assert "1 case of feedback kept in mine.jsonl (3 cases now)" in text and "2 questions were there already" in text
    assert read_cases(here / "mine.jsonl")[2].answers == ("3 May",)
    assert "3 answers from other indexes left out" in said(
        capsys, "eval", "make", "mine.jsonl", "--from-feedback", "--index", "other"
    )
    assert run(["eval", "mine.jsonl", "--graph", "plain", "--out", "run"]) == 0
    assert any(each["kind"] == "cases" for each in json.loads(said(capsys, "kept", "--json")))


def test_what_is_relevant_by_what_a_person_says(here, history, ids):
    def case(question, good, **said):
        return case_of_feedback(history.judge(ids[question], good, **said), [])

    assert case(GREENHOUSE, False) is None, "nobody said what is right"
    assert case(CUP, False).answerable is True, "of a bad abstention it is known that the files do answer"
    assert case(GREENHOUSE, False, unanswerable=True).answerable is False
    wrong = case(GREENHOUSE, False, expected="nothing like it")
    assert (wrong.answers, wrong.relevant) == (("nothing like it",), ()), "what a wrong answer cites is not relevant"
    held = case(GREENHOUSE, False, expected="4,200 euros")
    assert [target.file[-7:] for target in held.relevant] == ["plan.md"]
