"""Questions: asked, queued, stopped, and allowed to search the web."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from pydantic import Field

from local_rag.config.values import EngineName, GraphName
from local_rag.core.errors import LocalRagError, Stopped
from local_rag.core.events import Done, Event, WebQuery
from local_rag.core.narrowing import Narrowing
from local_rag.runtime.kept import thread_name
from local_rag.runtime.question import LONGEST_QUESTION, check_question
from local_rag.server import event_view
from local_rag.server.answer_view import AnswerView, answer_view, shown
from local_rag.server.endpoints import Caller, Endpoint, Nothing, Request
from local_rag.server.event_view import Begun, NodeEnded, NodeStarted, Queued
from local_rag.server.place import check_model
from local_rag.server.questions import Question
from local_rag.server.sse import Events

if TYPE_CHECKING:
    from collections.abc import Generator

    from local_rag.server.place import Place

OPENING = "open"
"""What works, as a node does, before the first one: the index and the models are opened, once."""


class Ask(Request):
    """A question. What is left out is as the settings have it; `within`, dates, types and authors narrow it to files.

    `thread`: left out, the question is in no thread; "", it begins one that is named after it; else it goes on there.
    `web`: whether a page may ask its person to let words leave; a program's question never searches the web.
    """

    question: str = Field(max_length=4 * LONGEST_QUESTION)
    index: str | list[str] | None = None
    graph: GraphName | None = None
    within: tuple[str, ...] = ()
    after: str = ""
    before: str = ""
    types: tuple[str, ...] = ()
    authors: tuple[str, ...] = ()
    web: bool | None = None
    k: int | None = Field(None, ge=1, le=100)
    thread: str | None = None
    engine: EngineName | None = None
    model: str | None = None
    caller: Caller


class Named(Request):
    """A question by its ID."""

    id: str


class Consent(Request):
    """Whether the words that were shown, `query` of the event, may leave."""

    id: str
    send: bool
    query: str


@dataclass(frozen=True, slots=True)
class QuestionState:
    """A question that runs (`position` 0) or waits."""

    id: str
    position: int
    question: str
    thread: str
    graph: str


@dataclass(frozen=True, slots=True)
class Queue:
    questions: Sequence[QuestionState]


@dataclass(frozen=True, slots=True)
class Confirmed:
    """What was asked for is done."""

    done: bool = True


def ask(place: Place, request: Ask) -> Events:
    """Enter a question into the queue; everything else happens as its events are read."""
    check_question(request.question)
    check_model(place.settings_of(request.index, **_settings(place, request)), request.model)
    narrowing = Narrowing(request.within, request.after, request.before, request.types, request.authors)
    question = Question(
        request.question.strip(),
        request.caller,
        thread_name(request.thread) if request.thread else "",
        request.graph or place.settings.values.graph,
    )
    place.questions.enter(question)
    return Events(_events(place, request, question, narrowing), partial(place.questions.stop, question))


def _events(place: Place, request: Ask, question: Question, narrowing: Narrowing) -> Iterator[tuple[str, Any]]:
    """The events of a question from its place in the queue to its answer.

    One that is stopped, or left by its client, is remembered for its thread; the next question may begin in any case.
    """
    try:
        for position in place.questions.turn(question):
            yield "queued", Queued(question.id, position)
        if request.thread == "":
            question.thread = place.history.fresh(question.text)
        place.questions.forget_stopped(question.thread)
        yield "begun", shown(Begun(question.id, question.thread, question.graph, question.text))
        yield from _answered(place, request, question, narrowing)
    except (GeneratorExit, Stopped) as error:
        if type(error) is not GeneratorExit and type(error) is not Stopped:  # out of time
            raise
        if question.thread and not question.answered:
            place.questions.remember_stopped(question.thread, question.text)
        raise
    finally:
        place.questions.leave(question)


def _answered(place: Place, request: Ask, question: Question, narrowing: Narrowing) -> Iterator[tuple[str, Any]]:
    began = time.monotonic()
    yield "node_started", NodeStarted(OPENING, "opening the index")
    with ExitStack() as using:
        rag = using.enter_context(place.using(request.index, **_settings(place, request)))
        yield "node_ended", NodeEnded(OPENING, time.monotonic() - began)
        label = rag.index.path_labels()
        stream = rag.stream(
            question.text,
            graph=question.graph,
            k=request.k,
            within=narrowing,
            thread=question.thread or None,
            may_search=question.may_search,
            cancel=question.cancel,
        )
        asks = request.caller == "cookie"
        views = event_view.EventViews(label, asks)
        events = using.enter_context(closing(cast("Generator[Event]", stream)))
        for event in events:
            if isinstance(event, Done):
                question.answered = True
                yield "answer", answer_view(event.answer, label, turn=_turn(place, question.thread))
                return
            if isinstance(event, WebQuery) and asks:
                question.proposed(event)
            yield from views(event)


def _turn(place: Place, thread: str) -> int:
    """The number of the last turn of a thread; 0 where it has none, because time ran out before the first answer."""
    try:
        return place.history.thread(thread).turns if thread else 0
    except LocalRagError:
        return 0


def _settings(place: Place, request: Ask) -> dict[str, Any]:
    """What the question sets besides the index. The web is off for a program, whatever the settings say."""
    configured = place.settings.values.web.enabled != "off"
    wanted = request.caller == "cookie" and (configured if request.web is None else request.web)
    web = None if wanted == configured else "ask" if wanted else "off"
    given = {"engine": request.engine, "model": request.model or None, "web__enabled": web}
    return {name: value for name, value in given.items() if value is not None}


def queue(place: Place, request: Nothing) -> Any:
    states = [
        QuestionState(question.id, position, question.text, question.thread, question.graph)
        for position, question in place.questions.positions()
    ]
    return shown(Queue(states))


def stop(place: Place, request: Named) -> Confirmed:
    place.questions.stop(place.questions.get(request.id))
    return Confirmed()


def consent(place: Place, request: Consent) -> Confirmed:
    place.questions.get(request.id).consent(request.send, request.query)
    return Confirmed()


ENDPOINTS = (
    Endpoint(
        "POST",
        "/api/ask",
        ask,
        Ask,
        Events,
        "both",
        "ask a question: its events as they happen, the answer last; leaving the stream stops it",
        {
            "queued": Queued,
            "begun": Begun,
            "node_started": NodeStarted,
            "node_ended": NodeEnded,
            "retrieved": event_view.RetrievedView,
            "graded": event_view.GradedView,
            "called": event_view.CalledView,
            "note": event_view.NoteView,
            "token": event_view.TokenView,
            "web_query": event_view.WebQueryView,
            "answer": AnswerView,
        },
    ),
    Endpoint("GET", "/api/questions", queue, Nothing, Queue, "both", "the question that runs, and those that wait"),
    Endpoint("POST", "/api/questions/{id}/stop", stop, Named, Confirmed, "both", "stop a question"),
    Endpoint(
        "POST",
        "/api/questions/{id}/web",
        consent,
        Consent,
        Confirmed,
        "session",
        "let the words of a web query leave, or not",
    ),
)
