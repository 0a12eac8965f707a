"""Test Rag with scripted parts: events, answers, threads, stopping, and the host's tracing state."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langsmith import tracing_context
from langsmith.run_helpers import get_tracing_context
from support.asking import Gated, opened
from support.fakes import FakeCorpus, FakeWeb, ScriptedEngine, ScriptedEvaluator, during, passage
from support.graph_runs import ids

from local_rag.core.errors import EngineError, ModelChanged, Stopped, UsageError
from local_rag.core.events import Done, Retrieved, Started, Step, Token
from local_rag.core.verdicts import Graded
from local_rag.graphs import GRAPHS
from local_rag.index.joint import JointIndex
from local_rag.runtime.engine_choice import Choice
from local_rag.runtime.rag import Rag

LONG = 60
"""Seconds that no test reaches unless something hangs."""


def asked_with(evaluator):
    return list(opened(evaluator=evaluator).stream("What does the plan cost?", graph="self-rag"))


@pytest.mark.parametrize("error", [ModelChanged("it cannot be loaded"), EngineError("it cannot compute")])
def test_an_answer_stands_whatever_is_amiss_with_the_evaluator(error):
    *_, done = asked_with(ScriptedEvaluator(error=error))
    assert done.answer.status == "grounded" and done.answer.text and done.answer.highlights == ()


def test_events_come_in_order_and_the_answer_last():
    events = list(opened().stream("What does the plan cost?", graph="self-rag"))
    assert isinstance(events[-1], Done)
    kinds = [(type(event), getattr(event, "node", getattr(event, "kind", ""))) for event in events]
    assert kinds[0][0] in (Started, Step)
    steps = [event.node for event in events if isinstance(event, Step)]
    assert steps == ["begin", "retrieve", "grade_documents", "generate", "grade_generation", "finish"]
    assert all(event.seconds >= 0 for event in events if isinstance(event, Step))
    assert "grading 4 passages" in [event.doing for event in events if isinstance(event, Started)]
    assert "".join(event.text for event in events if isinstance(event, Token)).strip() == "It costs 100 euros [1]."
    graded = [(event.kind, event.verdict) for event in events if isinstance(event, Graded)]
    assert graded == [
        *[("relevance", "relevant")] * 4,
        ("grade_documents", "generate"),
        ("support", "fully"),
        ("usefulness", "5"),
        ("grade_generation", "useful"),
    ]


@pytest.mark.parametrize("graph", GRAPHS)
def test_ask_and_a_graph_give_the_same_answer(graph):
    """Lower the status in both ways alike: here OCR was unsure of the quoted line."""
    rag = opened(corpus=FakeCorpus([passage(1, ocr=[(0, 99, 0.5)])]))
    asked = rag.ask("What does the plan cost?", graph=graph)
    invoked = rag.graph(graph).invoke({"question": "What does the plan cost?"})["answer"]
    assert (asked.status, asked.certainty, asked.citations[0].ocr) == ("partial", "probably", 0.5)
    assert replace(asked, seconds=0) == replace(invoked, seconds=0) and str(asked) == asked.text


def test_every_passage_that_a_query_brings_is_an_event():
    rag = opened(ScriptedEngine(relevant=["n", "y"]), web__enabled="on")
    rag.web = FakeWeb()
    first, second = (one for one in rag.stream("What does it cost?", graph="crag") if isinstance(one, Retrieved))
    assert (first.query, ids(first.documents)) == ("What does it cost?", ["1", "2", "3", "4"])
    assert (second.query, ids(second.documents)) == ("What does it cost? 1", ["90"])


def test_the_clock_ends_a_question_with_a_marked_answer():
    answer = opened(Gated(), limits__seconds=0.5).ask("What?")
    assert (answer.status, answer.path[-2:]) == ("abstained", ("give_up", "finish"))
    assert "out of time after 0.5 s" in answer.reason


def test_the_clock_starts_when_the_first_event_is_asked_for(monkeypatch):
    now, later = time.monotonic, 0.0
    monkeypatch.setattr(time, "monotonic", lambda: now() + later)
    events = opened(limits__seconds=900).stream("What does the plan cost?")
    later = 1000.0
    assert [event.answer.status for event in events if isinstance(event, Done)] == ["grounded"]


def test_an_engine_that_never_looks_up_is_left_behind():
    awake = threading.Event()
    stream = opened(during("relevance", lambda: awake.wait(LONG))).stream("What?")
    while not (isinstance(event := next(stream), Started) and event.node == "grade_documents"):
        pass
    stream.close()
    assert not awake.is_set(), "closing waited for the engine"
    awake.set()


def test_closing_rag_stops_what_is_running():
    engine = Gated()
    rag = opened(engine)
    with ThreadPoolExecutor() as pool:
        asked = pool.submit(rag.ask, "What?")
        assert engine.working.wait(LONG)
        rag.close()
        assert isinstance(asked.exception(LONG), Stopped)
    assert ("close",) in engine.asked


@pytest.mark.parametrize("enabled", [True, False, None])
def test_the_hosts_tracing_state_is_left_alone_and_never_used(enabled, monkeypatch):
    monkeypatch.setenv("LANGSMITH_TRACING", "true")
    monkeypatch.setenv("LANGCHAIN_TRACING_V2", "true")
    monkeypatch.setenv("LANGSMITH_API_KEY", "not-a-key")
    seen = []
    rag = opened(during("relevance", lambda: seen.append(get_tracing_context()["enabled"])))
    with tracing_context(enabled=enabled, project_name="host"):
        before = get_tracing_context()
        first, second = rag.stream("What?"), rag.stream("And what?")
        next(first)
        next(second)
        assert get_tracing_context() == before, "between two events"
        first.close()
        list(second)
        assert get_tracing_context() == before
    assert set(seen) == {False}


@pytest.mark.parametrize(
    ("grade", "draft", "status", "certainty"),
    [
        (("fully", 5), "It costs 100 euros [1].", "grounded", "sure"),
        (("fully", 5), "It costs 100 euros [1]. So it has been for long.", "partial", "probably"),
        (("fully", 3), "It costs 100 euros [1].", "partial", "in doubt"),
        (("partially", 5), "It costs 100 euros [1].", "partial", "in doubt"),
        (("fully", 5), "The passages do not contain the answer.", "abstained", ""),
    ],
)
def test_an_answer_says_how_far_to_rely_on_it(grade, draft, status, certainty):
    rag = opened(ScriptedEngine(grades=[grade], drafts=[draft]), limits__generations=1, limits__rewrites=0)
    answer = rag.ask("What does the plan cost?")
    assert (answer.status, answer.certainty) == (status, certainty)


@pytest.mark.parametrize(
    ("question", "lacks"),
    [
        ("What does the plan cost?", ()),
        ("What does the plan of Borealis cost in 2031?", ("2031", "borealis")),
        ("Was kostet der Plan von Borealis?", ()),
    ],
)
def test_a_model_that_answers_from_passages_about_something_else_is_warned_of(question, lacks):
    assert opened(ScriptedEngine()).ask(question).lacks == lacks


def test_a_program_has_a_graph_of_its_own_for_each_of_its_savers():
    """Use several savers in turn, because two may have the same address in memory."""
    with opened() as rag:
        config = {"configurable": {"thread_id": "a"}}
        for _ in range(3):
            app = rag.graph("plain", checkpointer=InMemorySaver())
            assert app.get_state(config).values == {}
            app.invoke({"question": "What does it cost?"}, config)
        assert rag.graph("plain") is rag.graph("plain")


def test_a_part_that_cannot_be_closed_keeps_no_other_open():
    class Stuck(ScriptedEngine):
        def close(self):
            raise OSError("stuck")

    index, closed = JointIndex({}), []
    index.close = lambda: closed.append(index)
    with pytest.raises(OSError, match="stuck"):
        opened(Stuck(), index).close()
    assert closed


def test_what_was_opened_is_closed_where_opening_fails(monkeypatch):
    """Fail after the engine, the last of the parts that are opened by name."""
    engine = ScriptedEngine()
    monkeypatch.setattr("local_rag.runtime.engine_choice.choose_engine", lambda *_: Choice(engine))
    with pytest.raises(UsageError, match="never go to the web"):
        Rag.open(corpus=FakeCorpus(), web__enabled="on", web__never=["letters"])
    assert ("close",) in engine.asked
