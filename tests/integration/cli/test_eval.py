"""Test `local-rag eval` as a person uses it, on a small index with the real embedder."""

import json
from pathlib import Path
from unittest.mock import Mock

import pytest
from support.evaluation_cases import CASES, cases_file, rows_of
from support.ollama_mind import mind
from support.ollama_server import Model

from local_rag.evaluation.folder import held


@pytest.fixture
def here(here):
    """Return the folder with two indexed notes, and cases about them."""
    cases_file(here)
    return here


def test_a_run_ends_with_figures_and_reports_and_is_not_asked_again(here, said, tmp_path):
    command, folder = f"eval {here / 'mine.jsonl'} --out {tmp_path / 'run'}", tmp_path / "run"
    out, err = said.shown(command)
    for title in ("Retrieval", "Answers", "Certainty", "Refusals", "Citations", "Cost"):
        assert title in out
    assert out.rstrip().endswith("report.html") and "engine: extractive" in err
    summary = json.loads((folder / "report.json").read_text())["summary"]
    figures = summary["figures"]
    assert summary["cases"]["total"] == 3 and summary["failures"] == []
    assert figures["Retrieval"]["hybrid"]["R@1"] == {"mean": 1.0, "cases": 2}
    assert figures["Answers"]["plain"]["contains"]["mean"] == figures["Refusals"]["self-rag"]["refused"]["mean"] == 1.0
    assert set(figures["Router"]) == {"vectorstore", "web_search"}
    rows = rows_of(folder)
    assert len(rows) == 2 + 3 + 4 * 3
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "What does the greenhouse cost?" in page and "4,200 euros" in page
    said(command)
    assert len(rows_of(folder)) == len(rows)


@pytest.mark.slow
def test_without_out_a_run_lies_in_the_data_folder_for_its_owner_alone(here, said):
    found = said.json(f"eval {here / 'mine.jsonl'} --graph plain --graph crag")
    name = Path(found["folder"]).name
    assert name.startswith("mine-extractive-")
    assert {file.stat().st_mode & 0o777 for file in (here / "data" / "evaluations" / name).iterdir()} == {0o600}
    assert found["summary"]["figures"]["Cost"]["plain"]["seconds"]["cases"] == 3
    assert "crag" in said.out(f"eval compare {name} {name} --graph-a plain --graph-b crag")


def test_a_set_with_documents_of_its_own_gets_an_index_of_them(here, said, tmp_path):
    squad = tmp_path / "pumps.json"
    squad.write_text("""{"data": [{"title": "Pumps", "paragraphs": [
        {"context": "The pump costs 12 euros.",
         "qas": [{"id": "1", "question": "What does the pump cost?", "answers": [{"text": "12 euros"}]}]},
        {"context": "Nine people work in Lyon.", "qas": []}
    ]}]}""")
    shown = said.shown(f"eval {squad} --corpus --retrieval-only --json")
    found = json.loads(shown.out)
    retrieval = found["summary"]["figures"]["Retrieval"]
    assert list(retrieval) == ["hybrid", "dense", "words"]
    assert all(mode["nDCG@10"]["mean"] == 1.0 for mode in retrieval.values())
    assert found["run"]["index"]["documents"] == 2 and "engine:" not in shown.err, "nothing answers"
    assert {place.name for place in (here / "data" / "indexes").iterdir()} == {"default"}, "no index of a person's own"


def test_a_folder_of_another_run_or_of_one_that_goes_on_is_refused_and_left_as_it_is(here, said, tmp_path):
    folder = tmp_path / "run"
    command = f"eval {here / 'mine.jsonl'} --graph plain --out {folder}"
    said(f"{command} --limit 1")
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    told = said(command, 2)
    assert "holds another run: it differs in" in told and "limit (1, now none)" in told
    assert "hint: choose another --out" in told
    with held(folder):
        assert "another local-rag eval is writing to" in said(f"{command} --graph crag", 2)
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == before


