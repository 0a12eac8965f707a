"""The state as LangGraph sees it: what goes in and comes out, how parts are put together, what a question clears."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START
from support.fakes import ONE_CALL, FakeCorpus, ScriptedEngine, passage
from support.graph_runs import final_state, ids, parts

from local_rag.config.values import Adaptive, Crag, Limits, SelfRag
from local_rag.core.errors import EngineError
from local_rag.core.protocols import NOT_IN_PASSAGES
from local_rag.core.verdicts import Graded, Support, Usage
from local_rag.graphs import GRAPHS, compiled
from local_rag.graphs.deps import Deps, Options
from local_rag.graphs.graph import Graph
from local_rag.graphs.nodes.node import node
from local_rag.graphs.nodes.retrieval import retrieve
from local_rag.graphs.nodes.routing import route_question
from local_rag.web.search import Off

GIVEN_BACK = ["question", "generation", "documents", "status", "citations", "conflicts", "decisions", "usage"]


def deps(engine=None, corpus=None, web=None, **more):
    return Deps(corpus or FakeCorpus(), engine or ScriptedEngine(), web or Off(), Limits(), **more)


@pytest.mark.parametrize("memory", [False, True])
@pytest.mark.parametrize("name", GRAPHS)
def test_a_graph_asks_for_a_question_and_says_what_it_gives_back(name, memory):
    app = compiled(name, Options(memory=memory))
    given, back = app.get_input_jsonschema(), app.get_output_jsonschema()
    assert list(given["properties"]) == given["required"] == ["question"]
    assert list(back["properties"]) == [*GIVEN_BACK, *["web_search"] * (name == "crag")]
    assert back["$defs"]["Graded"]["properties"]["verdict"]["type"] == "string"
    result = app.invoke({"question": "What does the plan cost?"}, context=deps())
    assert set(result) <= set(back["properties"])
    assert set(result) >= {"question", "generation", "documents", "status", "citations", "decisions", "usage"}


def test_the_marks_of_the_result_are_its_citations_and_its_documents():
    engine = ScriptedEngine(drafts=["It costs 300 euros [3]. Or 100 euros [1]. Or 300 euros [3]."])
    for name in GRAPHS:
        result = compiled(name).invoke({"question": "What does the plan cost?"}, context=deps(engine))
        assert result["generation"] == "It costs 300 euros [1]. Or 100 euros [2]. Or 300 euros [1]."
        assert ids(result["documents"]) == ["3", "1", "2", "4"]
        assert [(citation.number, citation.source) for citation in result["citations"]] == [
            (1, "/notes/3.md"),
            (2, "/notes/1.md"),
            (1, "/notes/3.md"),
        ]


@node("looking twice")
def look_twice(state, deps, emit):
    """A node that spends two calls, a budget and a try."""
    return {
        "usage": ONE_CALL + ONE_CALL,
        "tries": {"rewrites": 1},
        "spent": ["rewrites"],
        "decisions": [Graded("looked", "twice")],
    }


def test_branches_run_in_parallel():
    graph = Graph()
    for added in (route_question, retrieve, look_twice):
        graph.add_node(added)
        graph.add_edge(START, added.__name__)
        graph.add_edge(added.__name__, END)
    app = graph.compile(InMemorySaver())
    engine = ScriptedEngine(source="direct")
    for thread in ("1", "2"):
        config = {"configurable": {"thread_id": thread}}
        state = final_state(app, deps(engine, allow_direct=True), config=config)
        assert sorted(state["path"]) == ["look_twice", "retrieve", "route_question"]
        assert sorted(decision.kind for decision in state["decisions"]) == ["looked", "route"]
        assert state["usage"].calls == 3
        assert (state["tries"], state["spent"]) == ({"rewrites": 1}, ["rewrites", "web_searches"])
        assert (len(state["documents"]), state["route"]) == (4, "direct")


# --- nothing of one question is seen by the next


class TwoShelves(FakeCorpus):
    """Disjoint passages for the two questions: every query names one of them."""

    def search(self, query, k, *, within=(), exclude=()):
        shelf = "second" if "second" in query else "first"
        found = [passage(f"{shelf}-{n}", f"The {shelf} plan costs {n}00 euros.") for n in range(1, 7)]
        return [one for one in found if one.metadata["chunk_id"] not in exclude][:k]


class Naming(ScriptedEngine):
    """Names in its draft the plan that is asked for; all that it is shown is in `asked`."""

    def answer(self, question, documents, attempt):
        for piece in super().answer(question, documents, attempt):
            which = "second" if "second" in question else "first"
            yield replace(piece, text=piece.text.replace("It", f"The {which} plan"))


WIRINGS = [("plain", {}), ("self-rag", {"strict": True}), ("crag", {"crag": Crag(trigger="thresholds")})]
WIRINGS += [("self-rag", {"self_rag": SelfRag(retrieve="each")}), ("crag", {"crag": Crag(refine=True)})]
WIRINGS += [("self-rag", {"self_rag": SelfRag(candidates=2, final_grade="separate")}), ("adaptive", {})]
WIRINGS += [("self-rag", {}), ("adaptive", {"adaptive": Adaptive(complexity="multi")})]


@pytest.mark.parametrize(("graph", "wiring"), WIRINGS)
@settings(max_examples=max(3, settings().max_examples // 7), deadline=None)
@given(
    relevant=st.lists(st.sampled_from(["y", "n", "?", "yn", "nny"]), min_size=1),
    grades=st.lists(st.tuples(st.sampled_from(get_args(Support)), st.integers(0, 5)), min_size=1),
    drafts=st.lists(
        st.sampled_from(["It costs 100 euros [1].", "It costs 200 euros [2][9].", NOT_IN_PASSAGES]), min_size=1
    ),
)
def test_a_second_question_of_a_thread_never_sees_anything_of_the_first(graph, wiring, relevant, grades, drafts):
    engine = Naming(relevant=relevant, grades=grades, drafts=drafts)
    options, deps = parts(engine, TwoShelves(), memory=True, **wiring)
    app, config = compiled(graph, options, InMemorySaver()), {"configurable": {"thread_id": "1"}}
    try:
        final_state(app, deps, "What does the first plan cost?", config)
        engine.asked.clear()
        second = {"question": "What does the second plan cost?"}
        _, *states = app.stream(second, config, context=deps, stream_mode="values")
    except EngineError as error:
        assert "the grader gave no usable verdict" in str(error)
        return
    shown = [asked for asked in engine.asked if asked[0] != "standalone"]
    for state in states:
        (_, *turns) = state.pop("turns")
        assert "first" not in f"{state} {turns} {shown}"
    assert states[0].get("tries", {}) == {} and states[0]["usage"] == Usage()
    assert len(turns) == 1, "the question itself is kept"
