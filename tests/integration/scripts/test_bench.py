"""Test the benchmarks that ask a language model, over HTTP against the scripted Ollama server."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from support import CHECKOUT
from support.ollama_mind import mind
from support.ollama_server import OllamaServer

BENCH = [sys.executable, str(CHECKOUT / "scripts" / "bench.py")]
LEASE = "The rent of the flat is 900 euros a month. It is due on the third day of each month."


@pytest.fixture
def sets(tmp_path):
    """Return a folder of published sets that has two of them."""
    folder = tmp_path / "sets"
    (folder / "squad2").mkdir(parents=True)
    (folder / "answers" / "person").mkdir(parents=True)
    answer = {"text": "900 euros", "answer_start": LEASE.index("900")}
    questions = [
        {"id": "1", "question": "What is the rent of the flat?", "answers": [answer], "is_impossible": False},
        {"id": "2", "question": "Who painted the boat blue?", "answers": [], "is_impossible": True},
    ]
    article = {"title": "Lease", "paragraphs": [{"context": LEASE, "qas": questions}]}
    (folder / "squad2" / "test.json").write_text(json.dumps({"data": [article]}))
    (folder / "answers" / "person" / "lease.txt").write_text(LEASE)
    rows = [
        {"id": "a", "collection": "person", "question": "What is the rent of the flat?", "keys": ["900|nine hundred"]},
        {"id": "b", "collection": "person", "question": "Who painted the boat blue?", "keys": []},
        {"id": "c", "collection": "person", "question": "What is due?", "keys": ["rent", "third day"]},
    ]
    (folder / "answers" / "cases.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return folder


def bench(host, *arguments):
    env = dict(os.environ) | {"OLLAMA_HOST": host}
    return subprocess.run([*BENCH, *map(str, arguments)], env=env, capture_output=True, text=True, cwd=CHECKOUT)


def cells(shown):
    """Return the rows of the tables by their first cell."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in shown.splitlines() if line[:1] == "|"]
    return {row[0]: row[1:] for row in rows}


@pytest.mark.slow
@pytest.mark.usefixtures("converted")
def test_published_sets_go_through_all_graphs_and_are_tabled_again(sets, tmp_path):
    with OllamaServer() as ollama:
        ollama.always = mind
        command = [
            "answers",
            sets,
            "--ollama",
            "tiny",
            "--only",
            "SQuAD v2",
            "person",
            "demo",
            "--questions",
            "2",
            "--data",
            tmp_path / "kept",
        ]
        done = bench(ollama.host, *command)
        assert done.returncode == 0, done.stderr
        asked = len(ollama.chats)
        again = bench(ollama.host, *command, "--table")
        assert len(ollama.chats) == asked
    rows = cells(done.stdout)
    assert rows == cells(again.stdout)
    assert rows[""][1:] == [
        "plain", "self-rag", "crag", "adaptive",
        "self-rag, the model grades", "crag, the model grades", "adaptive, the model grades",
    ]  # fmt: skip
    assert rows["SQuAD v2: the answer contains the expected words"] == ["2", *["1.00"] * 7]
    assert rows["person: the answer contains the expected words"] == ["2", *["1.00"] * 7]
    calls = list(map(float, rows["SQuAD v2: calls of the model per question"][1:]))
    assert calls[1] < calls[4] and calls[2] < calls[5]
    assert rows["demo: token F1"][0] == "2" and set(rows["HotpotQA: token F1"]) == {"–", "not run"}


@pytest.mark.slow
@pytest.mark.usefixtures("converted")
def test_a_question_is_compared_with_the_calls_of_the_tutorials(tmp_path):
    with OllamaServer() as ollama:
        ollama.always = mind
        done = bench(ollama.host, "question", "--ollama", "tiny", "--times", "1", "--k", "4", "--data", tmp_path)
    assert done.returncode == 0, done.stderr
    rows = cells(done.stdout)
    assert rows["self-rag: each"][1] == "1.00"
    assert float(rows["self-rag: packed"][2]) < 1 and float(rows["self-rag: evaluator"][2]) < 1


@pytest.mark.slow
@pytest.mark.usefixtures("converted")
def test_the_loop_of_the_tutorials_is_asked_beside_our_graphs(sets, tmp_path):
    folder = sets / "answers"
    refused = bench("127.0.0.1:9", "answers", folder, "--data", tmp_path, "--ollama")
    assert refused.returncode == 1 and "the tutorials' loop needs a model by name" in refused.stderr
    with OllamaServer() as ollama:

        def replies(body):
            prompt = body["messages"][-1]["content"]
            if "Reply in JSON" in prompt:
                return json.dumps({"score": "yes" if "900 euros" in prompt else "no"})
            return "The rent is 900 euros a month." if "at most three sentences" in prompt else mind(body)

        ollama.always = replies
        done = bench(ollama.host, "answers", folder, "--ollama", "tiny", "--data", tmp_path)
    assert done.returncode == 0, done.stderr
    rows = cells(done.stdout)
    assert list(rows)[2:] == ["the tutorials' Self-RAG loop", "plain", "self-rag", "crag", "adaptive"]
    columns = rows[""]
    loop = dict(zip(columns, rows["the tutorials' Self-RAG loop"], strict=True))
    assert loop["right"] == "1" and loop["partly"] == "1" and float(loop["calls"]) >= 4
    ours = dict(zip(columns, rows["self-rag"], strict=True))
    assert ours["right"] == "1" and float(ours["calls"]) < float(loop["calls"])


@pytest.mark.parametrize("command", [["question"], pytest.param(["answers", ".", "--ollama"], marks=pytest.mark.slow)])
def test_without_ollama_one_line_says_what_to_start(command, tmp_path):
    done = bench("127.0.0.1:9", *command, "--data", tmp_path)
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr.startswith("error: no Ollama server answers at 127.0.0.1:9\n  try: ollama serve")


@pytest.mark.slow
def test_what_nobody_asked_is_not_run(sets, tmp_path):
    done = bench("127.0.0.1:9", "answers", sets, "--table", "--ollama", "--data", tmp_path)
    assert done.returncode == 0, done.stderr
    assert all(row[1:] == ["not run"] * 7 for name, row in cells(done.stdout).items() if ":" in name)
