"""Feedback on answers: kept beside the runs, named and deleted like all that quotes files, made into cases for eval."""

from __future__ import annotations

import json
import os

import pytest
from support.garden import BEGIN, CUP, GREENHOUSE

from local_rag.cli.app import run
from local_rag.config.settings import Settings
from local_rag.core.errors import UsageError
from local_rag.evaluation.cases import read_cases
from local_rag.evaluation.making.from_feedback import case_of_feedback, keep_feedback
from local_rag.runtime.feedback import LONGEST, FeedbackFolder
from local_rag.runtime.kept_runs import Runs


@pytest.fixture
def feedback(here):
    return FeedbackFolder(Settings.load())


def ids():
    """The run of each question."""
    return {each.question: each.id for each in Runs.open().list()}


def said(capsys, *command, code=0):
    capsys.readouterr()
    assert run([*command]) == code
    written = capsys.readouterr()
    return written.err if code else written.out


def kept(capsys, *more):
    return [each["name"] for each in json.loads(said(capsys, "kept", "--json", *more)) if each["kind"] == "feedback"]


def test_feedback_is_kept_with_what_a_case_needs_and_for_its_owner_alone(here, feedback):
    given = feedback.give(ids()[GREENHOUSE], good=True, note="just so\ud800 ")
    assert (given.question, given.good, given.note, given.threads) == (GREENHOUSE, True, "just so?", ("garden",))
    assert "4,200 euros" in given.citations[0].quote and feedback.list() == [given] == [feedback.of_run(given.run)]
    (file,) = feedback.folder.iterdir()
    assert os.name == "nt" or (file.stat().st_mode & 0o777, feedback.folder.stat().st_mode & 0o777) == (0o600, 0o700)
    again = feedback.give(given.run, good=False, expected="4,200 euros")
    assert feedback.list() == [again], "the second judgement takes the place of the first"
    Runs.open().delete([given.run])
    assert feedback.list() == [again], "it stays when the run goes by its number"
    file.write_text("{")
    assert feedback.list() == [] and feedback.of_run(given.run) is None


def test_what_cannot_be_feedback_is_refused(here, feedback):
    answered = ids()[GREENHOUSE]
    with pytest.raises(UsageError, match="there is no run 'zzzz'"):
        feedback.give("zzzz", good=True)
    with pytest.raises(UsageError, match="the note has 2,001 characters"):
        feedback.give(answered, good=True, note="x" * (LONGEST + 1))
    with pytest.raises(UsageError, match="has no expected answer"):
        feedback.give(answered, good=False, expected="seven", unanswerable=True)
    record = Runs.open().named([answered])[0]
    record.write_bytes(record.read_bytes().split(b"\n")[0] + b"\n")
    with pytest.raises(UsageError, match=r"has no answer \(unfinished\)"):
        feedback.give(answered, good=True)
    assert feedback.list() == []


def test_kept_names_it_and_deletes_it(here, feedback, capsys):
    greenhouse, cup = (feedback.give(ids()[question], good=True).run for question in (GREENHOUSE, CUP))
    assert set(kept(capsys)) == {greenhouse, cup} == set(kept(capsys, "--index", "default"))
    assert kept(capsys, "notes/plan.md") == [greenhouse] and kept(capsys, "--index", "other") == []
    assert "1 answer with feedback" in said(capsys, "kept", "notes/plan.md", "--delete")
    assert kept(capsys) == [cup]
    (file,) = feedback.folder.iterdir()
    file.write_text("{")
    assert kept(capsys) == [cup], "a damaged one, too"
    assert "deleted" in said(capsys, "kept", cup, "--delete") and not list(feedback.folder.iterdir())


def test_it_goes_with_its_chat_its_index_and_by_age(here, feedback, capsys, monkeypatch):
    for run_id in ids().values():
        feedback.give(run_id, good=True)
    said(capsys, "threads", "delete", "garden")
    assert {each.question for each in feedback.list()} == {CUP, BEGIN}
    (old,) = (path for path in feedback.folder.iterdir() if CUP in path.read_text())
    old.write_text(old.read_text().replace(f'"at": "{feedback.read(old).at}"', '"at": "2020-01-01T00:00:00+00:00"'))
    said(capsys, "runs")
    assert len(feedback.list()) == 2
    monkeypatch.setenv("LOCAL_RAG_FEEDBACK_KEEP_DAYS", "30")
    capsys.readouterr()
    assert run(["runs"]) == 0
    assert "deleted feedback on 1 answer older than 30 days (feedback.keep_days)" in capsys.readouterr().err
    assert [each.question for each in feedback.list()] == [BEGIN]
    said(capsys, "remove", "--index", "default")
    assert feedback.list() == []


@pytest.mark.slow
def test_judged_answers_become_cases_without_a_word_where_the_judgement_says_enough(here, feedback, capsys):
    feedback.give(ids()[GREENHOUSE], good=True, note="with its price")
    feedback.give(ids()[CUP], good=True)
    feedback.give(ids()[BEGIN], good=False, note="no idea")
    text = said(capsys, "eval", "make", "mine.jsonl", "--from-feedback")
    assert "2 cases of feedback kept in mine.jsonl; it has 2 now" in text
    assert "1 answer left out, because nobody said what is right; the same command in a terminal asks for it" in text
    (first, second) = read_cases(here / "mine.jsonl")
    assert (first.question, first.answerable, first.relevant[0].file) == (GREENHOUSE, True, "plan.md")
    assert first.note.startswith("feedback on the run ") and first.note.endswith(": with its price")
    assert (second.question, second.answerable, second.relevant) == (CUP, False, ())
    feedback.give(ids()[BEGIN], good=False, expected="3 May")
    text = said(capsys, "eval", "make", "mine.jsonl", "--from-feedback", "--yes")
    assert "1 case of feedback kept in mine.jsonl; it has 3 now" in text and "2 questions were there already" in text
    assert read_cases(here / "mine.jsonl")[2].answers == ("3 May",)
    assert "3 answers from other indexes left out" in said(
        capsys, "eval", "make", "mine.jsonl", "--from-feedback", "--index", "other"
    )
    assert "feedback is taken whole" in said(
        capsys, "eval", "make", "mine.jsonl", "--from-feedback", "--count", "3", code=2
    )
    assert run(["eval", "mine.jsonl", "--graph", "plain", "--out", "run"]) == 0
    assert any(each["kind"] == "cases" for each in json.loads(said(capsys, "kept", "--json")))


def test_a_person_says_what_is_right_of_a_bad_answer(here, feedback):
    asked = []

    def ask(bad, cited):
        asked.append((bad.question, [target.file for target in cited]))
        return ("nothing like it",), cited, False

    feedback.give(ids()[GREENHOUSE], good=False)
    feedback.give(ids()[CUP], good=False)
    made = keep_feedback(Settings.load(), here / "mine.jsonl", ask)
    assert asked == [(GREENHOUSE, ["plan.md"])], "of a bad abstention it is known that the files do answer"
    assert [case.answers for case in made.kept] == [("nothing like it",), ()]
    assert made.kept[0].relevant == (), "what a wrong answer cites is not relevant"
    assert made.kept[1].answerable is True and made.unlabelled == 0
    unanswerable = feedback.give(ids()[GREENHOUSE], good=False, unanswerable=True)
    assert case_of_feedback(unanswerable, []).answerable is False
    held = feedback.give(ids()[GREENHOUSE], good=False, expected="4,200 euros")
    assert [target.file[-7:] for target in case_of_feedback(held, []).relevant] == ["plan.md"]
