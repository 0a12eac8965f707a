"""The benchmark of a question on an Ollama: all gradings take the same way, from a model that was just unloaded."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import pytest
from support import CHECKOUT
from support.ollama_server import OllamaServer

from local_rag.text.marks import claims

pytestmark = pytest.mark.slow

TUTORIAL = ["retrieval_grader"] * 4 + ["generator", "hallucination_grader", "answer_grader"]
OURS = ["retrieval_grader", "generator", "hallucination_grader+answer_grader"]


WAYS = {
    "self-rag 4 all relevant": (OURS, TUTORIAL, 0),
    "adaptive 4 all relevant": (["router", *OURS], ["router", *TUTORIAL], 0),
    "self-rag 4 the first rejected": (OURS, TUTORIAL, 1),
    "self-rag 4 a rewrite": ([OURS[0], "rewriter", *OURS], [*TUTORIAL[:4], "rewriter", *TUTORIAL], 4),
    "self-rag 4 two of a chat": (OURS, TUTORIAL, 0),
}
"""The calls of our gradings and of the tutorials', and how many passages are rejected."""


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    """The server, what each case cost, and what was shown."""
    folder = tmp_path_factory.mktemp("bench")
    script = [sys.executable, str(CHECKOUT / "scripts" / "bench.py"), "question", "--ollama", "tiny"]
    cases = [part for case in WAYS for part in ("--only", case)]
    with OllamaServer() as ollama:
        done = subprocess.run(
            [*script, *cases, "--data", str(folder / "data"), "--out", str(folder / "figures.json")],
            env=dict(os.environ) | {"OLLAMA_HOST": ollama.host},
            capture_output=True,
            text=True,
        )
    assert done.returncode == 0, done.stderr
    figures = json.loads((folder / "figures.json").read_text(encoding="utf-8"))
    named = {"{graph} {k} {named}".format(**case["case"]): case for case in figures.get("facts", figures)["cases"]}
    return ollama, named, done.stdout


def single(schema):
    """Whether a schema allows one value alone."""
    return len(schema["enum"]) == 1 if "enum" in schema else all(map(single, schema["properties"].values()))


@pytest.mark.parametrize("name", WAYS)
def test_all_gradings_take_the_way_of_the_case(bench, name):
    ours, theirs, rejected = WAYS[name]
    case = bench[1][name]
    assert [call for call, _ in case["packed"][0]["calls"]] == ours
    assert [call for call, _ in case["each"][0]["calls"]] == theirs
    assert [call for call, _ in case["evaluator"][0]["calls"]] == [call for call in ours if call != "retrieval_grader"]
    ways = [[cost["way"] for cost in case[grading]] for grading in ("packed", "evaluator", "each")]
    assert ways[0] == ways[1] == ways[2]
    assert case["evaluator"][0]["evaluated"] > 0
    assert len(case["packed"]) == (2 if name.endswith("of a chat") else 1)
    assert sum(step.endswith(" irrelevant") for step in case["packed"][0]["way"]) == rejected
    assert any(step.startswith("grade_generation ") and step.endswith(" useful") for step in case["packed"][0]["way"])


def test_every_grading_begins_with_a_model_that_was_unloaded_and_is_held_to_a_schema(bench):
    ollama, cases, shown = bench
    assert set(cases) == set(WAYS)
    assert "DIFFERENT WAYS" not in shown
    assert all(single(body["format"]) for body in ollama.chats)
    assert ollama.loads == 1 + 3 * len(WAYS), "a run to warm up and each grading of a case"


def test_an_answer_comes_as_plain_text(bench):
    (check, *_) = [body for body in bench[0].chats if "<answer>" in body["messages"][1]["content"]]
    answer = re.search(r"<answer>\n(.*)\n</answer>", check["messages"][1]["content"], re.DOTALL)[1]
    assert len(claims(answer)) == 3 and '"' not in answer
