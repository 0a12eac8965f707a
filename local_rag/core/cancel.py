"""Stopping a run: one object that a person, a closing Rag and the clock can all set; it remembers what was computed.

Nodes run on threads that cannot be killed, so whoever works long asks `check()` between two steps. The scope is a
context variable, so that the Engine protocol need not carry it through every signature.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar, copy_context
from typing import Any, TypeVar

from local_rag.core.errors import DeadlineExceeded, Stopped

T = TypeVar("T")

_POLL = 0.1
"""Seconds between two looks for Ctrl-C, which cannot interrupt a wait without end on Windows."""


class Cancel:
    """Set once, by `stop()` or by the clock. `deadline` is on the monotonic clock, None for no limit.

    What stops `outer` stops this one as well: it is a part of the same work. `memory` has what is computed once while
    this work is done, a question for one, and is dropped with it: (who keeps it, what it is) -> readings, vectors.
    Engines keep no state between questions, and no answer depends on it.
    """

    def __init__(self, seconds: float | None = None, outer: Cancel | None = None) -> None:
        self._event = threading.Event()
        self._outer = outer
        self._seconds = seconds
        self.memory: dict[Hashable, Any] = {}
        self.deadline = None if seconds is None else time.monotonic() + seconds

    def restart(self) -> None:
        """Let the clock start now: loading a model is no part of answering."""
        if self._seconds is not None:
            self.deadline = time.monotonic() + self._seconds

    def extend(self, seconds: float) -> None:
        """Give back time that was not spent on answering, such as loading a model."""
        if self.deadline is not None:
            self.deadline += seconds

    def stop(self) -> None:
        self._event.set()

    @property
    def stopped(self) -> bool:
        return self._event.is_set() or (self._outer is not None and self._outer.stopped)

    @property
    def expired(self) -> bool:
        return self.deadline is not None and time.monotonic() >= self.deadline

    def remaining(self) -> float | None:
        """Seconds until the deadline, never negative; None without one."""
        return None if self.deadline is None else max(0.0, self.deadline - time.monotonic())

    def check(self) -> None:
        """Raise `Stopped` once told to stop, `DeadlineExceeded` once the time is up."""
        if self.stopped:
            raise Stopped("stopped")
        if self.expired:
            raise DeadlineExceeded("out of time", hint="allow more time: local-rag ask --seconds 300 …")
        if self._outer is not None:
            self._outer.check()

    def wait(self, seconds: float) -> None:
        """Sleep, but end at once when stopped, and no later than the deadline."""
        remaining = self.remaining()
        until = time.monotonic() + (seconds if remaining is None else min(seconds, remaining))
        while not self.stopped and (left := until - time.monotonic()) > 0:
            self._event.wait(left if self._outer is None else min(left, _POLL))
        self.check()


_current: ContextVar[Cancel | None] = ContextVar("local_rag_cancel", default=None)


@contextmanager
def scope(cancel: Cancel) -> Iterator[None]:
    """Everything called inside can be stopped by `cancel`."""
    token = _current.set(cancel)
    try:
        yield
    finally:
        _current.reset(token)


def current() -> Cancel:
    """The run's Cancel, or one that never fires outside a run."""
    return _current.get() or Cancel()


def check() -> None:
    """Raise if the run was told to stop or is out of time."""
    scope = _current.get()
    if scope is not None:
        scope.check()


def stoppable(work: Callable[[], T], say_stopping: Callable[[], None]) -> T:
    """What `work()` returns: it runs on a thread of its own, so that Ctrl-C is heard while it is deep in a library.

    Ctrl-C calls `say_stopping` at once, and `work` is waited for until its next `check()`; the KeyboardInterrupt is
    raised then. A second one waits no more: what is stored is whole at every moment.
    """
    stop, results, errors = Cancel(outer=_current.get()), list[T](), list[BaseException]()

    def run() -> None:
        try:
            with scope(stop):
                results.append(work())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=copy_context().run, args=(run,), name="local-rag-work", daemon=True)
    try:
        thread.start()
        _join(thread)
    except KeyboardInterrupt:
        stop.stop()
        say_stopping()
        _join(thread)
        raise
    if errors:
        raise errors[0]
    return results[0]


def _join(thread: threading.Thread) -> None:
    while thread.is_alive():
        thread.join(_POLL)


class Connection:
    """Takes the socket of a request of httpx, whose extension `trace` is `trace`."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self.aborted = False

    def abort(self) -> None:
        """End the request, also one whose connection is only being made, and wake whoever is reading."""
        with self._lock:
            self.aborted = True
            self._shut()

    def _shut(self) -> None:
        if self._socket is not None:
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)

    def trace(self, event: str, info: Mapping[str, Any]) -> None:
        """Take the socket as soon as it is connected (the `trace` extension of httpcore)."""
        if event in ("connection.connect_tcp.complete", "connection.start_tls.complete"):
            with self._lock:
                self._socket = info["return_value"].get_extra_info("socket")
                if self.aborted:
                    self._shut()
