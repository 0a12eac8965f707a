"""Bringing an index up to date for a page: one job at a time, told as it goes, ended when nobody listens."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from local_rag.core import cancel
from local_rag.core.cancel import Cancel
from local_rag.core.progress import Display, ShowProgress
from local_rag.server.errors import ApiError
from local_rag.server.shelf import shown
from local_rag.server.sse import Events

if TYPE_CHECKING:
    from local_rag.server.place import Place

Event = tuple[str, Any]


@dataclass(frozen=True, slots=True)
class How:
    """How far a job is: `share` in [0, 1], None where that is not known, and a line for people."""

    share: float | None
    line: str


@dataclass(frozen=True, slots=True)
class Note:
    """A line that stays."""

    text: str


OFTEN = 0.1
"""Seconds between two lines of progress; those in between are left out."""


def indexing_of(place: Place) -> Indexing:
    """That of the place."""
    return place.kept("indexing", Indexing)


class Indexing:
    """The job that writes to an index, if there is one. Serves several threads; close it."""

    def __init__(self) -> None:
        self._writing = threading.Lock()
        self._job: _Job | None = None

    @property
    def how(self) -> How | None:
        """How far the running job is; None where none runs."""
        job = self._job
        return job.display.latest if job else None

    def events(self, work: Callable[[Display], Any]) -> Events:
        """Begin work that tells a display how far it is: `progress`, `note`, and its result as `report`.

        Raises ApiError while another job runs. The job ends soon after `stop` of the events.
        """
        self._begin()
        self._job = job = _Job(work, self._end)
        try:
            job.start()
        except BaseException:  # no thread can be started: another job may
            self._end()
            raise
        return Events(job.events(), job.stop)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Write to an index while no job does. Raises ApiError where one runs."""
        self._begin()
        try:
            yield
        finally:
            self._end()

    def stop(self) -> None:
        """Stop the job; it ends soon."""
        if job := self._job:
            job.stop()

    def close(self) -> None:
        """Stop the job, and wait for it: what is stored is whole at every moment."""
        if job := self._job:
            job.stop()
            job.join()

    def _begin(self) -> None:
        if not self._writing.acquire(blocking=False):
            raise ApiError(409, "index_busy", "the index is being changed already", "wait until that has ended")

    def _end(self) -> None:
        self._job = None
        self._writing.release()


class _Telling:
    """A display whose lines are events; `progress` lines come seldom enough to be read."""

    def __init__(self, put: Callable[[Event], None]) -> None:
        self._put = put
        self.latest = How(None, "")
        self._told = 0.0

    def say(self, line: str) -> None:
        self._put(("note", Note(shown(line))))

    @contextmanager
    def progress(self, doing: str = "") -> Iterator[ShowProgress]:
        self._told = 0.0
        self._show(None, doing)
        yield self._show

    def _show(self, share: float | None, line: str) -> None:
        self.latest = How(share, shown(line))
        now = time.monotonic()
        if now - self._told >= OFTEN:
            self._told = now
            self._put(("progress", self.latest))


class _Job:
    """Work on a thread of its own, and what it tells."""

    def __init__(self, work: Callable[[Display], Any], ended: Callable[[], None]) -> None:
        self._work, self._ended = work, ended
        self._queue: queue.SimpleQueue[Event | BaseException | None] = queue.SimpleQueue()
        self.display = _Telling(self._queue.put)
        self._cancel = Cancel()
        self._thread = threading.Thread(target=self._run, name="local-rag-index", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._cancel.stop()

    def join(self) -> None:
        self._thread.join()

    def events(self) -> Iterator[Event]:
        """What is told until the work has ended. Raises what the work raised."""
        while (event := self._queue.get()) is not None:
            if isinstance(event, BaseException):
                raise event
            yield event

    def _run(self) -> None:
        try:
            with cancel.scope(self._cancel):
                self._queue.put(("report", self._work(self.display)))
        except BaseException as error:
            self._queue.put(error)
        finally:
            self._ended()
            self._queue.put(None)
