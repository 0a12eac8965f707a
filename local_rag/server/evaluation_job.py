"""The evaluation that a server runs: one at a time, watched by whoever wants to.

It goes on when the page that began it is closed, and ends by itself, when somebody stops it, or with the server.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from local_rag.core.errors import Stopped
from local_rag.core.progress import Display
from local_rag.server.errors import ApiError
from local_rag.server.jobs import Job

if TYPE_CHECKING:
    from local_rag.evaluation.evaluate import Evaluation


@dataclass(frozen=True, slots=True)
class JobView:
    """An evaluation that runs: the share that is done (None: not known), and what it does now."""

    cases: str
    share: float | None
    doing: str


class EvaluationJob(Job["Evaluation"]):
    """One evaluation at work, on the case file of that name."""

    def __init__(self, cases: str, work: Callable[[Display], Evaluation]) -> None:
        super().__init__(work, "evaluation")
        self.cases = cases

    @property
    def view(self) -> JobView:
        return JobView(self.cases, self.progress_now.share, self.progress_now.doing)


class EvaluationJobs:
    """The evaluation that runs, if there is one. Serves several threads."""

    def __init__(self) -> None:
        self._job: EvaluationJob | None = None
        self._lock = threading.Lock()

    @property
    def running(self) -> EvaluationJob | None:
        job = self._job
        return None if job is None or job.ended else job

    def start(self, cases: str, evaluate: Callable[[Display], Evaluation]) -> EvaluationJob:
        """Begin an evaluation. Raises ApiError (409) while another one runs."""

        def work(display: Display) -> Evaluation:
            try:
                return evaluate(display)
            except Stopped as stopped:
                raise Stopped("the evaluation was stopped; what it has is kept", hint=stopped.hint) from stopped

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
