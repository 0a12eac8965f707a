"""Stop a run: a person, a closing Rag or a time limit sets one object, which also remembers computed values.

Nodes run on threads that cannot be killed, so long work calls `check()` between two steps. The object is in a context
variable, so that the Engine protocol need not pass it through every signature.
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
"""Seconds between two checks for Ctrl-C, which cannot interrupt a wait without a limit on Windows."""


class Cancel:
    """Stop a run, by `stop()` or at a deadline on the monotonic clock (None for no limit).

    Stopping `outer` stops this one too, as a part of the same work. `memory` keeps values that are computed once during
    this work, such as a question, and ends with it: (owner, key) -> readings, vectors. Engines keep no state between
    questions, and no answer depends on this memory.
    """

    def __init__(self, seconds: float | None = None, outer: Cancel | None = None) -> None:
        self._event = threading.Event()
        self._outer = outer
        self._seconds = seconds
        self.memory: dict[Hashable, Any] = {}
        self.deadline = None if seconds is None else time.monotonic() + seconds

    def restart(self) -> None:
        """Start the time limit anew, because loading a model is no part of answering."""
        if self._seconds is not None:
            self.deadline = time.monotonic() + self._seconds

    def extend(self, seconds: float) -> None:
        """Extend the time limit by time that was not spent on answering, such as loading a model."""
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
        """Return the seconds until the deadline, never negative; None without a deadline."""
        return None if self.deadline is None else max(0.0, self.deadline - time.monotonic())

    def check(self) -> None:
        """Raise if the run was told to stop or is out of time."""
        if self.stopped:
            raise Stopped("stopped")
        if self.expired:
            raise DeadlineExceeded("out of time", hint="allow more time: local-rag ask --seconds 300 …")
        if self._outer is not None:
            self._outer.check()

    def wait(self, seconds: float) -> None:
        """Sleep for `seconds`, but raise at once when stopped, and at the deadline."""
        remaining = self.remaining()
        until = time.monotonic() + (seconds if remaining is None else min(seconds, remaining))
        while not self.stopped and (left := until - time.monotonic()) > 0:
            self._event.wait(left if self._outer is None else min(left, _POLL))
        self.check()


_current: ContextVar[Cancel | None] = ContextVar("local_rag_cancel", default=None)


@contextmanager
def scope(cancel: Cancel) -> Iterator[None]:
    """Let `cancel` stop everything that is called inside the context."""
    token = _current.set(cancel)
    try:
        yield
    finally:
        _current.reset(token)


def current() -> Cancel:
    """Return the run's Cancel, or outside a run a new one that nothing stops."""
    return _current.get() or Cancel()


def check() -> None:
    """Raise if the run was told to stop or is out of time."""
    scope = _current.get()
    if scope is not None:
        scope.check()


def stoppable(work: Callable[[], T], say_stopping: Callable[[], None]) -> T:
    """Return the result of `work()`, which runs on a thread so that Ctrl-C works while it is in a library.

    Ctrl-C calls `say_stopping` at once and waits for the next `check()` of `work`; then KeyboardInterrupt is raised. A
    second Ctrl-C does not wait; the stored data is consistent at every moment.
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
    """Keep the socket of an httpx request, so that another thread can abort the request.

    httpx gets `trace` as the request's extension `trace`.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self.aborted = False

    def abort(self) -> None:
        """End the request, even while it is connecting, and wake the thread that reads from it."""
        with self._lock:
            self.aborted = True
            self._shut()

    def _shut(self) -> None:
        if self._socket is not None:
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)

    def trace(self, event: str, info: Mapping[str, Any]) -> None:
        """Keep the socket as soon as it is connected (the `trace` extension of httpcore)."""
        if event in ("connection.connect_tcp.complete", "connection.start_tls.complete"):
            with self._lock:
                self._socket = info["return_value"].get_extra_info("socket")
                if self.aborted:
                    self._shut()
