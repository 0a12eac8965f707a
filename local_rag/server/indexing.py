"""Bringing an index up to date for a page: one job at a time, ended when nobody watches."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from local_rag.core.progress import Display
from local_rag.server.errors import ApiError
from local_rag.server.file_listings import shown
from local_rag.server.jobs import Job, Progress
from local_rag.server.sse import Events

if TYPE_CHECKING:
    from local_rag.server.place import Place


@dataclass(frozen=True, slots=True)
class SyncProgress:
    """How far a job is: `share` in [0, 1], None where that is not known, and a line for people."""

    share: float | None
    line: str


@dataclass(frozen=True, slots=True)
class Note:
    """A line that stays."""

    text: str


def indexing_of(place: Place) -> Indexing:
    """That of the place."""
    return place.kept("indexing", Indexing)


class Indexing:
    """The job that writes to an index, if there is one. Serves several threads; close it."""

    def __init__(self) -> None:
        self._writing = threading.Lock()
        self._job: Job[Any] | None = None

    @property
    def progress(self) -> SyncProgress | None:
        """How far the running job is; None where none runs."""
        job = self._job
        return _progress(job.progress_now) if job else None

    def events(self, work: Callable[[Display], Any]) -> Events:
        """Begin work that shows on a display how far it is: `progress`, `note`, and its result as `report`.

        Raises ApiError while another job runs. The job ends soon after `stop` of the events.
        """
        self._begin()
        self._job = job = Job(work, "index", self._end)
        try:
            job.start()
        except BaseException:  # no thread can be started: another job may
            self._end()
            raise
        return Events(_events(job), job.stop)

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
            job.wait()

    def _begin(self) -> None:
        if not self._writing.acquire(blocking=False):
            raise ApiError(409, "index_busy", "the index is being changed already", "wait until that has ended")

    def _end(self) -> None:
        self._job = None
        self._writing.release()


def _events(job: Job[Any]) -> Iterator[tuple[str, Any]]:
    """What is shown until the work has ended, and its result. Raises what the work raised."""
    for event in job.events(threading.Event()):
        yield ("progress", _progress(event)) if isinstance(event, Progress) else ("note", Note(shown(event)))
    if job.error is not None:
        raise job.error
    yield "report", job.result


def _progress(progress: Progress) -> SyncProgress:
    return SyncProgress(progress.share, shown(progress.doing))
