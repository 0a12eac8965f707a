"""Test `local-rag runs`: list, show, again, case and delete, as a person types them."""

import shutil

import pytest
from support.garden import CUP, GREENHOUSE
from support.ollama_mind import mind
from support.ollama_server import Model
from support.screen import shown

from local_rag.cli.app import run
from local_rag.evaluation.cases import read_cases
from local_rag.runtime.history import History
from local_rag.runtime.kept import RunPassages
from local_rag.terminal.history import run_parts, runs_table

FENCE = "And the fence?"


def last_run():
    with History.open() as history:
        return history.run("last")


def ids(said):
    return [each["id"] for each in said.json("runs")]


def test_runs_are_listed_and_chosen_unless_nobody_wants_a_record(here, said):
    assert said.json(f"ask '{GREENHOUSE}' --no-record")["run"] == ""
    first, second, _ = said.json("runs")
    assert (first["question"], first["graph"], first["status"]) == (CUP, "crag", "abstained")
    assert (second["question"], second["index"], second["engine"]) == (GREENHOUSE, "default", "extractive")
    assert GREENHOUSE not in said("runs list --last 1") and CUP not in said("runs --status grounded")
    assert "no such runs" in said("runs --index other") and "a status is grounded" in said("runs --status good", 2)


def test_a_run_is_shown_node_by_node_with_its_passages_read_again(here, said):
    text = said("runs show last")
    lines = text.splitlines()
    nodes = [line.split()[0] for line in lines if line.endswith(" s") and not line.startswith((" ", "crag"))]
    assert nodes == ["begin", "retrieve", "grade_documents", "discard_documents", "give_up", "finish"]
    assert 'retrieved  2 passages for "Who won' in text and '"Dear tenant, the notice period' in text
    assert "notes/plan.md, § Garden plan > Costs" in text and "abstained" in lines
    assert not [line for line in lines if line != line.rstrip()], "no blanks at the end of a line"
    plain = said.json(f"runs show {ids(said)[1][:2]}")
    assert "greenhouse" in plain["passages"][0]["text"]
    assert plain["question"] == GREENHOUSE and plain["status"] == "grounded"


def test_a_passage_that_is_gone_or_changed_is_named(here, said):
    said("index")
    assert "the index has changed since" not in said("runs show last"), "nothing has changed"
    (here / "notes/plan.md").write_text("# Plan\n\nThe greenhouse costs 5,900 euros.\n")
    (here / "notes/letters/tenant.txt").unlink()
    said("index")
    text = said("runs show last")
    assert "note: the index has changed since" in text
    assert "(the file has changed since)" in text and "(no longer in the index)" in text and "5,900" not in text
    shutil.rmtree(here / "data/indexes/default")
    assert "its index is gone" in said("runs show last")


@pytest.mark.parametrize("width", [80, 120])
def test_a_terminal_shows_runs_within_its_width(here, width):
    kept = last_run()
    with History.open() as history:
        table = runs_table(history.runs())
    lines = shown(table, *run_parts(kept, RunPassages.of(kept)), width=width, colour=False)
    assert max(map(len, lines)) <= width and "\x1b" not in "".join(lines)


@pytest.mark.slow
def test_the_question_of_a_run_is_asked_again_with_its_graph_and_the_settings_of_today(here, said, monkeypatch):
    monkeypatch.setenv("LOCAL_RAG_GRAPH", "plain")
    (here / "notes/plan.md").write_text("# Garden plan\n\n## Costs\n\nThe greenhouse costs 5,900 euros.\n")
    said("index")
    before = ids(said)
    answer = said.json(f"runs again {before[1]}")
    assert "5,900" in answer["text"] and answer["graph"] == "self-rag"
    assert ids(said) == [answer["run"], *before]
    said(f"runs again {before[0]}", 3)


@pytest.mark.slow
def test_a_follow_up_is_asked_again_as_it_was_understood_without_web_and_record(here, said, ollama):
    ollama.models["qwen3:4b-instruct"] = Model()
    whole = "When was the fence paid for?"
    ollama.always = lambda body: whole if "Write it on one line" in str(body) and FENCE in str(body) else mind(body)
    for question in (GREENHOUSE, FENCE):
        assert run(["ask", question, "--thread", "yard", "--model", "qwen3:4b-instruct"]) in (0, 3, 4)
    followed = last_run()
    assert followed.thread == "yard" and followed.calls
    assert (followed.question, followed.standalone_question) == (FENCE, whole)
    text = said("runs show last")
    assert "call " in text and f"prompt {followed.prompts['standalone']}" in text
    answer = said.json(f"runs again {followed.id} --web", None)
    assert (answer["question"], answer["run"], answer["used_web"]) == (whole, "", False)
    assert last_run().id == followed.id, "the answers of the chat made its question: it leaves no run"


@pytest.mark.slow
def test_a_run_becomes_a_case_of_what_its_answer_cites_or_of_what_a_person_says(here, said):
    unanswered, answered, _ = (f"runs case {each}" for each in ids(said))
    both = "--answer x --unanswerable"
    for line, code, told in (
        (f"{answered} mine.jsonl", 2, "say what a right answer to the run"),
        (f"{answered} mine.jsonl --yes", 0, "(1 case now): 1 source"),
        (f"{answered} mine.jsonl --yes", 2, "has that question already"),
        (f"{unanswered} mine.jsonl --yes", 0, "do not answer"),
        (f"{answered} other.jsonl --answer '4,200 euros'", 0, ""),
        (f"{unanswered} other.jsonl --answer Zidane --source letters/tenant.txt", 0, ""),
        (f"{answered} third.jsonl --source no.txt", 2, "no indexed file is"),
        (f"{answered} third.jsonl {both}", 2, "is not answerable has no answer"),
        (
            f"{answered} third.jsonl --answer seven",
            0,
            "(1 case now): 1 expected answer\n",
        ),  # cites what is not relevant
    ):
        assert told in said(line, code)
    (first, second) = read_cases(here / "mine.jsonl")
    assert (first.question, first.relevant[0].file, first.answerable) == (GREENHOUSE, "plan.md", True)
    assert "4,200 euros" in first.relevant[0].quote and (second.question, second.answerable) == (CUP, False)
    (first, second) = read_cases(here / "other.jsonl")
    assert (first.answers, len(first.relevant)) == (("4,200 euros",), 1)
    assert (second.answers, second.relevant[0].file, second.relevant[0].quote) == (("Zidane",), "tenant.txt", "")
    said("eval mine.jsonl --graph plain --out run")
    assert "mine.jsonl" in said("kept")


def test_runs_are_deleted_by_id_by_age_by_index_or_all(here, said):
    first, *_ = ids(said)
    for line, code, told in (
        ("", 2, "name runs, or say which"),
        (f"{first} zzzz", 2, "there is no run 'zzzz'"),
        ("--before yesterday", 2, "a day is YYYY-MM-DD"),
        ("--before 2020-01-01", 0, "no such runs"),
        ("last", 0, "deleted 1 run"),
        ("--index other", 0, "no such runs"),
        ("--before 2100-01-01 --index default", 0, "deleted 2 runs"),
    ):
        assert told in said(f"runs delete {line}", code)
    assert "There are no runs yet" in said("runs")
