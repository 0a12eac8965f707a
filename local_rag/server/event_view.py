"""The events of a question as a client is sent them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from local_rag.core.events import Called, Event, Note, Retrieved, Started, Step, Token, WebQuery
from local_rag.core.verdicts import Graded
from local_rag.index.path_labels import PathLabel
from local_rag.server.answer_view import PassageView, passage_view, shown
from local_rag.text.display import is_url


@dataclass(frozen=True, slots=True)
class Queued:
    """How many questions are before this one."""

    id: str
    position: int


@dataclass(frozen=True, slots=True)
class Begun:
    """The question's turn has come. `thread` is its chat, empty outside of one; a new one is named here."""

    id: str
    thread: str
    graph: str
    question: str


@dataclass(frozen=True, slots=True)
class NodeStarted:
    """A node works, and what it does, for people."""

    node: str
    doing: str


@dataclass(frozen=True, slots=True)
class NodeEnded:
    node: str
    seconds: float


@dataclass(frozen=True, slots=True)
class RetrievedView:
    """The passages that a query brought, best first."""

    query: str
    passages: tuple[PassageView, ...]


@dataclass(frozen=True, slots=True)
class GradedView:
    """A verdict: on a passage (`chunk_id`, `source`), on a draft, or the label of an edge. `score` is in [0, 1]."""

    kind: str
    verdict: str
    why: str
    score: float | None
    chunk_id: str | None
    source: str
    label: str


@dataclass(frozen=True, slots=True)
class CalledView:
    """A call to a language model, and what it cost."""

    role: str
    model: str
    prompt_tokens: int
    output_tokens: int
    seconds: float


@dataclass(frozen=True, slots=True)
class NoteView:
    text: str


@dataclass(frozen=True, slots=True)
class TokenView:
    """A bit of a draft that may still be rejected; with `restart` it begins anew."""

    text: str
    attempt: int
    candidate: int
    restart: bool


@dataclass(frozen=True, slots=True)
class WebQueryView:
    """The exact words for a search engine. `asks`: they leave only after POST questions/{id}/web says so."""

    query: str
    engine: str
    asks: bool


LOADING = "load"
"""The node that works while a model is loaded; no event says that it has ended, but that another one begins."""


@dataclass
class EventViews:
    """Makes names and plain values of the events of one question, but for the last. `label` names files.

    `asks`: somebody is asked before a web query leaves.
    """

    label: PathLabel
    asks: bool
    _loads_since: float | None = None

    def __call__(self, event: Event) -> Iterator[tuple[str, dict[str, Any]]]:
        if self._loads_since is not None and isinstance(event, Started | Step):
            yield "node_ended", shown(NodeEnded(LOADING, time.monotonic() - self._loads_since))
            self._loads_since = None
        if isinstance(event, Started) and event.node == LOADING:
            self._loads_since = time.monotonic()
        if (named := _named(event, self.label, self.asks)) is not None:
            yield named[0], shown(named[1])


def _named(event: Event, label: PathLabel, asks: bool) -> tuple[str, Any] | None:
    match event:
        case Started():
            return "node_started", NodeStarted(event.node, event.doing)
        case Step():
            return "node_ended", NodeEnded(event.node, event.seconds)
        case Retrieved():
            passages = [passage_view(passage, label) for passage in event.documents]
            return "retrieved", {"query": event.query, "passages": passages}
        case Graded():
            named = label(event.source) if event.source and not is_url(event.source) else event.source
            about = (event.score, event.chunk_id, event.source, named)
            return "graded", GradedView(event.kind, event.verdict, event.why, *about)
        case Called():
            call = event.call
            cost = (call.prompt_tokens, call.output_tokens, call.seconds)
            return "called", CalledView(call.role, call.model, *cost)
        case Note():
            return "note", NoteView(event.text)
        case Token():
            return "token", TokenView(event.text, event.attempt, event.candidate, event.restart)
        case WebQuery():
            return "web_query", WebQueryView(event.query, event.engine, asks)
    return None
