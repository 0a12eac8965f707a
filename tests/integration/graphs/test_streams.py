"""What LangGraph's streams yield of our graphs: messages of the answer, our events, the tutorials' loop."""

from __future__ import annotations

import asyncio
import operator
from contextlib import aclosing
from functools import reduce

import pytest
from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.messages import AIMessageChunk
from langgraph.graph import END, START, MessagesState, StateGraph
from support.chat_model import SchemaModel
from support.engine_contract import PASSAGES
from support.fakes import FakeCorpus, FakeWeb, ScriptedEngine
from support.ollama_engine import engine_on

from local_rag import Deps, Rag, from_chat_model
from local_rag.core import cancel, question_memory
from local_rag.core.events import Retrieved, Started, Token
from local_rag.core.protocols import NOT_IN_PASSAGES

QUESTION = {"question": "What does the plan cost?"}
GOOD, BAD = "It costs 100 euros [1].", "It is free [1]."
UNSUPPORTED, FULLY, PARTLY = ("no", 5), ("fully", 5), ("partially", 5)


def opened(corpus=None, web=False, **script):
    settings = {name: script.pop(name) for name in list(script) if "__" in name or name == "direct"}
    rag = Rag.open(engine=ScriptedEngine(**script), corpus=corpus or FakeCorpus(), **settings)
    rag.web = FakeWeb(enabled=web)
    return rag


def streamed(app, **options):
    return list(app.stream(QUESTION, stream_mode="messages", **options))


def astreamed(app, **options):
    async def parts():
        return [part async for part in app.astream(QUESTION, stream_mode="messages", **options)]

    return asyncio.run(parts())


def streamed_v2(app, **options):
    parts = list(app.stream(QUESTION, stream_mode="messages", version="v2", **options))
    assert {part["type"] for part in parts} <= {"messages"}
    return [part["data"] for part in parts]


def astreamed_v2(app, **options):
    async def parts():
        stream = app.astream(QUESTION, stream_mode="messages", version="v2", **options)
        return [part["data"] async for part in stream]

    return asyncio.run(parts())


def texts(parts):
    """The text of each message by its id, in the order in which they began."""
    joined = {}
    for chunk, _ in parts:
        assert isinstance(chunk, AIMessageChunk)
        joined[chunk.id] = joined.get(chunk.id, "") + chunk.content
    return joined


# graph, script, node, answer
ANSWERS = [
    ("plain", {}, "generate", GOOD),
    ("self-rag", {}, "generate", GOOD),
    ("self-rag", {"drafts": [BAD, GOOD], "grades": [UNSUPPORTED, FULLY]}, "generate", GOOD),
    ("self-rag", {"grades": [PARTLY]}, "give_up", GOOD),
    ("self-rag", {"relevant": ["n"]}, "give_up", NOT_IN_PASSAGES),
    ("self-rag", {"self_rag__candidates": 2}, "generate", GOOD),
    ("self-rag", {"self_rag__final_grade": "separate"}, "generate", GOOD),
    ("crag", {}, "generate", GOOD),
    ("crag", {"grades": [PARTLY]}, "give_up", GOOD),
    ("crag", {"drafts": ["It costs 900 euros [1]."], "relevant": ["n", "y"], "web": True}, "generate", None),
    ("adaptive", {}, "generate", GOOD),
    ("adaptive", {"direct": True, "source": "direct", "drafts": ["Hello."]}, "llm_fallback", "Hello."),
    ("adaptive", {"drafts": [NOT_IN_PASSAGES]}, "give_up", NOT_IN_PASSAGES),
]


@pytest.mark.parametrize(("graph", "script", "node", "answer"), ANSWERS)
def test_the_messages_of_a_graph_are_its_answer_and_nothing_that_was_rejected(graph, script, node, answer):
    state = opened(**script).graph(graph).invoke(QUESTION)
    assert state["generation"] == opened(**script).ask(**QUESTION, graph=graph).text
    assert answer in (state["generation"], None)
    forms = (streamed, astreamed, streamed_v2, astreamed_v2)
    for stream in forms[:2] if script else forms:  # what is around a part of version 2 is not up to the script
        parts = stream(opened(**script).graph(graph))
        ((identifier, text),) = texts(parts).items()
        assert text == state["generation"]
        assert identifier.startswith("answer-")
        assert {metadata["langgraph_node"] for _, metadata in parts} == {node}
        whole = reduce(operator.add, [chunk for chunk, _ in parts])
        assert whole.response_metadata == {"status": state["status"], "model_name": "scripted"}
        assert (whole.usage_metadata or {}).get("output_tokens", 0) == state["usage"].output_tokens


@pytest.mark.parametrize("stream", [streamed, astreamed, streamed_v2, astreamed_v2])
def test_drafts_are_messages_of_their_own_where_they_are_asked_for(stream):
    rag = opened(drafts=[BAD, GOOD], grades=[UNSUPPORTED, FULLY])
    parts = stream(rag.graph("self-rag"), context=rag.context(drafts=True))
    messages = texts(parts)
    assert [identifier.split("-")[0] for identifier in messages] == ["draft", "draft", "answer"]
    assert [text.strip() for text in messages.values()] == [BAD, GOOD, GOOD]
    assert {metadata["langgraph_node"] for _, metadata in parts} == {"generate"}


