"""Callbacks of the calling program see each model call and each retrieval; nothing else switches anything on."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import pytest
from langchain_core.callbacks import AsyncCallbackHandler, BaseCallbackHandler, get_usage_metadata_callback
from langchain_core.runnables import RunnableLambda
from support.asking import eventually, opened
from support.fakes import FakeCorpus
from support.ollama_engine import engine_on
from support.ollama_server import error, say

from local_rag.core.errors import EngineError
from local_rag.core.protocols import Attempt

QUESTION = {"question": "What does the plan cost?"}
ANSWER = "Passage 1 says that the plan costs 100 euros. [1]"
REPLIES = ['{"r": "yes yes yes yes"}', ANSWER, '{"s": "fully", "u": 5}']
CALLS = ["retrieval_grader", "generator", "hallucination_grader+answer_grader"]


@dataclass
class Seen:
    """The runs that callbacks were told of, by id."""

    starts: dict = field(default_factory=dict)
    ends: dict = field(default_factory=dict)
    errors: dict = field(default_factory=dict)
    tokens: dict = field(default_factory=dict)

    def start(self, kind, run_id, parent_run_id, name, told):
        self.starts[run_id] = (kind, parent_run_id, name, told)

    def named(self, kind):
        return [(run, name) for run, (one, _, name, _) in self.starts.items() if one == kind]

    def above(self, run):
        """The names of the runs around a run, the innermost first."""
        parent = self.starts[run][1]
        return [self.starts[parent][2], *self.above(parent)] if parent in self.starts else []


class Watching(BaseCallbackHandler):
    def __init__(self):
        self.seen = Seen()

    def on_chain_start(self, serialized, inputs, *, run_id, parent_run_id=None, name=None, **_):
        self.seen.start("chain", run_id, parent_run_id, name, inputs)

    def on_chat_model_start(self, serialized, messages, *, run_id, parent_run_id=None, name=None, **about):
        self.seen.start("model", run_id, parent_run_id, name, (messages, about))

    def on_retriever_start(self, serialized, query, *, run_id, parent_run_id=None, name=None, **_):
        self.seen.start("retriever", run_id, parent_run_id, name, query)

    def on_llm_new_token(self, token, *, run_id, **_):
        self.seen.tokens[run_id] = self.seen.tokens.get(run_id, "") + token

    def on_llm_end(self, response, *, run_id, **_):
        self.seen.ends[run_id] = response.generations[0][0].message

    def on_retriever_end(self, documents, *, run_id, **_):
        self.seen.ends[run_id] = documents

    def on_llm_error(self, error, *, run_id, **_):
        self.seen.errors[run_id] = error


def in_a_coroutine(name):
    async def told(self, *what, **about):
        getattr(self.plain, name)(*what, **about)

    return told


class AsyncWatching(AsyncCallbackHandler):
    """The same, by coroutines."""

    def __init__(self):
        self.plain = Watching()
        self.seen = self.plain.seen

    for name in [name for name in vars(Watching) if name.startswith("on_")]:
        vars()[name] = in_a_coroutine(name)


@pytest.fixture
def rag(ollama):
    with engine_on(ollama) as engine:
        yield opened(engine)


def invoked(app, rag, config):
    return app.invoke(QUESTION, config, context=rag.context())


def ainvoked(app, rag, config):
    return asyncio.run(app.ainvoke(QUESTION, config, context=rag.context()))


def streamed(app, rag, config):
    return list(app.stream(QUESTION, config, context=rag.context(), stream_mode="values"))[-1]


@pytest.mark.parametrize("handler", [Watching, AsyncWatching])
@pytest.mark.parametrize("run", [invoked, ainvoked, streamed])
def test_the_callbacks_of_the_host_see_every_call(rag, ollama, run, handler):
    ollama.script(*REPLIES)
    watching = handler()
    result = run(rag.graph("self-rag"), rag, {"callbacks": [watching]})
    assert result["generation"] == ANSWER
    seen = watching.seen
    calls = seen.named("model")
    assert [name for _, name in calls] == CALLS
    assert [seen.above(run) for run, _ in calls] == [
        [node, "self-rag"] for node in ("grade_documents", "generate", "grade_generation")
    ]
    for run_id, name in calls:
        messages, about = seen.starts[run_id][3]
        assert [message.type for message in messages[0]] == ["system", "human"]
        assert "What does the plan cost?" in messages[0][1].content
        assert about["metadata"]["ls_model_name"] == "tiny"
        assert about["metadata"]["prompt"] and about["metadata"]["retry"] is False
        assert about["metadata"]["langgraph_node"] == seen.above(run_id)[0]
        reply = seen.ends[run_id]
        assert reply.content == REPLIES[CALLS.index(name)]
        assert reply.usage_metadata["input_tokens"] > 0 and reply.usage_metadata["output_tokens"] > 0
        assert reply.response_metadata["model_name"] == "tiny"
    assert not seen.errors
    assert seen.tokens[calls[1][0]] == ANSWER, "what is written comes token by token"
    ((retrieval, _),) = seen.named("retriever")
    assert seen.starts[retrieval][3] == "What does the plan cost?"
    assert [document.metadata["chunk_id"] for document in seen.ends[retrieval]] == ["1", "2", "3", "4"]
    assert seen.above(retrieval) == ["retrieve", "self-rag"]


def test_langchains_own_counter_of_tokens_counts_them(rag, ollama):
    ollama.script(*REPLIES)
    with get_usage_metadata_callback() as counted:
        rag.graph("self-rag").invoke(QUESTION, context=rag.context())
    assert counted.usage_metadata["tiny"]["output_tokens"] > 0


def test_a_call_that_fails_is_told_as_an_error(rag, ollama):
    ollama.script(error(500, "out of memory"))
    watching = Watching()
    with pytest.raises(EngineError):
        invoked(rag.graph("self-rag"), rag, {"callbacks": [watching]})
    ((run_id, name),) = watching.seen.named("model")
    assert name == "retrieval_grader"
    assert "out of memory" in str(watching.seen.errors[run_id])


def test_an_answer_that_is_stopped_is_told_as_an_error(rag, ollama):
    ollama.script(say(ANSWER, pace=0.05))
    watching = Watching()

    def first_token(_):
        pieces = rag.engine.answer(QUESTION["question"], FakeCorpus().passages, Attempt())
        next(pieces)
        pieces.close()

    RunnableLambda(first_token).invoke(None, {"callbacks": [watching]})
    ((run_id, _),) = watching.seen.named("model")
    assert eventually(lambda: run_id in watching.seen.errors), "the thread that reads notices that nobody reads on"
