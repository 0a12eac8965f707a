"""The checks of this machine and the models, as `local-rag doctor` and `local-rag models` show them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from local_rag.diagnostics.check import Check
from local_rag.diagnostics.model_list import ModelReport, model_report
from local_rag.server.answer_view import shown
from local_rag.server.endpoints import Endpoint, Request

if TYPE_CHECKING:
    from local_rag.server.place import Place

PATIENCE = 3.0
"""Seconds that a model server may take to say what it has."""


class OfIndex(Request):
    """The index whose settings are checked; without one that of the server."""

    index: str | None = None


@dataclass(frozen=True, slots=True)
class Checks:
    """What was checked, in the order in which problems are best mended."""

    checks: tuple[Check, ...]


def doctor(place: Place, request: OfIndex) -> Any:
    from local_rag.diagnostics.doctor import run_checks

    return shown(Checks(tuple(run_checks(place.settings_of(request.index)))))


def models(place: Place, request: OfIndex) -> Any:
    return shown(model_report(place.settings_of(request.index), PATIENCE))


ENDPOINTS = (
    Endpoint("GET", "/api/doctor", doctor, OfIndex, Checks, summary="the checks of this machine", heavy=True),
    Endpoint("GET", "/api/models", models, OfIndex, ModelReport, "both", "the language models"),
)
