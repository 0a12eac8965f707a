"""The benchmark of a question on an Ollama: all gradings take the same way, from a model that was just unloaded."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import pytest
from support import CHECKOUT

from local_rag.text.marks import claims

TUTORIAL = ["retrieval_grader"] * 4 + ["generator", "hallucination_grader", "answer_grader"]
OURS = ["retrieval_grader", "generator", "generation_grader"]


def bench(ollama, tmp_path, only):
    out = tmp_path / "figures.json"
    command = [sys.executable, str(CHECKOUT / "scripts" / "bench.py"), "question", "--ollama", "tiny", "--only", only]
    done = subprocess.run(
        [*command, "--data", str(tmp_path / "data"), "--out", str(out)],
        env=dict(os.environ) | {"OLLAMA_HOST": ollama.host},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(out.read_text(encoding="utf-8")), done.stdout


def single(schema):
    """Whether a schema allows one value alone."""
    return len(schema["enum"]) == 1 if "enum" in schema else all(map(single, schema["properties"].values()))


@pytest.mark.parametrize(
    ("only", "graph", "questions", "ours", "theirs"),
    [
        ("self-rag 4 all", "self-rag", 1, OURS, TUTORIAL),
        ("self-rag 4 the first", "self-rag", 1, OURS, TUTORIAL),
        ("adaptive 4", "adaptive", 1, ["router", *OURS], ["router", *TUTORIAL]),
        ("self-rag 4 a rewrite", "self-rag", 1, [OURS[0], "rewriter", *OURS], [*TUTORIAL[:4], "rewriter", *TUTORIAL]),
        ("self-rag 4 two", "self-rag", 2, OURS, TUTORIAL),
    ],
)
def test_all_gradings_take_the_way_of_the_case(ollama, tmp_path, only, graph, questions, ours, theirs):
    figures, shown = bench(ollama, tmp_path, only)
    ((case,),) = [figures["facts"]["cases"]] if "facts" in figures else [figures["cases"]]
    assert [call for call, _ in case["list"][0]["calls"]] == ours
    assert [call for call, _ in case["each"][0]["calls"]] == theirs
    assert [call for call, _ in case["evaluator"][0]["calls"]] == [call for call in ours if call != "retrieval_grader"]
    ways = [[one["way"] for one in case[grading]] for grading in ("list", "evaluator", "each")]
    assert ways[0] == ways[1] == ways[2]
    assert case["evaluator"][0]["evaluated"] > 0
    assert len(case["list"]) == questions
    assert "DIFFERENT WAYS" not in shown
    assert all(single(body["format"]) for body in ollama.chats)
    rejected = {"self-rag 4 the first": 1, "self-rag 4 a rewrite": 4}.get(only, 0)
    assert sum(one.endswith(" irrelevant") for one in case["list"][0]["way"]) == rejected
    assert any(one.startswith("grade_generation ") and one.endswith(" useful") for one in case["list"][0]["way"])
    assert ollama.loads == 4, "a run to warm up and one of each grading, each after the model was unloaded"


def test_an_answer_comes_as_plain_text(ollama, tmp_path):
    bench(ollama, tmp_path, "self-rag 4 all")
    (check, *_) = [body for body in ollama.chats if "<answer>" in body["messages"][1]["content"]]
    answer = re.search(r"<answer>\n(.*)\n</answer>", check["messages"][1]["content"], re.DOTALL)[1]
    assert len(claims(answer)) == 3 and '"' not in answer
