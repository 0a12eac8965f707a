"""Evaluations: listed, and their reports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import Field

from local_rag.server import evaluation_view as views
from local_rag.server.answer_view import shown
from local_rag.server.endpoints import Endpoint, File, Nothing, Request
from local_rag.server.errors import NotFound

if TYPE_CHECKING:
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


@dataclass(frozen=True, slots=True)
class EvaluationList:
    """The evaluations that are kept, the last one first."""

    evaluations: tuple[views.EvaluationSummary, ...]


def evaluations(place: Place, request: Nothing) -> Any:
    return shown(EvaluationList(tuple(views.summaries(place.settings))))


def report(place: Place, request: OfEvaluation) -> File:
    """Raises NotFound where there is none, as of an evaluation that was stopped."""
    path = views.named(place.settings, request.evaluation) / views.REPORT
    if not path.is_file():
        raise NotFound("this evaluation has no report yet", "start it again: it continues where it stopped")
    return File(path, "text/html; charset=utf-8", views.REPORT, inline=True, policy=POLICY)


ENDPOINTS = (
    Endpoint("GET", "/api/evaluations", evaluations, Nothing, EvaluationList, "both", "the evaluations that are kept"),
    Endpoint(
        "GET", "/api/evaluations/{evaluation}/report", report, OfEvaluation, File, "both", "its report, as a page"
    ),
)
