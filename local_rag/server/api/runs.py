"""Runs: what is recorded of questions; listed, shown with the way to the answer, kept as a case."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import Field

from local_rag.core.errors import UsageError
from local_rag.runtime.history import LONGEST
from local_rag.runtime.kept import KeptRun, RunSummary
from local_rag.server.answer_view import shown
from local_rag.server.case_files import CASES_NAME, path_of
from local_rag.server.endpoints import Endpoint, Request
from local_rag.server.errors import NotFound
from local_rag.server.run_view import RUN_ID, RunView, run_view

if TYPE_CHECKING:
    from local_rag.server.place import Place


class Listed(Request):
    """Which runs: those behind a cursor, with a status, whose question holds some words, of an index."""

    status: str = ""
    filter: str = Field("", max_length=200)
    index: str | None = None
    cursor: int = Field(0, ge=0)
    limit: int = Field(50, ge=1, le=200)


class OfRun(Request):
    """A run by its ID."""

    run: str = Field(pattern=RUN_ID)


class MakeCase(Request):
    """A run, the case file for it, and what is right: the run, expected answers, or that the files do not say."""

    run: str = Field(pattern=RUN_ID)
    cases: str = Field(pattern=CASES_NAME)
    right: bool = False
    answers: tuple[str, ...] = Field((), max_length=20)
    unanswerable: bool = False


@dataclass(frozen=True, slots=True)
class RunList:
    """Runs, the last one first. `next` is the cursor of those that follow, None behind the last; `good` are judgements.

    `good` maps the ID of a run to whether its answer was judged to be good.
    """

    runs: tuple[RunSummary, ...]
    next: int | None
    total: int
    good: dict[str, bool]


@dataclass(frozen=True, slots=True)
class MadeCase:
    """The case that was made, and how many its file has now."""

    cases: str
    question: str
    answerable: bool
    answers: Sequence[str]
    sources: int
    total: int


def runs(place: Place, request: Listed) -> Any:
    """Raises UsageError for a status that there is none of."""
    index = None if request.index is None else place.settings_of(request.index).index_path
    filter_ = request.filter.casefold()
    listed = [
        run for run in place.history.runs(index=index, status=request.status) if filter_ in run.question.casefold()
    ]
    end = request.cursor + request.limit
    good = {feedback.run: feedback.good for feedback in place.history.judgements()}
    page = tuple(listed[request.cursor : end])
    of_page = {run.id: good[run.id] for run in page if run.id in good}
    return shown(RunList(page, end if end < len(listed) else None, len(listed), of_page))


def run(place: Place, request: OfRun) -> Any:
    kept = _run(place, request.run)
    return run_view(kept, place.history.judgement(kept.id))


def make_case(place: Place, request: MakeCase) -> Any:
    """Raises UsageError where nobody says what is right, and for a question that the file has already."""
    from local_rag.evaluation.making.from_run import keep_case

    answers = [answer.strip()[:LONGEST] for answer in request.answers if answer.strip()]
    if not (answers or request.right or request.unanswerable):
        raise UsageError("say what a right answer is: answers, right or unanswerable")
    case, file = keep_case(
        place.settings,
        _run(place, request.run),
        path_of(place.settings, request.cases),
        answers=answers,
        unanswerable=request.unanswerable,
        yes=request.right,
        labels_by=lambda run, cited: ((), cited, False),
    )
    made = MadeCase(
        request.cases, case.question, bool(case.answerable), case.answers, len(case.relevant), len(file.cases)
    )
    return shown(made)


def _run(place: Place, name: str) -> KeptRun:
    try:
        return place.history.run(name)
    except UsageError as error:
        raise NotFound(str(error), "GET /api/runs lists them") from error


ENDPOINTS = (
    Endpoint("GET", "/api/runs", runs, Listed, RunList, "both", "the questions that are recorded"),
    Endpoint("GET", "/api/runs/{run}", run, OfRun, RunView, "both", "a run with the way to its answer"),
    Endpoint("POST", "/api/runs/{run}/case", make_case, MakeCase, MadeCase, "both", "make a case of a run"),
)
