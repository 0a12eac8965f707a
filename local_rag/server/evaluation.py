"""Run evaluations, list those that are stored, and send their reports."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from fastapi import APIRouter, Depends
from fastapi.responses import Response
from pydantic import Field

from local_rag.config.settings import Settings
from local_rag.core.errors import NotFound
from local_rag.evaluation.folder import FOLDER, MANIFEST, REPORT, EvaluationSummary, summary_of
from local_rag.runtime.written import written
from local_rag.server.answers import file_id
from local_rag.server.auth import Asking, person_only
from local_rag.server.dropped import safe_name
from local_rag.server.jobs import Job, JobEvent
from local_rag.server.listings import safe_line
from local_rag.server.responses import Body, event_stream, file_headers, file_response
from local_rag.server.runs import CASES
from local_rag.server.work import worked
from local_rag.server.workspace import Here

POLICY = (
    "sandbox; default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
"""The policy of a report: a page with its own origin that runs no script and sends no request."""

router = APIRouter()


class Evaluate(Body):
    """Name the case file: one that is kept here, or with the `text` of it a file of the person's own.

    The cases are asked of this index in the graph of the settings, with the web off.
    """

    cases: str = Field(min_length=1, max_length=1000)
    text: str = ""
    index: str | None = None


@dataclass(frozen=True)
class Evaluations:
    """List the stored evaluations, the latest first, and the names of the case files that are kept here."""

    evaluations: Sequence[EvaluationSummary]
    cases: Sequence[str]


@router.get("/api/evaluations")
def evaluations(workspace: Here) -> Evaluations:
    """List the stored evaluations and the case files."""
    read = (summary_of(name, path) for name, path in _folders(workspace.settings).items())
    latest = sorted(filter(None, read), key=lambda summary: summary.started, reverse=True)
    return Evaluations(latest, sorted(path.stem for path in _cases(workspace.settings).glob("*.jsonl")))


@router.post("/api/evaluations", dependencies=[Depends(person_only)])
def evaluate(request: Evaluate, workspace: Here, caller: Asking) -> Any:
    """Ask all cases of a file; the `report` has the ID of the evaluation and its `tables`."""
    settings, name = workspace.settings_of(request.index), safe_name(request.cases) or "cases"
    workspace.files.of(settings.index_path)  # raises IndexMissing before anything begins
    kept = _cases(settings) / f"{name}.jsonl"
    if not request.text and not kept.is_file():
        raise NotFound(f"there are no cases {name!r}")
    index = {} if request.index is None else {"index": request.index}
    flags = {**workspace.flags, **index, "web__enabled": "off"}

    def work(job: Job) -> Generator[JobEvent]:
        with TemporaryDirectory() as folder:
            path = Path(folder) / name if request.text else kept
            if request.text:
                path.write_text(request.text, encoding="utf-8")
            done = yield from worked(job, "evaluate", flags, cases=path)
        yield "report", {"id": file_id(str(Path(done["folder"]).resolve())), "tables": done["tables"]}

    job = workspace.jobs.work(Job("evaluations", caller, {"name": safe_line(kept.stem)}, work))
    return event_stream(job, workspace.limits.heartbeat)


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


def _cases(settings: Settings) -> Path:
    return settings.data_folder / CASES


def _folders(settings: Settings) -> dict[str, Path]:
    """Return the folders of the evaluations by ID, which is a digest of the path."""
    own = (run.parent for run in (settings.data_folder / FOLDER).glob(f"*/{MANIFEST}"))
    others = (Path(entry.path) for entry in written(settings.data_folder) if entry.kind == "run")
    there = {path.resolve() for path in (*own, *others) if (path / MANIFEST).is_file()}
    return {file_id(str(path)): path for path in there}
