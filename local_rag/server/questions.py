"""The questions of a server: one runs, the others wait in the order in which they came."""

from __future__ import annotations

import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from local_rag.core import cancel as cancellation
from local_rag.core.cancel import Cancel
from local_rag.server.endpoints import Caller
from local_rag.server.errors import ApiError, NotFound

if TYPE_CHECKING:
    from local_rag.core.events import WebQuery

CONSENT_SECONDS = 300.0
"""How long a person may think about a web query; then it does not leave."""
POLL = 0.2
"""Seconds between two looks whether a question that waits for a consent was stopped."""
REMEMBERED = 200
"""Threads of which the question that was stopped last is remembered."""


@dataclass(eq=False)
class Question:
    """A question from its entry into the queue to its end. `thread` is its chat, empty outside of one."""

    text: str
    caller: Caller
    thread: str = ""
    graph: str = ""
    id: str = field(default_factory=lambda: secrets.token_hex(8))
    cancel: Cancel = field(default_factory=Cancel)
    begun: bool = False
    answered: bool = False
    _consent: _Consent | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def may_search(self, query: WebQuery) -> bool:
        """Whether a person lets these words leave. Never for a program; waits, off the question's clock, else."""
        if self.caller == "key":
            return False
        consent, began = self.proposed(query), time.monotonic()
        while not (consent.given.wait(POLL) or self.cancel.stopped or time.monotonic() - began > CONSENT_SECONDS):
            pass
        with self._lock:
            self._consent = None
        cancellation.current().extend(time.monotonic() - began)
        return consent.send

    def proposed(self, query: WebQuery) -> _Consent:
        """The consent that these words wait for: the event of a query may be seen before or after it is asked for."""
        with self._lock:
            if self._consent is None or self._consent.query != query:
                self._consent = _Consent(query)
            return self._consent

    def consent(self, send: bool, query: str) -> None:
        """What the person says of the words that were shown. Raises ApiError where none, or others, wait for it."""
        with self._lock:
            if self._consent is None or self._consent.given.is_set():
                raise ApiError(409, "conflict", "no web query waits for a consent", "ask the question again")
            if query != self._consent.query.query:
                raise ApiError(409, "conflict", "other words wait for a consent now", "look at the words again")
            self._consent.send = send
            self._consent.given.set()


@dataclass
class _Consent:
    query: WebQuery
    send: bool = False
    given: threading.Event = field(default_factory=threading.Event)


class Questions:
    """The queue: at most `waiting` questions behind the one that runs. Serves several threads."""

    def __init__(self, waiting: int) -> None:
        self._waiting = waiting
        self._queue: list[Question] = []
        self._stopped: OrderedDict[str, str] = OrderedDict()
        self._changed = threading.Condition()

    def enter(self, question: Question) -> None:
        """Put a question at the end. Raises ApiError where too many wait."""
        with self._changed:
            if len(self._queue) > self._waiting:
                raise ApiError(
                    429, "busy", f"{self._waiting} questions are waiting already", "ask again when one has ended"
                )
            self._queue.append(question)

    def turn(self, question: Question) -> Iterator[int]:
        """How many questions are before this one, each time that changes, until none is. Raises Stopped."""
        before = -1

        def has_changed() -> bool:
            return question.cancel.stopped or self._before(question) != before

        while before:
            with self._changed:
                self._changed.wait_for(has_changed)
                question.cancel.check()
                before = self._before(question)
                question.begun = before == 0
            if before:
                yield before

    def leave(self, question: Question) -> None:
        """Take a question out, and let the next one begin."""
        with self._changed:
            if question in self._queue:
                self._queue.remove(question)
                self._changed.notify_all()

    def stop(self, question: Question) -> None:
        """Stop a question, wherever it stands. One that has begun leaves the queue when it has ended."""
        question.cancel.stop()
        with self._changed:
            if not question.begun and question in self._queue:
                self._queue.remove(question)
            self._changed.notify_all()

    def get(self, id_: str) -> Question:
        """The question of that ID that waits or runs. Raises NotFound."""
        for question in self.queue():
            if question.id == id_:
                return question
        raise NotFound("this question has ended, or was never asked here")

    def queue(self) -> Sequence[Question]:
        """The question that runs, and those that wait, in their order."""
        with self._changed:
            return [*self._queue]

    def positions(self) -> Sequence[tuple[int, Question]]:
        """How many are before each question."""
        with self._changed:
            return [(self._before(question), question) for question in self._queue]

    def _before(self, question: Question) -> int:
        return self._queue.index(question)

    def asked_in(self, thread: str) -> str | None:
        """The question of this thread that runs or waits; None where none does."""
        return next((question.text for question in self.queue() if question.thread == thread), None)

    def remember_stopped(self, thread: str, text: str) -> None:
        """That this question of a thread was stopped."""
        with self._changed:
            self._stopped[thread] = text
            self._stopped.move_to_end(thread)
            while len(self._stopped) > REMEMBERED:
                self._stopped.popitem(last=False)

    def forget_stopped(self, thread: str, renamed: str = "") -> None:
        """That a thread has gone on, is gone, or has another name."""
        with self._changed:
            text = self._stopped.pop(thread, None)
            if text is not None and renamed:
                self._stopped[renamed] = text

    @property
    def stopped(self) -> dict[str, str]:
        """The question that was stopped last, by thread, where nothing was answered since."""
        with self._changed:
            return dict(self._stopped)
