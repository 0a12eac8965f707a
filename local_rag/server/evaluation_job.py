"""The evaluation that a server runs: one at a time, on a thread of its own, watched by whoever wants to.

It goes on when the page that began it is closed, and ends by itself, when somebody stops it, or with the server.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from local_rag.core.cancel import Cancel, check, scope
from local_rag.core.errors import Stopped
from local_rag.core.progress import ShowProgress
from local_rag.server.errors import ApiError, log_unknown

if TYPE_CHECKING:
    from local_rag.evaluation.evaluate import Evaluation

POLL = 0.5
"""Seconds after which a watcher looks whether it is to leave."""


@dataclass(frozen=True, slots=True)
class JobView:
    """An evaluation that runs: the share that is done (None: not known), and what it does now."""

    cases: str
    share: float | None
    doing: str


@dataclass(frozen=True, slots=True)
class JobNote:
    """What a person should know of how the evaluation runs."""

    text: str


class EvaluationJob:
    """One evaluation at work; it is what the evaluation is shown on (`core.progress.Display`)."""

    def __init__(self, cases: str, work: Callable[[EvaluationJob], Evaluation]) -> None:
        self.cases = cases
        self.evaluation: Evaluation | None = None
        self.error: Exception | None = None
        self._share: float | None = None
        self._doing = ""
        self._notes: list[str] = []
        self._ended = False
        self._changed = threading.Condition()
        self._cancel = Cancel()
        self._thread = threading.Thread(target=self._run, args=(work,), name="local-rag-evaluation", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Tell it to stop, and the question at which it works; it ends soon."""
        self._cancel.stop()

    def wait(self, seconds: float | None = None) -> None:
        self._thread.join(seconds)

    @property
    def ended(self) -> bool:
        return self._ended

    @property
    def view(self) -> JobView:
        return JobView(self.cases, self._share, self._doing)

    def say(self, line: str) -> None:
        """A line that stays."""
        with self._changed:
            self._notes.append(line)
            self._changed.notify_all()

    @contextmanager
    def progress(self, doing: str = "") -> Iterator[ShowProgress]:
        """What is done is shown to all who watch."""
        self._show(None, doing)
        yield self._show

    def _show(self, share: float | None, doing: str) -> None:
        check()
        with self._changed:
            self._share, self._doing = share, doing
            self._changed.notify_all()

    def events(self, left: threading.Event) -> Iterator[tuple[str, Any]]:
        """`note` and `progress` from now until it has ended, or `left` is set; a watcher that is slow misses some."""
        told, last = 0, None
        while not left.is_set():
            with self._changed:
                now = (len(self._notes), self.view, self._ended)
                if now == last and not self._ended:
                    self._changed.wait(POLL)
                    continue
            for note in self._notes[told : now[0]]:
                yield "note", JobNote(note)
            if last is None or now[1] != last[1]:
                yield "progress", now[1]
            told, last = now[0], now
            if now[2]:
                return

    def _run(self, work: Callable[[EvaluationJob], Evaluation]) -> None:
        try:
            with scope(self._cancel):
                self.evaluation = work(self)
        except Stopped as stopped:
            self.error = Stopped("the evaluation was stopped; what it has is kept", hint=stopped.hint)
        except Exception as error:
            log_unknown(error, "an evaluation")
            self.error = error
        finally:
            with self._changed:
                self._ended = True
                self._changed.notify_all()


class EvaluationJobs:
    """The evaluation that runs, if there is one. Serves several threads."""

    def __init__(self) -> None:
        self._job: EvaluationJob | None = None
        self._lock = threading.Lock()

    @property
    def running(self) -> EvaluationJob | None:
        job = self._job
        return None if job is None or job.ended else job

    def start(self, cases: str, work: Callable[[EvaluationJob], Evaluation]) -> EvaluationJob:
        """Begin an evaluation. Raises ApiError (409) while another one runs."""
        with self._lock:
            if running := self.running:
                raise ApiError(
                    409, "conflict", f"an evaluation of {running.cases!r} is running", "wait for it, or stop it"
                )
            job = EvaluationJob(cases, work)
            job.start()
            self._job = job  # only now: a job whose thread cannot be started would never end
            return job

    def stop(self) -> bool:
        """Stop the one that runs; whether there was one."""
        running = self.running
        if running is not None:
            running.stop()
        return running is not None

    def close(self) -> None:
        """Stop the one that runs, and wait for it a little."""
        if running := self.running:
            running.stop()
            running.wait(5.0)
