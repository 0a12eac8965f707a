"""The state as LangGraph sees it: what goes in and comes out, how parts are put together, what a question clears."""

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from support.fakes import ONE_CALL, FakeCorpus, FakeWeb, ScriptedEngine, passage
from support.graph_runs import final_state, ids

from local_rag.config.values import Limits
from local_rag.core.verdicts import Graded
from local_rag.graphs import GRAPHS, compiled
from local_rag.graphs.deps import Deps, Options
from local_rag.graphs.graph import Graph
from local_rag.graphs.nodes.node import node
from local_rag.graphs.nodes.retrieval import retrieve
from local_rag.graphs.nodes.routing import route_question
from local_rag.graphs.state import BEGINNING
from local_rag.web.search import Off

GIVEN_BACK = ["question", "generation", "documents", "answer"]


def deps(engine=None, corpus=None, web=None, **more):
    return Deps(corpus or FakeCorpus(), engine or ScriptedEngine(), web or Off(), Limits(), **more)


@pytest.mark.parametrize("name", GRAPHS)
def test_a_graph_asks_for_a_question_and_says_what_it_gives_back(name):
    app = compiled(name)
    given, back = app.get_input_jsonschema(), app.get_output_jsonschema()
    assert list(given["properties"]) == given["required"] == ["question"]
    assert list(back["properties"]) == [*GIVEN_BACK, *["web_search"] * (name == "crag")]
    assert back["$defs"]["Graded"]["properties"]["verdict"]["type"] == "string"
    asked = {"question": "What does the plan cost?"}
    result = app.invoke(asked, context=deps())
    assert {*GIVEN_BACK} <= set(result) <= set(back["properties"])
    *_, (last,) = (output.values() for output in app.stream(asked, context=deps()))
    assert last["generation"] == result["generation"], "the tutorials' loop ends with it"


def test_the_marks_of_the_result_are_its_citations_and_its_documents():
    engine = ScriptedEngine(drafts=["It costs 300 euros [3]. Or 100 euros [1]. Or 300 euros [3]."])
    for name in GRAPHS:
        result = compiled(name).invoke({"question": "What does the plan cost?"}, context=deps(engine))
        assert result["generation"] == "It costs 300 euros [1]. Or 100 euros [2]. Or 300 euros [1]."
        assert ids(result["documents"]) == ["3", "1", "2", "4"]
        assert [(citation.number, citation.source) for citation in result["answer"].citations] == [
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
        graph.add_edge("begin", added.__name__)
        graph.add_edge(added.__name__, "finish")
    app = graph.compile(InMemorySaver())
    engine = ScriptedEngine(source="direct")
    for thread in ("1", "2"):
        config = {"configurable": {"thread_id": thread}}
        state = final_state(app, deps(engine, allow_direct=True), config=config)
        assert sorted(state["path"]) == ["begin", "finish", "look_twice", "retrieve", "route_question"]
        assert sorted(decision.kind for decision in state["decisions"]) == ["looked", "route"]
        assert state["usage"].calls == 3
        assert (state["tries"], state["spent"]) == ({"rewrites": 1}, ["rewrites", "web_searches"])
        assert (len(state["nearest"]), state["route"]) == (3, "direct")


@pytest.mark.parametrize("name", GRAPHS)
def test_nothing_of_a_question_but_its_turn_is_there_when_the_next_begins(name):
    """The first question leaves a value in every key that it can; the second begins as on a new thread."""
    options = Options(separate=True, candidates=True, decide=True, complexity="auto")
    app = compiled(name, options, InMemorySaver())

    def beginning(thread):
        config = {"configurable": {"thread_id": thread}}
        app.invoke({"question": "What?"}, config, context=deps(), interrupt_after=["begin"])
        state = app.get_state(config).values
        state.pop("web_search", None)  # CRAG's flag, which each question writes before anything reads it
        return {key: value for key, value in state.items() if value and value != BEGINNING.get(key)}

    rich = ScriptedEngine(relevant=["nnyn", "ynnn"], grades=[("no", 1)], scores=[[0.1, 0.2, 0.9, 0.1]])
    many = FakeCorpus([passage(number) for number in range(1, 30)])
    left = final_state(app, deps(rich, many, FakeWeb()), config={"configurable": {"thread_id": "old"}})
    assert len([key for key, value in left.items() if value]) >= 12
    begun = beginning("old")
    assert len(begun.pop("turns")) == 1
    assert begun == beginning("new")
