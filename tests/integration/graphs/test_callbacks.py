"""Callbacks of the calling program see each model call and each retrieval; nothing else switches anything on."""

import asyncio

import pytest
from langchain_core.callbacks import AsyncCallbackHandler, BaseCallbackHandler
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


EVENTS = "chain_start chat_model_start retriever_start llm_new_token llm_end retriever_end llm_error".split()


def noting(event, wait):
    """Return a callback, or one to wait for, that keeps what it is told."""

    def note(self, *given, run_id, **about):
        self.told.append((event, run_id, given, about))

    async def note_at_once(self, *given, **about):
        note(self, *given, **about)

    return note_at_once if wait else note


class Watching(BaseCallbackHandler):
    """Keep what callbacks are told, each as (event, run, what is given by its place, what is given by its name)."""

    def __init__(self):
        self.told = []

    for event in EVENTS:
        vars()[f"on_{event}"] = noting(event, wait=False)

    def all(self, event, run=None):
        return [each for each in self.told if each[0] == event and run in (None, each[1])]

    def around(self, run):
        """Return the names of the runs around a run, the innermost first."""
        parents = {each[1]: each[3] for each in self.told if each[0].endswith("_start")}
        while (run := parents[run]["parent_run_id"]) in parents:
            yield parents[run]["name"]


class AsyncWatching(AsyncCallbackHandler, Watching):
    for event in EVENTS:
        vars()[f"on_{event}"] = noting(event, wait=True)


@pytest.fixture
def rag(ollama):
    with engine_on(ollama) as engine:
        yield opened(engine)


WAYS = {
    "invoke": lambda app, config: app.invoke(QUESTION, config),
    "ainvoke": lambda app, config: asyncio.run(app.ainvoke(QUESTION, config)),
    "stream": lambda app, config: list(app.stream(QUESTION, config, stream_mode="values"))[-1],
}


@pytest.mark.parametrize("handler", [Watching, AsyncWatching])
@pytest.mark.parametrize("way", WAYS)
def test_the_callbacks_of_the_host_see_every_call(rag, ollama, way, handler):
    ollama.script(*REPLIES)
    watching = handler()
    result = WAYS[way](rag.graph("self-rag"), {"callbacks": [watching]})
    assert result["generation"] == ANSWER
    calls = watching.all("chat_model_start")
    assert [about["name"] for *_, about in calls] == CALLS
    nodes = ("grade_documents", "generate", "grade_generation")
    for reply, node, (_, run, (_, (messages,)), about) in zip(REPLIES, nodes, calls, strict=True):
        assert [*watching.around(run)] == [node, "self-rag"]
        assert [message.type for message in messages] == ["system", "human"]
        assert "What does the plan cost?" in messages[1].content
        assert about["metadata"]["ls_model_name"] == "tiny"
        assert about["metadata"]["prompt"] and about["metadata"]["retry"] is False
        assert about["metadata"]["langgraph_node"] == node
        ((*_, (ended,), _),) = watching.all("llm_end", run)
        said = ended.generations[0][0].message
        assert said.content == reply
        assert said.usage_metadata["input_tokens"] > 0 and said.usage_metadata["output_tokens"] > 0
        assert said.response_metadata["model_name"] == "tiny"
    assert not watching.all("llm_error")
    tokens = "".join(about["token"] for *_, about in watching.all("llm_new_token", calls[1][1]))
    assert tokens == ANSWER, "what is written comes token by token"
    ((_, retrieval, (_, query), _),) = watching.all("retriever_start")
    assert query == "What does the plan cost?"
    ((*_, (documents,), _),) = watching.all("retriever_end", retrieval)
    assert [document.metadata["chunk_id"] for document in documents] == ["1", "2", "3", "4"]
    assert [*watching.around(retrieval)] == ["retrieve", "self-rag"]


def test_a_call_that_fails_is_told_as_an_error(rag, ollama):
    ollama.script(error(500, "out of memory"))
    watching = Watching()
    with pytest.raises(EngineError):
        rag.graph("self-rag").invoke(QUESTION, {"callbacks": [watching]})
    ((_, run, _, about),) = watching.all("chat_model_start")
    ((*_, (failure,), _),) = watching.all("llm_error", run)
    assert about["name"] == "retrieval_grader" and "out of memory" in str(failure)


def test_an_answer_that_is_stopped_is_told_as_an_error(rag, ollama):
    ollama.script(say(ANSWER, pace=0.05))
    watching = Watching()

    def first_token(_):
        pieces = rag.engine.answer(QUESTION["question"], FakeCorpus().passages, Attempt())
        next(pieces)
        pieces.close()

    RunnableLambda(first_token).invoke(None, {"callbacks": [watching]})
    ((_, run, *_),) = watching.all("chat_model_start")
    assert eventually(lambda: watching.all("llm_error", run)), "the thread that reads notices that nobody reads on"
