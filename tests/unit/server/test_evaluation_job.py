"""The evaluation of a server: one at a time, watched by several or by nobody, stopped by a person or at the end."""

from __future__ import annotations

import threading

import pytest
from support.asking import Stubborn
from support.evaluation_run import MANIFEST
from support.remembering import opened

from local_rag.core import cancel
from local_rag.core.errors import Stopped, UsageError
from local_rag.evaluation.cases import Case
from local_rag.evaluation.folder import RunFolder
from local_rag.evaluation.runner import Plan, Runner
from local_rag.server.errors import ApiError
from local_rag.server.evaluation_job import EvaluationJobs
from local_rag.server.jobs import Progress


class Work:
    """Says how far it is, waits until it is let, and looks whether it is to stop."""

    def __init__(self):
        self.begun, self.gate = threading.Event(), threading.Event()

    def __call__(self, job):
        job.say("a note")
        with job.progress() as show:
            show(0.5, "1 of 2 steps")
            self.begun.set()
            while not self.gate.is_set():
                cancel.current().wait(0.01)
            show(1.0, "2 of 2 steps")
        return "evaluation"


def test_one_runs_at_a_time_and_is_watched_from_its_beginning_or_later():
    jobs, work = EvaluationJobs(), Work()
    job = jobs.start("mine", work)
    first = job.events(threading.Event())
    assert next(first)
    assert work.begun.wait(60)
    with pytest.raises(ApiError, match="an evaluation of 'mine' is running") as met:
        jobs.start("other", work)
    assert met.value.status == 409 and jobs.running is job and job.view.doing == "1 of 2 steps"
    later = job.events(threading.Event())
    assert [next(later), next(later)] == ["a note", Progress(0.5, "1 of 2 steps")]
    work.gate.set()
    assert [*first][-1].share == 1.0 and [*later][-1].doing == "2 of 2 steps"
    job.wait(60)
    assert (job.result, job.error, jobs.running) == ("evaluation", None, None)


def test_it_goes_on_when_who_watches_leaves_and_ends_when_it_is_stopped():
    jobs, work, left = EvaluationJobs(), Work(), threading.Event()
    job = jobs.start("mine", work)
    assert work.begun.wait(60)
    left.set()
    assert [*job.events(left)] == [] and jobs.running is job
    assert jobs.stop()
    job.wait(60)
    assert isinstance(job.error, Stopped) and "what it has is kept" in str(job.error)
    assert not jobs.stop() and jobs.running is None, "another may begin"


def test_one_that_is_stopped_does_not_wait_for_an_engine_that_is_at_work(tmp_path):
    engine = Stubborn()
    folder = RunFolder.create(tmp_path / "run", MANIFEST, [Case("a", "What does the plan cost?")])
    with opened(engine) as rag:
        job = EvaluationJobs().start("mine", lambda job: Runner(rag, folder, Plan(("plain",), ())).run())
        assert engine.working.wait(60)
        job.stop()
        job.wait(20)
        assert job.ended and isinstance(job.error, Stopped) and folder.records == []
        engine.gate.set()


def test_the_end_of_the_server_stops_it():
    jobs, work = EvaluationJobs(), Work()
    job = jobs.start("mine", work)
    jobs.close()
    assert job.ended and isinstance(job.error, Stopped)


def test_one_that_cannot_begin_is_in_nobodys_way(monkeypatch):
    jobs, work = EvaluationJobs(), Work()
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", no_thread)
        with pytest.raises(RuntimeError):
            jobs.start("mine", work)
    work.gate.set()
    job = jobs.start("mine", work)
    job.wait(60)
    assert job.result == "evaluation"


def no_thread(self):
    raise RuntimeError("can't start new thread")


def test_an_error_is_kept_for_who_watches():
    def fails(job):
        raise UsageError("no case", hint="make some")

    job = EvaluationJobs().start("mine", fails)
    assert [*job.events(threading.Event())] == []
    assert isinstance(job.error, UsageError)
