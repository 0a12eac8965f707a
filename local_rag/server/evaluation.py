"""The evaluations that are kept: a list that opens their reports."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from fastapi import APIRouter
from fastapi.responses import Response

from local_rag.config.settings import Settings
from local_rag.core.errors import NotFound
from local_rag.evaluation import folder as run_folder
from local_rag.evaluation.folder import FIGURES, FOLDER, REPORT
from local_rag.runtime.written import written
from local_rag.server.answers import file_id
from local_rag.server.responses import file_headers, file_response
from local_rag.server.workspace import Here

POLICY = (
    "sandbox; default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
"""Of a report: a page of an origin of its own that runs no script and may ask nobody for anything."""
_UNREADABLE = (OSError, ValueError, KeyError, TypeError, AttributeError)

router = APIRouter()


@dataclass(frozen=True)
class RightAnswers:
    """Of so many cases with expected answers (`of`) the answers that contain one."""

    right: int
    of: int


@dataclass(frozen=True)
class EvaluationSummary:
    """An evaluation in a list. `contained` has each graph that was asked cases with expected answers."""

    id: str
    name: str
    started: str
    finished: str
    cases: int
    graphs: Sequence[str]
    engine: str
    report: bool
    contained: Mapping[str, RightAnswers]


@router.get("/api/evaluations")
def evaluations(workspace: Here) -> dict[str, list[EvaluationSummary]]:
    """The evaluations that are kept, the last one first."""
    read = (_summary(name, path) for name, path in _folders(workspace.settings).items())
    return {"evaluations": sorted(filter(None, read), key=lambda summary: summary.started, reverse=True)}


@router.get("/api/evaluations/{id}/report", response_class=Response)
def report(id: str, workspace: Here) -> Response:
    """The report of an evaluation, as a page; there is none of one that was stopped."""
    folder = _folders(workspace.settings).get(id)
    if folder is None:
        raise NotFound(f"there is no evaluation {id!r}", "GET /api/evaluations lists them")
    if not (folder / REPORT).is_file():
        raise NotFound("this evaluation has no report yet", "start it again: it continues where it stopped")
    headers = file_headers(REPORT, inline=True, policy=POLICY)
    return file_response(folder / REPORT, "text/html; charset=utf-8", headers)


def _folders(settings: Settings) -> dict[str, Path]:
    """The folders of the evaluations by their IDs, the last one first.

    Those of the data folder have the name of their folder as an ID, others a digest of their path.
    """
    own = {run.parent.name: run.parent for run in (settings.data_folder / FOLDER).glob(f"*/{run_folder.MANIFEST}")}
    known = {path.resolve() for path in own.values()}
    others = [Path(entry.path) for entry in written(settings.data_folder) if entry.kind == "run"]
    elsewhere = {
        file_id(str(path)): path
        for path in others
        if (path / run_folder.MANIFEST).is_file() and path.resolve() not in known
    }
    return own | elsewhere


def _summary(name: str, path: Path) -> EvaluationSummary | None:
    """None for what cannot be read."""
    with suppress(*_UNREADABLE):
        manifest = json.loads((path / run_folder.MANIFEST).read_text(encoding="utf-8"))
        return EvaluationSummary(
            id=name,
            name=str(manifest["name"]),
            started=str(manifest["started"]),
            finished=str(manifest.get("finished") or ""),
            cases=int(manifest["cases"]["used"]),
            graphs=manifest["graphs"],
            engine=str(manifest["engine"]["describe"]),
            report=(path / REPORT).is_file(),
            contained=_contained(path),
        )
    return None


def _contained(path: Path) -> dict[str, RightAnswers]:
    with suppress(*_UNREADABLE):
        answers = json.loads((path / FIGURES).read_text(encoding="utf-8"))["summary"]["figures"].get("Answers", {})
        found = {graph: figures["contains"] for graph, figures in answers.items()}
        return {
            graph: RightAnswers(round(each["mean"] * each["cases"]), each["cases"]) for graph, each in found.items()
        }
    return {}
