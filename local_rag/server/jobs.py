"""Run the questions and the long work of a server as jobs, whose events a client can read from the first at any time.

A job belongs to the server, not to the connection that began it: a page that is loaded anew, or another tab, reads its
events from the first one on and then as they come. One question is answered at a time, and the others wait in order;
one job of any other kind runs at a time. The last jobs that ended are kept, for clients that lost the connection.
"""

from __future__ import annotations

import asyncio
import secrets
import threading
import time
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Literal

from local_rag.core.answer import Answer
from local_rag.core.cancel import Cancel, current, scope
from local_rag.core.documents import SyncReport
from local_rag.core.errors import DeadlineExceeded, NotFound, Stopped
from local_rag.core.events import WebQuery
from local_rag.index.path_labels import PathLabel
from local_rag.server.auth import Caller
from local_rag.server.errors import ApiError, error_object, log_unknown

KEPT = 32
"""The number of ended jobs that are kept."""
PATIENCE = 10.0
"""Seconds that a job that writes may take to stop."""

CONSENT_SECONDS = 300.0
"""Seconds that a person has to allow a web query; after that it is not sent."""
POLL = 0.2
"""Seconds between two checks whether a question that waits for consent was stopped."""

JobState = Literal["waiting", "running", "done", "failed", "stopped"]
JobEvent = tuple[str, Any]
"""A name and a value, which is written as JSON."""


class WebConsent:
    """Ask the person at the page whether exactly these words may be sent to the web."""

    def __init__(self, cancel: Cancel) -> None:
        self._cancel, self._send = cancel, False
        self._query: WebQuery | None = None
        self._given, self._lock = threading.Event(), threading.Lock()

    def may_search(self, query: WebQuery) -> bool:
        """Wait for the person, and return whether these words may be sent; the wait extends the question's time."""
        given, began = self.proposed(query), time.monotonic()
        while not (given.wait(POLL) or self._cancel.stopped or time.monotonic() - began > CONSENT_SECONDS):
            pass
        current().extend(time.monotonic() - began)
        with self._lock:
            send, self._query, self._send = self._send, None, False
        return send

    def proposed(self, query: WebQuery) -> threading.Event:
        """Return the event that is set when the person has decided on a query.

        The event that shows the query and the call of `may_search` may come in either order.
        """
        with self._lock:
            if self._query != query:
                self._query, self._send, self._given = query, False, threading.Event()
            return self._given

    def give(self, send: bool, query: str) -> None:
        """Record the person's decision on the shown words; raise ApiError if no query or another one waits for it."""
        with self._lock:
            if self._query is None or self._given.is_set():
                raise ApiError(409, "conflict", "no web query waits for a consent", "ask the question again")
            if query != self._query.query:
                raise ApiError(409, "conflict", "other words wait for a consent now", "look at the words again")
            self._send = send
            self._given.set()


