"""Questions, tool and retriever in asyncio: the loop goes on, several at once, and a cancelled task stops its work."""

from __future__ import annotations

import asyncio
import threading
from contextlib import aclosing

import pytest
from support.asking import Gated, opened
from support.fakes import FakeCorpus

from local_rag.core import cancel
from local_rag.core.asynchronous import apart
from local_rag.core.errors import Stopped, UsageError
from local_rag.core.events import Done, Token
from local_rag.index.langchain import retriever_of

QUESTION = "What does the plan cost?"


async def until(is_so):
    while not is_so():
        await asyncio.sleep(0.01)


def test_the_answer_and_the_events_are_those_of_ask_and_stream():
    async def asked():
        rag = opened()
        answer = await rag.aask(QUESTION, graph="self-rag", record=False)
        return answer, [event async for event in rag.astream(QUESTION, graph="self-rag", record=False)]

    answer, events = asyncio.run(asked())
    assert (answer.status, answer.text) == ("grounded", "It costs 100 euros [1].")
    assert isinstance(events[-1], Done) and events[-1].answer.text == answer.text
    assert any(isinstance(event, Token) for event in events)


def test_several_are_asked_at_once_while_the_loop_goes_on():
    """All wait at the gate, more of them than a pool of threads has, and then the loop opens it."""
    engine = Gated()
    rag = opened(engine)

    async def asked():
        questions = [asyncio.create_task(rag.aask(QUESTION, graph="plain", record=False)) for _ in range(40)]
        await until(lambda: [call for call, *_ in engine.asked].count("answer") == 40)
        engine.gate.set()
        return await asyncio.gather(*questions)

    assert {answer.text for answer in asyncio.run(asked())} == {"It costs 100 euros [1]."}


async def left_early(rag):
    async with aclosing(rag.astream(QUESTION)) as events:
        async for event in events:
            if isinstance(event, Token):
                return


async def cancelled(rag, asking, working):
    task = asyncio.create_task(asking(rag))
    await until(working.is_set)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def read_to_the_end(rag):
    return [event async for event in rag.astream(QUESTION)]


WAYS = {
    "aask": lambda rag: rag.aask(QUESTION),
    "astream": read_to_the_end,
    "tool": lambda rag: rag.as_tool().ainvoke({"question": QUESTION}),
}


@pytest.mark.parametrize("way", [*WAYS, "closed"])
def test_cancelling_the_task_or_closing_the_stream_stops_the_question_and_its_record_says_so(way):
    engine = Gated()
    with opened(engine) as rag:
        asyncio.run(left_early(rag) if way == "closed" else cancelled(rag, WAYS[way], engine.working))
        assert [run.status for run in rag.history.runs()] == ["stopped"]


def test_errors_are_those_of_ask():
    with pytest.raises(UsageError, match="the question is empty"):
        asyncio.run(opened().aask(" "))
    with pytest.raises(UsageError, match="there is no graph"):
        asyncio.run(anext(opened().astream(QUESTION, graph="raptor")))
    assert asyncio.run(opened().as_tool(graph="raptor").ainvoke({"question": QUESTION})).startswith("error: there is")


def test_a_search_of_the_retriever_is_stopped_with_its_task():
    ended = []

    class Slow(FakeCorpus):
        def search(self, query, k, **options):
            try:
                cancel.current().wait(600)
            except Stopped:
                ended.append("stopped")
                raise
            return []

    async def out_of_time():
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(retriever_of(Slow(), 4).ainvoke(QUESTION), 0.05)

    asyncio.run(out_of_time())
    assert ended == ["stopped"]


@pytest.mark.slow
def test_work_that_looks_at_nothing_is_left_behind():
    free = threading.Event()

    async def out_of_time():
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(apart(lambda: free.wait(600)), 0.01)

    asyncio.run(out_of_time())
    free.set()
