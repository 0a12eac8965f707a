"""Stopping a run: one object that a person, a closing Rag and the clock can all set.

Nodes run on threads that cannot be killed, so whoever works long asks `check()` between two steps. The scope is a
context variable, so that the Engine protocol need not carry it through every signature.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from local_rag.core.errors import DeadlineExceeded, Stopped


class Cancel:
    """Set once, by `stop()` or by the clock. `deadline` is on the monotonic clock, None for no limit."""

    def __init__(self, seconds: float | None = None) -> None:
        self._event = threading.Event()
        self._seconds = seconds
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
        return self._event.is_set()

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

    def wait(self, seconds: float) -> None:
        """Sleep, but end at once when stopped, and no later than the deadline."""
        remaining = self.remaining()
        self._event.wait(seconds if remaining is None else min(seconds, remaining))
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
    current().check()
