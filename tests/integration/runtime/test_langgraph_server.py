"""The graphs that LangGraph's server is given, without the server: a context in JSON, a chat, consent, plain errors."""

from __future__ import annotations

import asyncio
import importlib
import json
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from langsmith.run_helpers import get_tracing_context
from support.asking import Recalling
from support.fakes import FakeCorpus, FakeWeb

from local_rag import Rag
from local_rag.graphs.deps import Deps
from local_rag.runtime import langgraph_server as served

CONFIG = json.loads((Path(__file__).parents[3] / "langgraph.json").read_text())
QUESTION = "What does the plan cost?"
THREAD = {"configurable": {"thread_id": "1"}}


def access(context=None, *, runs=True):
    return SimpleNamespace(execution_runtime=SimpleNamespace(context=context) if runs else None)


@pytest.fixture
def engine(request, monkeypatch):
    """What every Rag is opened with; it notes what it is asked, and with which settings in `opened`."""
    engine, opening = Recalling(**getattr(request, "param", {})), Rag.open
    engine.opened = []

    def opened(settings):
        engine.opened.append(settings)
        rag = opening(settings, engine=engine, corpus=FakeCorpus())
        if settings.values.web.enabled != "off":
            rag.web = FakeWeb()
        return rag

    monkeypatch.setattr(Rag, "open", opened)
    return engine


@asynccontextmanager
async def running(factory, context=None):
    async with factory(access(context)) as graph:
        yield graph.copy({"checkpointer": InMemorySaver()})


def answered(factory, given, context=None):
    async def run():
        async with running(factory, context) as graph:
            return await graph.ainvoke(given, THREAD, context=context)

    return asyncio.run(run())


@pytest.mark.parametrize("name", CONFIG["graphs"])
def test_what_langgraph_json_names_is_there_and_can_be_drawn(name):
    module, _, variable = CONFIG["graphs"][name].partition(":")

    async def drawn():
        async with getattr(importlib.import_module(module), variable)(access(runs=False)) as graph:
            return graph.name, graph.get_graph().to_json()["nodes"], graph.get_context_jsonschema()["properties"]

    graph, nodes, context = asyncio.run(drawn())
    assert graph == name and len(nodes) > 2
    assert context.keys() == {"index", "k", "within", "graph", "options"}


def test_the_context_says_what_is_asked_and_how(engine):
    asked = {"k": 2, "within": ["notes"], "options": {"limits.seconds": 7}}
    assert answered(served.self_rag, {"question": QUESTION}, asked)["generation"] == "It costs 100 euros [1]."
    settings = engine.opened[0].values
    assert (settings.k, settings.limits.seconds) == (2, 7)
    assert ("close",) not in engine.asked, "what was given is not closed"


def test_a_chat_reads_turns_from_messages_and_answers_with_sources(engine):
    first = answered(served.chat, {"messages": [("user", QUESTION)]})["messages"]
    assert first[-1].text.startswith("It costs 100 euros [1].\n\n- \\[1\\] /notes/1.md: “")
    told = first[-1].additional_kwargs
    assert (told["status"], told["citations"][0]["source"]) == ("grounded", "/notes/1.md")
    answered(served.chat, {"messages": [*first, ("user", "And in euros?")]})
    (_, question, turns) = next(call for call in engine.asked if call[0] == "standalone")
    assert (question, turns[0].question, turns[0].answer) == ("And in euros?", QUESTION, "It costs 100 euros [1].")


@pytest.mark.parametrize("engine", [{"relevant": ["n"]}], indirect=True, ids=["irrelevant"])
@pytest.mark.parametrize("factory", ["crag", "chat"])
def test_a_query_leaves_once_a_person_says_so(engine, factory):
    factory, context = getattr(served, factory), {"graph": "crag", "options": {"web.enabled": "on"}}
    given = {"messages": [("user", QUESTION)]} if factory is served.chat else {"question": QUESTION}

    async def run():
        async with running(factory, context) as graph:
            first = await graph.ainvoke(given, THREAD, context=context)
            return first["__interrupt__"], await graph.ainvoke(Command(resume="no"), THREAD, context=context)

    (asked,), then = asyncio.run(run())
    assert asked.value["query"]
    said = then["messages"][-1].additional_kwargs if factory is served.chat else then
    assert said["status"] == "abstained"


def test_an_error_is_one_that_the_server_shows():
    for context, error in ({"index": "nowhere"}, "local-rag index FOLDER"), ({"options": {"q": 1}}, "there is no"):
        with pytest.raises(RuntimeError, match=error):
            answered(served.plain, {"question": QUESTION}, context)


def test_a_chat_without_a_question_says_so(engine):
    with pytest.raises(RuntimeError, match="a chat has a message of a person"):
        answered(served.chat, {"messages": [AIMessage("Hello.")]})


def test_a_run_that_ends_stops_its_question_and_tracing_is_off(engine, monkeypatch):
    monkeypatch.setenv("LANGSMITH_TRACING", "true")
    cancels, context = [], Rag.context

    def noted(rag, **options):
        cancels.append(options["cancel"])
        return context(rag, **options)

    monkeypatch.setattr(Rag, "context", noted)

    async def run():
        async with served.plain(access()) as graph:
            assert graph.contexts() is graph.contexts() and isinstance(graph.contexts(), Deps)
            assert not cancels[0].stopped
            return get_tracing_context()["enabled"]

    assert asyncio.run(run()) is False
    assert cancels[0].stopped
