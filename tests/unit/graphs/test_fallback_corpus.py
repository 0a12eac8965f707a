"""A fallback corpus in the graphs, with a scripted engine: no consent, its own budget, passages as those of files."""

from __future__ import annotations

import pytest
from support.fakes import FakeCorpus, FakeWeb, ScriptedEngine, passage

from local_rag.config.values import Crag, Limits
from local_rag.core.documents import WebResults
from local_rag.core.events import Started, WebQuery
from local_rag.graphs import compiled
from local_rag.graphs.deps import Deps, Options

QUESTION = "What does the plan cost?"


class Source(FakeWeb):
    """A fallback corpus that brings two passages; the first has the id of the first one of the files."""

    def search(self, query, k):
        self.queries.append((query, k))
        about = {"origin": "web", "url": "https://example.org/plan", "fallback_corpus": self.fallback_corpus}
        return WebResults((passage(1, **about), passage(90, "One. Two. Three. Four.", start=7, **about)))


def asked(graph, engine, web=None, **parts):
    web = web or Source(fallback_corpus="/pages")
    deps = Deps(FakeCorpus(), engine, web, parts.pop("limits", Limits()), may_search=refuse, **parts)
    events, state = [], {}
    app = compiled(graph, Options())
    for mode, part in app.stream({"question": QUESTION}, context=deps, stream_mode=["custom", "values"]):
        if mode == "custom":
            events.append(part)
        else:
            state = part
    return state, events, web


def refuse(query):
    pytest.fail(f"nobody is asked about {query}")


@pytest.mark.parametrize("graph", ["crag", "adaptive"])
def test_nobody_is_asked_and_nothing_is_said_to_leave(graph):
    engine = ScriptedEngine(relevant=["nnnn", "yy"] if graph == "crag" else ["yy"], source="web_search")
    state, events, web = asked(graph, engine, folders=("/index",), kept_from_web=lambda folder: True)
    assert len(web.queries) == 1 and state["tries"]["web_searches"] == 1
    assert not [event for event in events if isinstance(event, WebQuery)]
    assert "searching /pages" in [event.doing for event in events if isinstance(event, Started)]
    assert [document.metadata["chunk_id"] for document in state["documents"]] == ["1", "90"]
    assert state["documents"][1].metadata["start"] == 7, "a passage keeps its place in the file"


def test_a_passage_that_the_files_have_brought_comes_once():
    state, _, _ = asked("crag", ScriptedEngine(relevant=["ynnn", "yy"]))
    assert [document.metadata["chunk_id"] for document in state["documents"]] == ["1", "90"]


def test_its_passages_are_refined_as_those_of_the_files():
    engine = ScriptedEngine(relevant=["nnnn", "ny", "yn"], scores=[[], [], [0.9, 0.1]])
    state, _, _ = asked("crag", engine, crag=Crag(refine=True))
    (kept,) = state["documents"]
    assert kept.page_content == "One. Two. Three." and kept.metadata["pieces"] == [(7, 23)]