def test_what_ctrl_c_stops_goes_on_by_the_same_command(here, said, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr("local_rag.evaluation.runner.Runner.run", Mock(side_effect=KeyboardInterrupt))
        told = said("eval mine.jsonl --graph plain --out run", 130)
    assert told.endswith("stopped\nhint: the same command continues where it stopped\n")
    said("eval mine.jsonl --graph plain --out run")


def test_a_case_about_a_file_that_is_not_indexed_is_named_before(here, said, tmp_path):
    file = cases_file(tmp_path, [{"question": "What?", "relevant": ["nowhere.pdf"]}, CASES[0]])
    named = "note: 1 of 2 cases names a file that is not in the index, such as nowhere.pdf"
    assert named in said(f"eval {file} --retrieval-only")


@pytest.mark.parametrize(
    ("options", "why", "next_"),
    [
        ("--graph plain", "name the cases, or --demo", "local-rag eval CASES.jsonl"),
        ("x.jsonl --demo", "--demo has cases of its own", "leave one"),
        ("--demo --corpus", "the demo has documents", "local-rag eval --demo"),
        ("none.jsonl", "none.jsonl cannot be read", "local-rag eval"),
        ("mine.jsonl --graph tree", "--graph is one of plain, self-rag, crag, adaptive", "--graph plain"),
        ("mine.jsonl --mode fast", "--mode is one of hybrid, dense, words", "--mode hybrid"),
        ("mine.jsonl --corpus", "has no documents of its own", "local-rag index FOLDER"),
        ("mine.jsonl --corpus --index a", "cannot name another", "leave one"),
        ("mine.jsonl --limit 0", "expected 1 or more, not", "local-rag eval run --help"),
        ("mine.jsonl --retrieval-only --judge m", "--judge has no effect", "leave one"),
        ("mine.jsonl --out .", "holds other files", "--out"),
        ("mine.jsonl --retrieval-only --graph plain", "--graph has no effect", "leave one"),
        ("mine.jsonl --out mine.jsonl", "is a file, and --out names a folder", "NEW_FOLDER"),
        ("mine.jsonl --index nothing", "there is no index", "local-rag index FOLDER"),
        ("compare a b", "holds no run", "local-rag eval CASES"),
        ("unplaced.jsonl --retrieval-only", "no case names anything relevant, so there is nothing to rank", ""),
        ("mine.jsonl --engine extractive --judge qwen3:4b-instruct", "no Ollama server answers", "ollama serve"),
    ],
)
def test_bad_input_gets_one_line_and_a_hint(here, said, options, why, next_):
    cases_file(here, [{"question": "What?", "answers": ["that"]}], "unplaced.jsonl")
    out, err = said.shown(f"eval {options}", None)
    error, hint = err.strip().splitlines()[-2:]
    assert out == "" and error.startswith("error: ") and why in error
    assert hint.startswith("hint: ") and next_ in hint


@pytest.mark.slow
def test_with_a_model_its_calls_and_a_judge_are_in_the_figures(here, said, monkeypatch, ollama, tmp_path):
    def reply(body):
        if "j" in (body.get("format") or {}).get("properties", {}):
            return '{"j": "right"}' if "greenhouse" in body["messages"][1]["content"] else "I am not sure."
        return mind(body)

    ollama.models["qwen3:4b-instruct"] = Model()
    ollama.always = reply
    monkeypatch.setenv("LOCAL_RAG_OLLAMA_GRADING", "packed")
    model = "--model qwen3:4b-instruct --judge qwen3:4b-instruct --profile 16gb"
    command = f"eval {here / 'mine.jsonl'} --graph self-rag {model} --out {tmp_path / 'run'}"
    figures = said.json(command)
    graph = {group: rows["self-rag"] for group, rows in figures["summary"]["figures"].items() if "self-rag" in rows}
    cost = {name: each["mean"] for name, each in graph["Cost"].items()}
    assert cost["calls"] > 2 and cost["read"] > 300 and cost["written"] > 10
    assert graph["Grading of passages"]["unread"]["mean"] == 0
    assert (graph["Judge"]["unread"], graph["Judge"]["right"]) == ({"mean": 0.5, "cases": 2}, {"mean": 1.0, "cases": 1})
    assert figures["run"]["engine"]["name"] == f"ollama/{figures['run']['judge']}" == "ollama/qwen3:4b-instruct"
    asked = len(ollama.chats)
    said(command)
    assert len(ollama.chats) <= asked + 1, "nothing but loading the model is asked again"
