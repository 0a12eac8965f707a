"""local-rag runs: list, show, again, case and delete, as a person types them."""

from __future__ import annotations

import json
import shutil

import pytest
from support.garden import enter, notes_in
from support.ollama_mind import mind
from support.ollama_server import Model
from support.screen import shown

from local_rag.cli.app import run
from local_rag.evaluation.cases import read_cases
from local_rag.runtime.history import History
from local_rag.runtime.kept import RunPassages
from local_rag.terminal.history import run_parts, runs_table

pytestmark = pytest.mark.usefixtures("converted")

GREENHOUSE, CUP = "What does the greenhouse cost?", "Who won the cup final in 1998?"
FENCE = "And the fence?"


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    """An index of notes, and two questions about it: one that it answers, one that it does not."""
    base = tmp_path_factory.mktemp("asked") / "now"
    base.mkdir()
    with pytest.MonkeyPatch.context() as patched:
        enter(patched, base)
        assert run(["index", str(notes_in(base))]) == 0
        assert run(["ask", GREENHOUSE, "--k", "1"]) == 0
        assert run(["ask", CUP, "--graph", "crag", "--k", "2"]) == 3
    shutil.copytree(base, base.parent / "kept")
    return base


@pytest.fixture
def here(asked, monkeypatch, capsys):
    """The world as it was, at the paths that stand in it."""
    shutil.rmtree(asked)
    shutil.copytree(asked.parent / "kept", asked)
    enter(monkeypatch, asked)
    monkeypatch.chdir(asked)
    capsys.readouterr()
    return asked


def said(capsys, *command, code=0):
    """What a command writes, once it has ended with that exit code; its errors where it has one."""
    capsys.readouterr()
    assert run(["runs", *command]) == code
    written = capsys.readouterr()
    return written.err if code in (1, 2) else written.out


def listed():
    with History.open() as history:
        return history.runs()


def last_run():
    with History.open() as history:
        return history.run("last")


def ids(capsys):
    return [each["id"] for each in json.loads(said(capsys, "--json"))]


def test_runs_are_listed_and_chosen(here, capsys):
    first, second = json.loads(said(capsys, "--json"))
    assert (first["question"], first["graph"], first["status"]) == (CUP, "crag", "abstained")
    assert (second["question"], second["index"], second["engine"]) == (GREENHOUSE, "default", "extractive")
    assert GREENHOUSE not in said(capsys, "list", "--last", "1")
    assert CUP not in said(capsys, "--status", "grounded") and "no such runs" in said(capsys, "--index", "other")
    assert "a status is grounded" in said(capsys, "--status", "good", code=2)
    for width in (80, 120):
        lines = shown(runs_table(listed()), width=width)
        assert len(lines) == 3 and all(len(line) <= width for line in lines) and "abstained" in lines[1]


def test_a_run_is_shown_node_by_node_with_its_passages_read_again(here, capsys):
    text = said(capsys, "show", "last")
    nodes = [
        line.split()[0] for line in text.splitlines() if line.endswith(" s") and not line.startswith((" ", "crag"))
    ]
    assert nodes == ["retrieve", "grade_documents", "discard_documents", "give_up"]
    assert 'retrieved  2 passages for "Who won' in text and '"Dear tenant, the notice period' in text
    assert "notes/plan.md, § Garden plan > Costs" in text and "abstained" in text.splitlines()
    assert not [line for line in text.splitlines() if line != line.rstrip()], "no blanks at the end of a line"
    plain = json.loads(said(capsys, "show", ids(capsys)[1][:2], "--json"))
    assert plain["passages"][0]["text"].startswith("## Costs") or "greenhouse" in plain["passages"][0]["text"]
    assert plain["question"] == GREENHOUSE and plain["status"] == "grounded"


def test_a_passage_that_is_gone_or_changed_is_named(here, capsys):
    assert run(["index"]) == 0
    assert "the index has changed since" not in said(capsys, "show", "last"), "nothing has changed"
    (here / "notes/plan.md").write_text("# Plan\n\nThe greenhouse costs 5,900 euros.\n")
    (here / "notes/letters/tenant.txt").unlink()
    assert run(["index"]) == 0
    text = said(capsys, "show", "last")
    assert "note: the index has changed since" in text
    assert "(the file has changed since)" in text and "(no longer in the index)" in text and "5,900" not in text
    shutil.rmtree(here / "data/indexes/default")
    assert "its index is gone" in said(capsys, "show", "last")


def test_a_terminal_shows_a_run_within_its_width(here):
    kept = last_run()
    for width in (80, 120):
        lines = shown(*run_parts(kept, RunPassages.of(kept)), width=width, colour=False)
        assert max(map(len, lines)) <= width and "\x1b" not in "".join(lines)


