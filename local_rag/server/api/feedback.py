"""Feedback on answers: given, listed, taken back, and made into cases for an evaluation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import Field

from local_rag.runtime.history import LONGEST
from local_rag.server.answer_view import shown
from local_rag.server.case_files import CASES_NAME, path_of
from local_rag.server.endpoints import Endpoint, Nothing, Request
from local_rag.server.feedback_view import FeedbackView, feedback_view
from local_rag.server.run_view import RUN_ID

if TYPE_CHECKING:
    from local_rag.server.place import Place


class Give(Request):
    """Whether the answer of a run is good, and why; what a right answer says, or that the files do not answer."""

    run: str = Field(pattern=RUN_ID)
    good: bool
    note: str = Field("", max_length=LONGEST)
    expected: str = Field("", max_length=LONGEST)
    unanswerable: bool = False


class OfRun(Request):
    """A run by its ID."""

    run: str = Field(pattern=RUN_ID)


class IntoCases(Request):
    """The case file to which the feedback on answers from an index is appended."""

    cases: str = Field(pattern=CASES_NAME)
    index: str | None = None


@dataclass(frozen=True, slots=True)
class FeedbackList:
    """All feedback, that on the last run first."""

    feedback: tuple[FeedbackView, ...]


@dataclass(frozen=True, slots=True)
class Deleted:
    """The IDs of runs whose feedback, or record, was deleted."""

    deleted: Sequence[str]


@dataclass(frozen=True, slots=True)
class MadeCases:
    """What came of the feedback, counted as in `evaluation.making.from_feedback`; `total` are the cases of the file."""

    cases: str
    kept: int
    known: int
    unlabelled: int
    elsewhere: int
    total: int


def give(place: Place, request: Give) -> Any:
    given = place.history.judge(
        request.run, request.good, request.note, expected=request.expected, unanswerable=request.unanswerable
    )
    return shown(feedback_view(given))


def all_feedback(place: Place, request: Nothing) -> Any:
    return shown(FeedbackList(tuple(map(feedback_view, place.history.judgements()))))


def take_back(place: Place, request: OfRun) -> Deleted:
    had = place.history.judgement(request.run)
    place.history.delete(judgements=[request.run])
    return Deleted([request.run] if had else [])


def into_cases(place: Place, request: IntoCases) -> MadeCases:
    """Raises UsageError for a file that cannot hold cases."""
    from local_rag.evaluation.making.from_feedback import keep_feedback

    settings = place.settings_of(request.index)
    made = keep_feedback(settings, path_of(settings, request.cases))
    total = len(made.file.cases)
    return MadeCases(request.cases, len(made.kept), made.known, made.unlabelled, made.elsewhere, total)


ENDPOINTS = (
    Endpoint("POST", "/api/feedback", give, Give, FeedbackView, "both", "judge the answer of a run"),
    Endpoint("GET", "/api/feedback", all_feedback, Nothing, FeedbackList, "both", "every judged answer"),
    Endpoint(
        "POST", "/api/feedback/cases", into_cases, IntoCases, MadeCases, "both", "make cases of the judged answers"
    ),
    Endpoint("POST", "/api/feedback/{run}/delete", take_back, OfRun, Deleted, "both", "take a judgement back"),
)