@dataclass(eq=False)
class Job:
    """Run work that yields events; the last event is the result, or `error` if the work fails.

    `progress` is the latest progress event; earlier ones are dropped. `about` describes the job for a list. `answer`
    holds the answer to a question, and the function that names its files; `report` is the result of an indexing.
    `consent` asks a person before words of a question are sent to the web; `at_stop` is called when the job is stopped.
    """

    kind: Literal["question", "index", "evaluations", "models"]
    caller: Caller
    about: dict[str, Any]
    work: Callable[[Job], Generator[JobEvent]]
    id: str = field(default_factory=lambda: secrets.token_hex(8))
    state: JobState = "waiting"
    events: list[JobEvent] = field(default_factory=list)
    progress: Any = None
    failure: Exception | None = None
    answer: tuple[Answer, PathLabel] | None = None
    report: SyncReport | None = None
    consent: WebConsent | None = None
    at_stop: Callable[[], object] = lambda: None
    cancel: Cancel = field(default_factory=Cancel)
    _readers: set[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = field(default_factory=set)
    _lock: threading.RLock = field(default_factory=threading.RLock)

    @property
    def ended(self) -> bool:
        return self.state not in ("waiting", "running")

    def add(self, name: str, value: Any) -> None:
        """Add an event, and wake all readers."""
        if name == "progress":
            self.progress = value
        else:
            self.events.append((name, value))
        self._wake()

    def run(self) -> None:
        """Do the work, unless the job was stopped while it waited."""
        with self._lock:
            if self.ended:
                return
            self.state = "running"
        try:
            with scope(self.cancel), closing(self.work(self)) as events:
                for name, value in events:
                    self.add(name, value)
            self._end("done")
        except Exception as error:
            log_unknown(error, f"a job ({self.kind})")
            stopped = isinstance(error, Stopped) and not isinstance(error, DeadlineExceeded)
            self._end("stopped" if stopped else "failed", error)

    def stop(self) -> None:
        """Tell the work to stop; a job that has not begun ends at once."""
        self.cancel.stop()
        with suppress(OSError):
            self.at_stop()
        with self._lock:
            if self.state == "waiting":
                self._end("stopped", Stopped("stopped"))

    def _end(self, state: JobState, failure: Exception | None = None) -> None:
        with self._lock:
            self.failure = failure
            if failure is not None:
                self.events.append(("error", error_object(failure)))
            self.state = state
            self._wake()

    def _wake(self) -> None:
        with self._lock:
            for loop, changed in self._readers:
                with suppress(RuntimeError):  # the loop is closed
                    loop.call_soon_threadsafe(changed.set)

    async def follow(self, heartbeat: float) -> AsyncIterator[JobEvent | None]:
        """Yield all events so far, and then each as it comes; yield None after `heartbeat` seconds without one."""
        reader = (asyncio.get_running_loop(), asyncio.Event())
        read, progress = 0, None
        with self._lock:
            self._readers.add(reader)
        try:
            while True:
                reader[1].clear()
                ended, new = self.ended, self.events[read:]
                for event in new:
                    yield event
                read += len(new)
                if self.progress is not progress and not ended:
                    progress = self.progress
                    yield "progress", progress
                if ended:
                    return
                try:
                    await asyncio.wait_for(reader[1].wait(), heartbeat)
                except TimeoutError:
                    yield None
        finally:
            with self._lock:
                self._readers.discard(reader)


class Jobs:
    """Queue and run the jobs of a server, of which at most `waiting` questions wait; several threads may use it."""

    def __init__(self, waiting: int) -> None:
        self._waiting = waiting
        self._jobs: dict[str, Job] = {}
        self._lock = threading.RLock()
        self._writing = threading.Lock()
        self._asking = ThreadPoolExecutor(1, "local-rag-questions")

    def ask(self, job: Job) -> Job:
        """Put a question at the end of the queue; raise ApiError if too many wait."""
        with self._lock:
            waiting = len(self.questions())
            if waiting > self._waiting:
                why = f"{self._waiting} questions are waiting already"
                raise ApiError(429, "busy", why, "ask again when one has ended")
            self._keep(job)
            self._tell_position(job, waiting)
            self._asking.submit(self._answer, job)
        return job

    def work(self, job: Job) -> Job:
        """Begin a job that is no question; raise ApiError (409) while another one runs."""
        held = ExitStack()
        held.enter_context(self.writing())

        def work() -> None:
            with held:
                job.run()

        try:
            threading.Thread(target=work, name="local-rag-work", daemon=True).start()
        except RuntimeError:  # there are too many threads
            held.close()
            raise
        self._keep(job)
        return job

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Reserve writing to an index for the block; raise ApiError (409) if a job that is no question runs."""
        if not self._writing.acquire(blocking=False):
            raise ApiError(409, "index_busy", "something else is at work already", "wait until that has ended")
        try:
            yield
        finally:
            self._writing.release()

    def get(self, id_: str) -> Job:
        """Return the job of that ID, which may have ended lately; raise NotFound."""
        job = self._jobs.get(id_)
        if job is None:
            raise NotFound("this job has ended, or never was", "GET /api/jobs lists those that are there")
        return job

    def questions(self) -> list[Job]:
        """Return the question that runs, and those that wait, in order."""
        return [job for job in list(self._jobs.values()) if job.kind == "question" and not job.ended]

    @property
    def working(self) -> Job | None:
        """The job that runs now and is no question."""
        return next((job for job in list(self._jobs.values()) if job.kind != "question" and not job.ended), None)

    def in_thread(self, thread: str) -> list[Job]:
        """Return the questions of a thread that are not answered yet, in order."""
        return [job for job in self.questions() if job.about["thread"] == thread]

    def stop(self, id_: str) -> None:
        """Stop a job; raise NotFound for one that has ended."""
        job = self.get(id_)
        if job.ended:
            raise NotFound("this job has ended", "GET /api/jobs lists those that are there")
        job.stop()
        self._tell_positions()

    def close(self) -> None:
        """Stop all jobs, the waiting ones first, and wait up to `PATIENCE` for the job that writes."""
        for job in reversed(list(self._jobs.values())):
            job.stop()
        if self._writing.acquire(timeout=PATIENCE):
            self._writing.release()

    def _keep(self, job: Job) -> None:
        with self._lock:
            self._jobs[job.id] = job
            for old in [each for each in self._jobs.values() if each.ended][:-KEPT]:
                del self._jobs[old.id]

    def _answer(self, job: Job) -> None:
        self._tell_positions()
        job.run()

    def _tell_positions(self) -> None:
        """Tell each waiting question how many are before it now."""
        with self._lock:
            for position, job in enumerate(self.questions()):
                if job.state == "waiting" and job.events[-1][1]["position"] != position > 0:
                    self._tell_position(job, position)

    @staticmethod
    def _tell_position(job: Job, position: int) -> None:
        job.add("queued", {"id": job.id, "position": position, "thread": job.about["thread"]})
