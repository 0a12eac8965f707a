"""Test the benchmarks that ask a language model, over HTTP against the scripted Ollama server."""

import gc
import json
import os
import sys
import warnings
from unittest.mock import patch

import pytest
from support import CHECKOUT
from support.ollama_mind import mind

sys.path.append(str(CHECKOUT / "scripts"))

from bench import main
from benchmarks import question

LEASE = "The rent of the flat is 900 euros a month. It is due on the third day of each month."
SQUAD = f"""{{"data": [{{"title": "Lease", "paragraphs": [{{"context": "{LEASE}", "qas": [
  {{"id": "1", "question": "What is the rent of the flat?", "is_impossible": false,
   "answers": [{{"text": "900 euros", "answer_start": 24}}]}},
  {{"id": "2", "question": "Who painted the boat blue?", "is_impossible": true, "answers": []}}
]}}]}}]}}"""
CASES = """\
{"id": "a", "collection": "person", "question": "What is the rent of the flat?", "keys": ["900|nine hundred"]}
{"id": "b", "collection": "person", "question": "Who painted the boat blue?", "keys": []}
{"id": "c", "collection": "person", "question": "What is due?", "keys": ["rent", "third day"]}
"""


@pytest.fixture
def sets(tmp_path):
    """Return a folder of published sets that has two of them."""
    folder = tmp_path / "sets"
    (folder / "squad2").mkdir(parents=True)
    (folder / "answers" / "person").mkdir(parents=True)
    (folder / "squad2" / "test.json").write_text(SQUAD)
    (folder / "answers" / "person" / "lease.txt").write_text(LEASE)
    (folder / "answers" / "cases.jsonl").write_text(CASES)
    return folder


@pytest.fixture
def bench(monkeypatch, ollama, capsys):
    """Return a function that runs a benchmark with a model of a scripted server, and returns what it shows."""
    ollama.always = mind

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["bench.py", *map(str, arguments)])
        with patch.dict(os.environ):
            main()
        with warnings.catch_warnings(action="ignore"):
            gc.collect()  # clients that are open until the process ends
        return capsys.readouterr().out

    return run


def cells(shown):
    """Return the rows of the tables by their first cell."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in shown.splitlines() if line[:1] == "|"]
    return {row[0]: row[1:] for row in rows}


@pytest.mark.slow
@pytest.mark.usefixtures("converted")
def test_published_sets_go_through_all_graphs_and_are_tabled_again(bench, ollama, sets, tmp_path):
    command = ["answers", sets, "--questions", "2", "--data", tmp_path / "kept", "--only"]
    rows = cells(bench(*command, "person", "demo"))
    assert rows[""][1:] == ["plain", "self-rag", "crag", "adaptive"]
    assert rows["person: the answer contains the expected words"] == ["2", *["1.00"] * 4]
    assert rows["demo: token F1"][0] == "2"
    command += ["SQuAD v2", "--ollama", "tiny"]
    rows = cells(bench(*command))
    asked = len(ollama.chats)
    assert rows == cells(bench(*command, "--table"))
    assert len(ollama.chats) == asked
    assert rows[""][1:] == [
        "plain", "self-rag", "crag", "adaptive",
        "self-rag, the model grades", "crag, the model grades", "adaptive, the model grades",
    ]  # fmt: skip
    assert rows["SQuAD v2: the answer contains the expected words"] == ["2", *["1.00"] * 7]
    calls = list(map(float, rows["SQuAD v2: calls of the model per question"][1:]))
    assert calls[1] < calls[4] and calls[2] < calls[5]
    assert set(rows["HotpotQA: token F1"]) == {"–", "not run"}


@pytest.mark.slow
@pytest.mark.usefixtures("converted")
def test_a_question_is_compared_with_the_calls_of_the_tutorials(bench, sets, tmp_path, monkeypatch):
    monkeypatch.setattr(question, "DEMO", sets / "answers" / "person")
    monkeypatch.setattr(question, "QUESTIONS", ["What is the rent of the flat?"])
    rows = cells(bench("question", "--ollama", "tiny", "--times", "1", "--k", "4", "--data", tmp_path))
    assert rows["self-rag: each"][1] == "1.00"
    assert float(rows["self-rag: packed"][2]) < 1 and float(rows["self-rag: evaluator"][2]) < 1


@pytest.mark.slow
@pytest.mark.usefixtures("converted")
def test_the_loop_of_the_tutorials_is_asked_beside_our_graphs(bench, ollama, sets, tmp_path):
    def replies(body):
        prompt = body["messages"][-1]["content"]
        if "Reply in JSON" in prompt:
            return json.dumps({"score": "yes" if "900 euros" in prompt else "no"})
        return "The rent is 900 euros a month." if "at most three sentences" in prompt else mind(body)

    command = ["answers", sets / "answers", "--data", tmp_path, "--ollama"]
    with pytest.raises(SystemExit, match="the tutorials' loop needs a model by name"):
        bench(*command)
    ollama.always = replies
    rows = cells(bench(*command, "tiny"))
    assert list(rows)[2:] == ["the tutorials' Self-RAG loop", "plain", "self-rag", "crag", "adaptive"]
    loop, ours = (dict(zip(rows[""], rows[name], strict=True)) for name in ("the tutorials' Self-RAG loop", "self-rag"))
    assert loop["right"] == "1" and loop["partly"] == "1" and float(loop["calls"]) >= 4
    assert ours["right"] == "1" and float(ours["calls"]) < float(loop["calls"])


def test_without_ollama_one_line_says_what_to_start(bench, ollama, tmp_path):
    ollama.close()
    with pytest.raises(SystemExit, match=rf"^error: no Ollama server answers at {ollama.host}\n  try: ollama serve"):
        bench("question", "--data", tmp_path)
