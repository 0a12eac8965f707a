"""Evaluations: listed, shown with their figures and reports, compared, started, watched and stopped."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, get_args

from pydantic import Field

from local_rag.config.values import EngineName, GraphName
from local_rag.server import evaluation_view as views
from local_rag.server.answer_view import shown
from local_rag.server.case_files import CASES_NAME, CaseFileView, case_files, open_case_file
from local_rag.server.endpoints import Endpoint, File, Nothing, Request
from local_rag.server.errors import NotFound, error_object
from local_rag.server.evaluation_job import EvaluationJob, EvaluationJobs, JobView
from local_rag.server.indexing import Note
from local_rag.server.jobs import Progress
from local_rag.server.place import check_model
from local_rag.server.sse import Events
from local_rag.text.display import printable

if TYPE_CHECKING:
    from local_rag.core.progress import Display
    from local_rag.evaluation.evaluate import Evaluation
    from local_rag.server.place import Place

POLICY = (
    "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""Of a report: a page of an origin of its own that may draw itself, and may ask nobody for anything. Its own policy
lets only its one script run."""


class OfEvaluation(Request):
    """An evaluation by its ID."""

    evaluation: str = Field(max_length=200)


class Compare(Request):
    """Two evaluations by their IDs."""

    first: str = Field(max_length=200)
    second: str = Field(max_length=200)


class Start(Request):
    """Which cases are asked, of which index and with which graphs; without graphs all four, or passages alone.

    `limit` draws so many of the cases; `notes` are kept with the figures. An evaluation under the same conditions that
    was stopped goes on.
    """

    cases: str = Field(pattern=CASES_NAME)
    index: str | None = None
    graphs: tuple[GraphName, ...] = ()
    retrieval_only: bool = False
    limit: int | None = Field(None, ge=1)
    engine: EngineName | None = None
    model: str | None = None
    k: int | None = Field(None, ge=1, le=100)
    partial: bool = False
    notes: str = Field("", max_length=2000)


@dataclass(frozen=True, slots=True)
class EvaluationList:
    """The evaluations that are kept, the last one first, and the one that runs."""

    evaluations: tuple[views.EvaluationSummary, ...]
    running: JobView | None


@dataclass(frozen=True, slots=True)
class CaseFileList:
    """The case files that an evaluation can be started on, and the folder in which they lie."""

    cases: tuple[CaseFileView, ...]
    folder: str


@dataclass(frozen=True, slots=True)
class Evaluated:
    """An evaluation has ended: its ID, and what ended it early, None where nothing did."""

    id: str
    error: dict[str, str] | None = None


@dataclass(frozen=True, slots=True)
class EvaluationStopped:
    """Whether there was something to stop."""

    stopped: bool


def evaluations(place: Place, request: Nothing) -> Any:
    running = _jobs(place).running
    return shown(EvaluationList(tuple(views.summaries(place.settings)), running.view if running else None))


def evaluation(place: Place, request: OfEvaluation) -> Any:
    path = views.named(place.settings, request.evaluation)
    return shown(views.evaluation_view(request.evaluation, path))


def report(place: Place, request: OfEvaluation) -> File:
    """Raises NotFound where there is none, as of an evaluation that was stopped."""
    path = views.named(place.settings, request.evaluation) / views.REPORT
    if not path.is_file():
        raise NotFound("this evaluation has no report yet", "start it again: it continues where it stopped")
    return File(path, "text/html; charset=utf-8", views.REPORT, inline=True, policy=POLICY)


def compare(place: Place, request: Compare) -> Any:
    return shown(views.comparison_view(place.settings, request.first, request.second))


def cases(place: Place, request: Nothing) -> Any:
    from local_rag.server.case_files import FOLDER
    from local_rag.text.display import short_path

    folder = short_path(place.settings.data_folder / FOLDER)
    return shown(CaseFileList(tuple(case_files(place.settings)), folder))


def start(place: Place, request: Start) -> Events:
    """Begin an evaluation and watch it; it goes on when nobody watches. Raises ApiError (409) while another runs."""
    work = _work(place, request)
    return _watched(_jobs(place).start(request.cases, work))


