"""Test questions, tool and retriever in asyncio: the loop goes on, several run at once, cancelling a task stops it."""

import asyncio
from contextlib import aclosing

import pytest
from support.asking import Gated, opened
from support.fakes import FakeCorpus

from local_rag.core import cancel
from local_rag.core.errors import Stopped, UsageError
from local_rag.core.events import Done
from local_rag.index.langchain import retriever_of

QUESTION = "What does the plan cost?"


async def until(is_so):
    while not is_so():
        await asyncio.sleep(0.01)


async def read(rag):
    return [event async for event in rag.astream(QUESTION)]


async def left_early(rag, working):
    async with aclosing(rag.astream(QUESTION)) as events:
        async for _ in events:
            if working.is_set():
                return


async def cancelled(asking, working):
    task = asyncio.create_task(asking)
    await until(working.is_set)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_several_are_asked_at_once_while_the_loop_goes_on():
    """Let all wait at the gate, more of them than a pool of threads has, until the loop opens it."""
    engine = Gated()
    rag = opened(engine)

    async def asked():
        questions = [asyncio.create_task(rag.aask(QUESTION, graph="plain", record=False)) for _ in range(40)]
        await until(lambda: [call for call, *_ in engine.asked].count("answer") == 40)
        engine.gate.set()
        return await asyncio.gather(*questions, read(rag))

    *answers, events = asyncio.run(asked())
    assert {answer.text for answer in answers} == {"It costs 100 euros [1]."}
    assert isinstance(events[-1], Done)


WAYS = {
    "aask": lambda rag, working: cancelled(rag.aask(QUESTION), working),
    "astream": lambda rag, working: cancelled(read(rag), working),
    "tool": lambda rag, working: cancelled(rag.as_tool().ainvoke({"question": QUESTION}), working),
    "closed": left_early,
}


@pytest.mark.parametrize("way", WAYS)
def test_cancelling_the_task_or_closing_the_stream_stops_the_question(way):
    engine = Gated()
    with opened(engine) as rag:
        asyncio.run(WAYS[way](rag, engine.working))
        assert [run.status for run in rag.history.runs()] == ["stopped"]


def test_errors_are_those_of_ask():
    for question, options, message in ((" ", {}, "the question is empty"), ("What?", {"graph": "r"}, "no graph 'r'")):
        with pytest.raises(UsageError, match=message):
            asyncio.run(opened().aask(question, **options))


def test_a_search_of_the_retriever_is_stopped_with_its_task():
    ended = []

    class Slow(FakeCorpus):
        def search(self, query, k, **options):
            try:
                cancel.current().wait(600)
            except Stopped as error:
                ended.append(error)
                raise

    async def out_of_time():
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(retriever_of(Slow(), 4).ainvoke(QUESTION), 0.05)

    asyncio.run(out_of_time())
    assert ended