def test_the_drafts_of_one_attempt_are_told_apart():
    rag = opened(self_rag__candidates=2, drafts=["It costs 100 euros [1].", "It costs 200 euros [1]."])
    messages = texts(streamed(rag.graph("self-rag"), context=rag.context(drafts=True)))
    assert [identifier.split("-")[0] for identifier in messages] == ["draft", "draft", "answer"]


def test_a_draft_that_begins_anew_is_another_message(ollama):
    from support.ollama_server import no_done

    ollama.script('{"r": "yes yes yes yes"}', no_done("euros euros"), GOOD, '{"s": "fully", "u": 5}')
    with engine_on(ollama) as engine:
        rag = Rag.open(engine=engine, corpus=FakeCorpus())
        messages = texts(streamed(rag.graph("self-rag"), context=rag.context(drafts=True)))
    assert list(messages.values()) == ["euros euros", GOOD, GOOD]


def test_no_call_to_a_model_is_a_message(ollama):
    ollama.script('{"r": "yes yes yes yes"}', BAD, '{"s": "no", "u": 5}', GOOD, '{"s": "fully", "u": 5}')
    with engine_on(ollama) as engine:
        messages = texts(streamed(Rag.open(engine=engine, corpus=FakeCorpus()).graph("self-rag")))
    assert list(messages.values()) == [GOOD]
    rag = Rag.open(engine=from_chat_model(SchemaModel()), corpus=FakeCorpus(list(PASSAGES)))
    question = {"question": "When does the warranty of a pump end?"}
    parts = list(rag.graph("self-rag").stream(question, stream_mode="messages"))
    assert list(texts(parts).values()) == ["The warranty of a pump ends two years after delivery. [1]"]


def test_custom_parts_are_our_events():
    events = list(opened().graph("self-rag").stream(QUESTION, stream_mode="custom"))
    assert isinstance(events[0], Started)
    assert {Started, Retrieved, Token} <= {type(event) for event in events}


def noting(scopes):
    """An engine that notes the clock and the memory that each question has."""

    def note(task):
        if task == "relevance":
            scopes.append((cancel.current(), question_memory.current()))

    return ScriptedEngine(at=note)


def test_each_run_without_a_context_has_a_clock_and_a_memory_of_its_own():
    scopes = []
    app = Rag.open(engine=noting(scopes), corpus=FakeCorpus(), limits__seconds=60).graph("self-rag")
    app.invoke(QUESTION)
    list(app.with_config(tags=["mine"]).stream(QUESTION))
    asyncio.run(app.ainvoke(QUESTION))
    app.batch([QUESTION, QUESTION])
    clocks, memories = zip(*scopes, strict=True)
    assert len(clocks) == len(set(map(id, clocks))) == len(set(map(id, memories))) == 5
    assert all(0 < clock.remaining() <= 60 for clock in clocks)


def test_a_graph_inside_another_has_its_context_or_one_of_its_own():
    scopes = []
    rag = Rag.open(engine=noting(scopes), corpus=FakeCorpus())
    deps = rag.context()
    for context in (deps, None):
        around = StateGraph(dict, context_schema=Deps if context else None)
        around.add_node("files", lambda state: rag.graph("self-rag").invoke(QUESTION))
        around.add_edge(START, "files")
        around.compile().invoke({}, context=context)
    (given, _), (own, _) = scopes
    assert given is deps.cancel and own is not deps.cancel


class Chat(MessagesState):
    question: str
    generation: str


def test_a_program_around_it_gets_the_answer_in_its_own_stream():
    rag = opened(drafts=[BAD, GOOD], grades=[UNSUPPORTED, FULLY])
    around = StateGraph(Chat)
    around.add_node("files", rag.graph("self-rag"))
    around.add_edge(START, "files")
    around.add_edge("files", END)
    parts = list(around.compile().stream(QUESTION, stream_mode="messages", subgraphs=True))
    assert "".join(chunk.content for _, (chunk, _) in parts) == GOOD
    assert all(namespace[0].startswith("files:") for namespace, _ in parts)


@pytest.mark.parametrize("mode", ["updates", "custom"])
def test_a_caller_of_astream_that_leaves_closes_the_graph(mode):
    ended = []

    class Watched(AsyncCallbackHandler):
        async def on_chain_error(self, error, *, parent_run_id=None, **more):
            if parent_run_id is None:
                ended.append(type(error))

    async def leave(app):
        async with aclosing(app.astream(QUESTION, {"callbacks": [Watched()]}, stream_mode=mode)) as parts:
            await anext(parts)
        others = asyncio.all_tasks() - {asyncio.current_task()}
        return list(ended), [task for task in others if not task.done()]

    assert asyncio.run(leave(opened().graph("self-rag"))) == ([GeneratorExit], [])