def watch(place: Place, request: Nothing) -> Events:
    """Raises NotFound where none runs."""
    running = _jobs(place).running
    if running is None:
        raise NotFound("no evaluation is running", "POST /api/evaluations starts one")
    return _watched(running)


def stop(place: Place, request: Nothing) -> EvaluationStopped:
    return EvaluationStopped(_jobs(place).stop())


def _work(place: Place, request: Start) -> Callable[[Display], Evaluation]:
    """What the evaluation does on its thread. Raises UsageError for cases and settings that cannot be used."""
    from local_rag.diagnostics.demo import INDEX, SAVED_PAGES
    from local_rag.evaluation.evaluate import EvaluationRequest, evaluate
    from local_rag.evaluation.requirements import must_have_extra
    from local_rag.evaluation.runner import Plan

    must_have_extra()
    demo = next((file.demo for file in case_files(place.settings) if file.name == request.cases), False)
    opened = open_case_file(place.settings, request.cases)
    given: dict[str, Any] = {"engine": request.engine, "model": request.model, "k": request.k}
    if request.retrieval_only and request.engine is None:
        given["engine"] = "extractive"
    source = str(SAVED_PAGES) if demo else None
    settings = place.settings_of(
        INDEX if demo and request.index is None else request.index, web__enabled="off", web__source=source, **given
    )
    check_model(settings, request.model)
    graphs = () if request.retrieval_only else request.graphs or get_args(GraphName)
    modes: tuple[Literal["hybrid", "dense", "words"], ...] = ("hybrid",)
    if request.retrieval_only:
        modes = ("hybrid", "dense", "words")
    plan = Plan(tuple(dict.fromkeys(graphs)), modes, limit=request.limit)
    wanted = EvaluationRequest(
        opened,
        plan,
        command=("local-rag", "serve"),
        partial=request.partial,
        notes=printable(request.notes.strip()),
        turn=place.questions.evaluating,
    )

    return partial(evaluate, settings, wanted)


def _watched(job: EvaluationJob) -> Events:
    left = threading.Event()
    return Events(_events(job, left), left.set)


def _events(job: EvaluationJob, left: threading.Event) -> Iterator[tuple[str, Any]]:
    yield "begun", shown(job.view)
    for event in job.events(left):
        if isinstance(event, Progress):
            yield "progress", shown(JobView(job.cases, event.share, event.doing))
        else:
            yield "note", shown(Note(event))
    if job.error is not None:
        raise job.error
    if job.result is not None:
        error = job.result.error
        ended = Evaluated(job.result.folder.path.name, error_object(error) if error else None)
        yield "evaluated", shown(ended)


def _jobs(place: Place) -> EvaluationJobs:
    return place.kept("evaluations", EvaluationJobs)


EVENTS = {"begun": JobView, "note": Note, "progress": JobView, "evaluated": Evaluated}

ENDPOINTS = (
    Endpoint("GET", "/api/evaluations", evaluations, Nothing, EvaluationList, "both", "the evaluations that are kept"),
    Endpoint("POST", "/api/evaluations", start, Start, Events, "both", "start an evaluation on a case file", EVENTS),
    Endpoint("POST", "/api/evaluations/watch", watch, Nothing, Events, "both", "watch the one that runs", EVENTS),
    Endpoint("POST", "/api/evaluations/stop", stop, Nothing, EvaluationStopped, "both", "stop the one that runs"),
    Endpoint(
        "GET",
        "/api/evaluations/compare",
        compare,
        Compare,
        views.ComparisonView,
        summary="two evaluations compared",
        heavy=True,
    ),
    Endpoint(
        "GET",
        "/api/evaluations/{evaluation}",
        evaluation,
        OfEvaluation,
        views.EvaluationView,
        summary="an evaluation with its figures",
        heavy=True,
    ),
    Endpoint(
        "GET", "/api/evaluations/{evaluation}/report", report, OfEvaluation, File, "both", "its report, as a page"
    ),
    Endpoint("GET", "/api/cases", cases, Nothing, CaseFileList, "both", "the case files of the data folder"),
)
