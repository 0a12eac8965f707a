"""List the stored evaluations, and send their reports."""

from __future__ import annotations

from pathlib import Path

from fastapi import APIRouter
from fastapi.responses import Response

from local_rag.config.settings import Settings
from local_rag.core.errors import NotFound
from local_rag.evaluation.folder import FOLDER, MANIFEST, REPORT, EvaluationSummary, summary_of
from local_rag.runtime.written import written
from local_rag.server.answers import file_id
from local_rag.server.responses import file_headers, file_response
from local_rag.server.workspace import Here

POLICY = (
    "sandbox; default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
"""The policy of a report: a page with its own origin that runs no script and sends no request."""

router = APIRouter()


@router.get("/api/evaluations")
def evaluations(workspace: Here) -> dict[str, list[EvaluationSummary]]:
    """List the stored evaluations, the latest first."""
    read = (summary_of(name, path) for name, path in _folders(workspace.settings).items())
    return {"evaluations": sorted(filter(None, read), key=lambda summary: summary.started, reverse=True)}


@router.get("/api/evaluations/{id}/report", response_class=Response)
def report(id: str, workspace: Here) -> Response:
    """Send the report of an evaluation as a page; an evaluation that was stopped has none."""
    folder = _folders(workspace.settings).get(id)
    if folder is None:
        raise NotFound(f"there is no evaluation {id!r}", "GET /api/evaluations lists them")
    if not (folder / REPORT).is_file():
        raise NotFound("this evaluation has no report yet", "start it again: it continues where it stopped")
    headers = file_headers(REPORT, inline=True, policy=POLICY)
    return file_response(folder / REPORT, "text/html; charset=utf-8", headers)


def _folders(settings: Settings) -> dict[str, Path]:
    """Return the folders of the evaluations by ID, which is a digest of the path."""
    own = (run.parent for run in (settings.data_folder / FOLDER).glob(f"*/{MANIFEST}"))
    others = (Path(entry.path) for entry in written(settings.data_folder) if entry.kind == "run")
    there = {path.resolve() for path in (*own, *others) if (path / MANIFEST).is_file()}
    return {file_id(str(path)): path for path in there}
