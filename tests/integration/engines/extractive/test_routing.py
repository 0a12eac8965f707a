"""The questions of `scripts/bench.py routing` with the five documents alone: most are routed rightly."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import get_args

import pytest
from support import CHECKOUT
from support.fakes_index import remembering_minilm

from local_rag.core.verdicts import Source
from local_rag.engines.extractive.engine import ExtractiveEngine
from local_rag.graphs.deps import Deps
from local_rag.graphs.nodes.routing import ask_router
from local_rag.index.index import Index
from local_rag.web.search import Off

OWN = CHECKOUT / "scripts" / "benchmarks" / "data" / "routing"
RIGHT = {"files": {"vectorstore"}, "current": {"web_search"}, "chat": {"vectorstore", "direct"}}

pytestmark = pytest.mark.usefixtures("converted")


@pytest.mark.slow
def test_most_questions_go_where_their_answer_is(tmp_path):
    right = defaultdict(list)
    with Index.open(tmp_path / "index", remembering_minilm(), create=True) as index:
        index.sync([OWN / "documents"])
        deps = Deps(index, ExtractiveEngine(index.embedder, index), Off())
        for question in map(json.loads, (OWN / "questions.jsonl").read_text(encoding="utf-8").splitlines()):
            route = ask_router(question["question"], deps, get_args(Source))
            right[question["class"]].append(route.source in RIGHT[question["class"]])
    assert {kind: len(routes) for kind, routes in right.items()} == dict.fromkeys(RIGHT, 30)
    assert all(sum(routes) >= 27 for routes in right.values()), right
