"""Calls to Ollama end when they are told to, wherever they are, and take turns."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from support.ollama_engine import QUESTION, YES, answered, engine_on, labels, passages
from support.ollama_server import say, slow, stall

from local_rag.core import cancel
from local_rag.core.errors import EngineError, Stopped
from local_rag.core.protocols import Attempt
from local_rag.engines import calls


def threads():
    return [thread for thread in threading.enumerate() if thread.name.startswith("local-rag")]


def wait_for_threads(seconds=60):
    until = time.monotonic() + seconds
    while threads() and time.monotonic() < until:
        time.sleep(0.01)
    assert threads() == []


@contextmanager
def stopping(after):
    """The run is told to stop once `after` has returned."""
    stopped = cancel.Cancel()

    def stop():
        after()
        stopped.stop()

    thread = threading.Thread(target=stop)
    with cancel.scope(stopped):
        thread.start()
        with pytest.raises(Stopped):
            yield
        thread.join()


SILENT = {
    "before the first byte": slow(600, YES),
    "in the middle": stall(3, 600),
    "while it writes": say("a " * 9999, pace=0.05),
}


def grading(engine):
    return engine.relevance(QUESTION, passages())


every_silence = pytest.mark.parametrize(
    ("ask", "reply"), [(grading, SILENT["in the middle"]), *((answered, reply) for reply in SILENT.values())]
)


@every_silence
def test_a_call_that_is_stopped_is_aborted(ollama, engine, reply, ask):
    ollama.script(reply)
    with stopping(after=lambda: ollama.wait_for(1)):
        ask(engine)
    ollama.wait_idle()
    assert ollama.requests[-1].aborted
    assert len(ollama.chats) == 1
    assert labels(engine.relevance(QUESTION, passages())) == ["relevant", "relevant"], "it can be asked again"


def test_an_answer_that_nobody_reads_on_is_aborted(ollama, engine):
    ollama.script(say("a " * 999, pace=0.02))
    pieces = engine.answer(QUESTION, passages(), Attempt())
    assert next(pieces).text == "a"
    pieces.close()
    ollama.wait_idle()
    assert ollama.requests[-1].aborted
    assert answered(engine)[1]


@every_silence
def test_closing_the_engine_hangs_up_and_asks_no_more(ollama, engine, reply, ask):
    ollama.script(reply)
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(ask, engine)
        ollama.wait_for(1)
        engine.close()
        with pytest.raises(EngineError, match="the engine was closed"):
            running.result()
        ollama.wait_idle()
        assert ollama.requests[-1].aborted
        assert len(ollama.chats) == 1
        with pytest.raises(EngineError, match="the engine was closed"):
            ask(engine)
        engine.prepare()
    wait_for_threads()
    assert len(ollama.chats) + len(ollama.preloads) == 1


def test_closing_the_engine_ends_calls_that_wait_for_their_turn(ollama, engine):
    ollama.script(stall(1, 600))
    with ThreadPoolExecutor(3) as pool:
        running = [pool.submit(engine.relevance, QUESTION, passages()) for _ in range(3)]
        ollama.wait_for(1)
        engine.close()
        for one in running:
            with pytest.raises(EngineError, match="the engine was closed"):
                one.result()
    wait_for_threads()
    assert len(ollama.chats) == 1


def test_closing_the_engine_while_it_loads_a_model(ollama):
    for pause in (0, 0.002, 0.01):
        with engine_on(ollama) as engine:
            engine.prepare()
            time.sleep(pause)
    wait_for_threads()
    ollama.instead = {"/api/chat": slow(600, "")}
    with engine_on(ollama) as engine:
        engine.prepare()
        while ollama.requests[-1].path != "/api/chat":
            time.sleep(0.005)
    wait_for_threads()
    ollama.wait_idle()
    assert ollama.requests[-1].aborted


# --- two at once ------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_question_waits_for_another_and_that_is_no_silence_of_the_server(ollama, monkeypatch):
    monkeypatch.setattr(calls, "READING", 1e6)
    ollama.script(say("It takes its time.", pace=0.4), "At last.")
    with engine_on(ollama, idle_seconds=1.5, load_seconds=1.5) as engine, ThreadPoolExecutor(2) as pool:
        first = pool.submit(answered, engine)
        ollama.wait_for(1)
        second = pool.submit(answered, engine)
        assert (first.result()[1], second.result()[1]) == ("It takes its time.", "At last.")
    came = [request.at for request in ollama.requests if request.path == "/api/chat"]
    assert came[1] - came[0] > 1.5, "it waits here and not there"


def test_a_question_that_waits_can_be_stopped(ollama, engine):
    ollama.script(stall(1, 600))
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(engine.relevance, QUESTION, passages())
        ollama.wait_for(1)
        with stopping(after=lambda: time.sleep(0.1)):
            answered(engine)
        assert len(ollama.chats) == 1
        assert not first.done()
        engine.close()
        with pytest.raises(EngineError):
            first.result()
