"""What LangGraph's streams yield of our graphs: messages of the answer, our events, the tutorials' loop."""

import asyncio
from contextlib import aclosing

import pytest
from langchain_core.callbacks import AsyncCallbackHandler
from langgraph.graph import END, START, MessagesState, StateGraph
from support import asking
from support.chat_model import SchemaModel
from support.engine_contract import PASSAGES
from support.fakes import FakeCorpus, FakeWeb, ScriptedEngine
from support.ollama_engine import engine_on

from local_rag import Deps, Rag, from_chat_model
from local_rag.core import cancel
from local_rag.core.protocols import NOT_IN_PASSAGES

QUESTION = {"question": "What does the plan cost?"}
GOOD, BAD = "It costs 100 euros [1].", "It is free [1]."
UNSUPPORTED, FULLY, PARTLY = ("no", 5), ("fully", 5), ("partially", 5)
TWICE, AT_ONCE = {"drafts": [BAD, GOOD], "grades": [UNSUPPORTED, FULLY]}, {"self_rag__candidates": 2}


def opened(web=False, **script):
    settings = {name: script.pop(name) for name in list(script) if "__" in name or name == "direct"}
    rag = asking.opened(ScriptedEngine(**script), **settings)
    rag.web = FakeWeb(enabled=web)
    return rag


def told(app, *, by_loop=False, version="v1", **options):
    """(message, metadata) of each part of a stream of messages."""
    options |= {"stream_mode": "messages", "version": version}

    async def parts():
        return [part async for part in app.astream(QUESTION, **options)]

    found = asyncio.run(parts()) if by_loop else list(app.stream(QUESTION, **options))
    if version == "v2":
        assert {part["type"] for part in found} == {"messages"}
        return [part["data"] for part in found]
    return found


FORMS = [{"by_loop": by_loop, "version": version} for by_loop in (False, True) for version in ("v1", "v2")]


def texts(parts):
    """The text of each message by its id, in the order in which they began."""
    joined = {}
    for message, _ in parts:
        joined[message.id] = joined.get(message.id, "") + message.text
    return joined


@pytest.mark.parametrize(
    ("graph", "script", "answer"),
    [
        ("plain", {}, GOOD),
        ("self-rag", {}, GOOD),
        ("self-rag", TWICE, GOOD),
        ("self-rag", {"grades": [PARTLY]}, GOOD),
        ("self-rag", {"relevant": ["n"]}, NOT_IN_PASSAGES),
        ("self-rag", AT_ONCE, GOOD),
        (
            "crag",
            {"drafts": ["It costs 900 euros [1]."], "relevant": ["n", "y"], "web": True},
            "It costs 900 euros [1].",
        ),
        ("adaptive", {"direct": True, "source": "direct", "drafts": ["Hello."]}, "Hello."),
    ],
)
def test_the_message_of_a_graph_is_its_answer_and_nothing_that_was_rejected(graph, script, answer):
    result = opened(**script).graph(graph).invoke(QUESTION)["answer"]
    app = opened(**script).graph(graph)
    for form in FORMS if not script else FORMS[:1]:  # what is around a part is not up to the script
        ((message, metadata),) = told(app, **form)
        assert message.text == result.text == answer
        assert message.id.startswith("answer-") and metadata["langgraph_node"] == "finish"
        assert message.response_metadata == {"status": result.status, "model_name": "scripted"}
        assert (message.usage_metadata or {}).get("output_tokens", 0) == result.usage.output_tokens


@pytest.mark.parametrize(
    ("script", "form", "drafts"), [*((TWICE, form, [BAD, GOOD]) for form in FORMS), (AT_ONCE, {}, [GOOD, GOOD])]
)
def test_drafts_are_messages_of_their_own_where_they_are_asked_for(script, form, drafts):
    rag = opened(**script)
    parts = told(rag.graph("self-rag"), context=rag.context(drafts=True), **form)
    messages = texts(parts)
    assert [identifier.split("-")[0] for identifier in messages] == ["draft", "draft", "answer"]
    assert [text.strip() for text in messages.values()] == [*drafts, GOOD]
    assert [metadata["langgraph_node"] for _, metadata in parts] == ["generate"] * (len(parts) - 1) + ["finish"]


def test_a_draft_that_begins_anew_is_another_message(ollama):
    from support.ollama_server import no_done

    ollama.script('{"r": "yes yes yes yes"}', no_done("euros euros"), GOOD, '{"s": "fully", "u": 5}')
    with engine_on(ollama) as engine:
        rag = asking.opened(engine)
        messages = texts(told(rag.graph("self-rag"), context=rag.context(drafts=True)))
    assert list(messages.values()) == ["euros euros", GOOD, GOOD]


def test_no_call_to_a_model_is_a_message(ollama):
    ollama.script('{"r": "yes yes yes yes"}', BAD, '{"s": "no", "u": 5}', GOOD, '{"s": "fully", "u": 5}')
    with engine_on(ollama) as engine:
        messages = texts(told(asking.opened(engine).graph("self-rag")))
    assert list(messages.values()) == [GOOD]
    rag = Rag.open(engine=from_chat_model(SchemaModel()), corpus=FakeCorpus(list(PASSAGES)))
    question = {"question": "When does the warranty of a pump end?"}
    parts = list(rag.graph("self-rag").stream(question, stream_mode="messages"))
    assert list(texts(parts).values()) == ["The warranty of a pump ends two years after delivery. [1]"]


def noting(scopes):
    """An engine that notes the clock and the memory that each question has."""

    def note(task):
        if task == "relevance":
            scopes.append((cancel.current(), cancel.current().memory))

    return ScriptedEngine(at=note)


def test_each_run_without_a_context_has_a_clock_and_a_memory_of_its_own():
    scopes = []
    app = asking.opened(noting(scopes), limits__seconds=60).graph("self-rag")
    app.invoke(QUESTION)
    list(app.with_config(tags=["mine"]).stream(QUESTION))
    asyncio.run(app.ainvoke(QUESTION))
    app.batch([QUESTION, QUESTION])
    clocks, memories = zip(*scopes, strict=True)
    assert len(clocks) == len(set(map(id, clocks))) == len(set(map(id, memories))) == 5
    assert all(0 < clock.remaining() <= 60 for clock in clocks)


def test_a_graph_inside_another_has_its_context_or_one_of_its_own():
    scopes = []
    rag = asking.opened(noting(scopes))
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
    rag = opened(**TWICE)
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