def test_the_question_of_a_run_is_asked_again_with_its_graph_and_the_settings_of_today(here, capsys, monkeypatch):
    monkeypatch.setenv("LOCAL_RAG_GRAPH", "plain")
    (here / "notes/plan.md").write_text("# Garden plan\n\n## Costs\n\nThe greenhouse costs 5,900 euros.\n")
    assert run(["index"]) == 0
    before = ids(capsys)
    answer = json.loads(said(capsys, "again", before[1], "--json"))
    assert "5,900" in answer["text"] and answer["graph"] == "self-rag"
    assert ids(capsys) == [answer["run"], *before]
    assert said(capsys, "again", before[0], code=3)


def test_a_follow_up_is_asked_again_as_it_was_understood_without_web_and_record(here, capsys, ollama, monkeypatch):
    ollama.models["qwen3:4b-instruct"] = Model()
    whole = "When was the fence paid for?"
    ollama.always = lambda body: whole if "Write it on one line" in str(body) and FENCE in str(body) else mind(body)
    monkeypatch.setenv("OLLAMA_HOST", ollama.host)
    command = ["ask", FENCE, "--thread", "garden", "--model", "qwen3:4b-instruct"]
    assert run(["ask", GREENHOUSE, *command[2:]]) in (0, 3, 4)
    assert run(command) in (0, 3, 4)
    followed = last_run()
    assert (
        followed.thread == "garden" and followed.calls and set(followed.prompts) >= {"standalone", "retrieval_grader"}
    )
    text = said(capsys, "show", "last")
    assert "call " in text and f"prompt {followed.prompts['standalone']}" in text
    assert (followed.question, followed.standalone_question) == (FENCE, whole)
    assert run(["runs", "again", followed.id, "--web", "--json"]) in (0, 3, 4)
    answer = json.loads(capsys.readouterr().out)
    assert (answer["question"], answer["run"], answer["used_web"]) == (whole, "", False)
    assert last_run().id == followed.id, "the answers of the chat made its question: it leaves no run"


@pytest.mark.slow
def test_a_run_becomes_a_case_of_what_its_answer_cites_or_of_what_a_person_says(here, capsys):
    unanswered, answered = ids(capsys)
    assert "say what a right answer to the run" in said(capsys, "case", answered, "mine.jsonl", code=2)
    assert "(1 case now): 1 source" in said(capsys, "case", answered, "mine.jsonl", "--yes")
    assert "has that question already" in said(capsys, "case", answered, "mine.jsonl", "--yes", code=2)
    assert "do not answer" in said(capsys, "case", unanswered, "mine.jsonl", "--yes")
    (first, second) = read_cases(here / "mine.jsonl")
    assert (first.question, first.relevant[0].file, first.answerable) == (GREENHOUSE, "plan.md", True)
    assert "4,200 euros" in first.relevant[0].quote and (second.question, second.answerable) == (CUP, False)
    said(capsys, "case", answered, "other.jsonl", "--answer", "4,200 euros")
    said(capsys, "case", unanswered, "other.jsonl", "--answer", "Zidane", "--source", "letters/tenant.txt")
    (first, second) = read_cases(here / "other.jsonl")
    assert (first.answers, len(first.relevant)) == (("4,200 euros",), 1)
    assert (second.answers, second.relevant[0].file, second.relevant[0].quote) == (("Zidane",), "tenant.txt", "")
    assert "no indexed file is" in said(capsys, "case", answered, "third.jsonl", "--source", "no.txt", code=2)
    both = ("--answer", "x", "--unanswerable")
    assert "is not answerable has no answer" in said(capsys, "case", answered, "third.jsonl", *both, code=2)
    wrong = said(capsys, "case", answered, "third.jsonl", "--answer", "seven")
    assert "(1 case now): 1 expected answer" in wrong and "source" not in wrong, (
        "what a wrong answer cites is not relevant"
    )
    capsys.readouterr()
    assert run(["eval", "mine.jsonl", "--graph", "plain", "--out", "run"]) == 0
    assert run(["kept"]) == 0 and "mine.jsonl" in capsys.readouterr().out


def test_runs_are_deleted_by_id_by_age_by_index_or_all(here, capsys):
    assert "name runs, or say which" in said(capsys, "delete", code=2)
    assert "there is no run 'zzzz'" in said(capsys, "delete", ids(capsys)[0], "zzzz", code=2)
    assert "a day is YYYY-MM-DD" in said(capsys, "delete", "--before", "yesterday", code=2)
    assert "no such runs" in said(capsys, "delete", "--before", "2020-01-01")
    assert "deleted 1 run" in said(capsys, "delete", "last") and len(ids(capsys)) == 1
    assert "no such runs" in said(capsys, "delete", "--index", "other")
    assert "deleted 1 run" in said(capsys, "delete", "--before", "2100-01-01", "--index", "default")
    assert "There are no runs yet" in said(capsys)


def test_a_question_of_which_nobody_wants_a_record_leaves_none(here, capsys):
    assert run(["ask", GREENHOUSE, "--no-record", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["run"] == "" and len(ids(capsys)) == 2
