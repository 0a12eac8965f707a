"""List runs, the records of questions, show how their answers were found, judge them, and make cases of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import Field

from local_rag.config.settings import Settings
from local_rag.core.errors import UsageError
from local_rag.core.private_files import make_folder
from local_rag.runtime.history import LONGEST_NOTE
from local_rag.runtime.kept import Judgement, KeptRun, Line, RunPassages, RunSummary
from local_rag.server.answers import answer_view, passage_view
from local_rag.server.responses import Body
from local_rag.server.workspace import Here

RUN_ID = r"^[2-9a-z]{4}$"
"""The pattern of a run's whole ID, or `last`."""
CASES = "cases"
"""The folder of the case files in the data folder; requests name the files without their suffix."""
CASES_NAME = r"^[\w(+-][\w .()+-]{0,79}$"
"""The pattern of a case file's name, which is no path and not hidden."""
SHOWN = ("retrieved", "graded", "called", "web_query", "note")
"""The events of a step that are shown."""

RunId = Annotated[str, Field(pattern=RUN_ID)]
CasesName = Annotated[str, Field(pattern=CASES_NAME)]

router = APIRouter()


class MakeCase(Body):
    """Name the case file for a run, and say what is right: the run's answer, other answers, or that there is none."""

    cases: CasesName
    right: bool = False
    answers: tuple[str, ...] = Field((), max_length=20)
    unanswerable: bool = False


class Judge(Body):
    """Say whether the answer of a run is good, and why, and what a right answer is, or that the files hold none."""

    run: RunId
    good: bool
    note: str = Field("", max_length=LONGEST_NOTE)
    expected: str = Field("", max_length=LONGEST_NOTE)
    unanswerable: bool = False


class IntoCases(Body):
    """Name the case file to which the judged answers from an index are appended."""

    cases: CasesName
    index: str | None = None


@dataclass(frozen=True)
class RunList:
    """List runs, the latest first; `next` is the cursor of the following ones, None after the last.

    `good` maps the ID of each judged run to whether its answer is good.
    """

    runs: Sequence[RunSummary]
    next: int | None
    total: int
    good: dict[str, bool]


@router.get("/api/runs")
def runs(
    workspace: Here,
    status: str = "",
    filter: Annotated[str, Query(max_length=200)] = "",
    index: str | None = None,
    cursor: Annotated[int, Query(ge=0)] = 0,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> RunList:
    """List the recorded questions from a cursor on, narrowed by status, words and index."""
    history, words = workspace.history, filter.casefold()
    folder = None if index is None else workspace.settings_of(index).index_path
    listed = [run for run in history.runs(index=folder, status=status) if words in run.question.casefold()]
    end = cursor + limit
    page = listed[cursor:end]
    judged = {judgement.run: judgement.good for judgement in history.judgements()}
    good = {run.id: judged[run.id] for run in page if run.id in judged}
    return RunList(page, end if end < len(listed) else None, len(listed), good)


@router.get("/api/runs/{run}")
def run(run: RunId, workspace: Here) -> dict[str, Any]:
    """Show how a run found its answer: the `steps` with their events, and the `passages` with their current texts."""
    kept = workspace.history.run(run)
    passages, then = RunPassages.of(kept), kept.conditions
    return {
        "run": kept.summary(),
        "understood": kept.standalone_question if kept.standalone_question != kept.question else "",
        "engine": str(then["engine"].get("describe", "")),
        "set": {name: then["settings"][name] for name in then.get("origins", ()) if name in then["settings"]},
        "note": passages.note(then["index"].get("content", "")),
        "path": kept.path,
        "steps": [*_steps(kept)],
        "passages": [_passage(passage, passages) for passage in kept.passages],
        "verdicts": kept.decisions,
        "prompts": kept.prompts,
        "drafts": kept.drafts,
        "answer": answer_view(kept.answer, passages.label) if kept.answer else None,
        "feedback": workspace.history.judgement(kept.id),
    }


def _steps(run: KeptRun) -> Iterator[dict[str, Any]]:
    """Yield the steps of a run: the node, its start in seconds after the question, its seconds, and its events."""
    from local_rag.graphs.drawing import words_of

    began = 0.0
    for step in run.steps:
        events = [line for line in step.lines if line["event"] in SHOWN]
        first, last = float(step.lines[0]["at"]), float(step.lines[-1]["at"])
        began = max(began, first if step.seconds is None else min(first, last - step.seconds))
        about = {"node": step.node, "name": words_of(step.node)[0], "at": began}
        yield {**about, "seconds": step.seconds, "events": events}


def _passage(passage: Line, passages: RunPassages) -> dict[str, Any]:
    """Return a recorded passage with its current text, or the reason why it has none."""
    from langchain_core.documents import Document

    text, why = passages.text(passage)
    return passage_view(Document(text or "", metadata=passage), passages.label) | {"why": why}


@router.post("/api/runs/{run}/case")
def make_case(run: RunId, request: MakeCase, workspace: Here) -> dict[str, Any]:
    """Make a case of a run, unless the request does not say what is right or the file has the question already.

    Send the case, the number of its `sources`, and `total`, the number of cases in its file.
    """
    from local_rag.evaluation.labels import keep_case

    answers = [answer.strip()[:LONGEST_NOTE] for answer in request.answers if answer.strip()]
    if not (answers or request.right or request.unanswerable):
        raise UsageError("say what a right answer is: answers, right or unanswerable")
    case, file = keep_case(
        workspace.settings,
        workspace.history.run(run),
        _case_file(workspace.settings, request.cases),
        answers=answers,
        unanswerable=request.unanswerable,
        right=request.right,
    )
    about = {"question": case.question, "answerable": bool(case.answerable), "answers": case.answers}
    return {"cases": request.cases, **about, "sources": len(case.relevant), "total": len(file.cases)}


@router.post("/api/feedback")
def judge(request: Judge, workspace: Here) -> Judgement:
    """Judge the answer of a run."""
    judged = request.model_dump()
    return workspace.history.judge(judged.pop("run"), judged.pop("good"), judged.pop("note"), **judged)


@router.get("/api/feedback")
def feedback(workspace: Here) -> dict[str, Sequence[Judgement]]:
    """List all judgements, that of the latest run first."""
    return {"feedback": workspace.history.judgements()}


@router.post("/api/feedback/cases")
def into_cases(request: IntoCases, workspace: Here) -> dict[str, Any]:
    """Make cases of the judged answers.

    Send how many were `kept`, were `known` before, lack a right answer (`unlabelled`) and are of other indexes
    (`elsewhere`); `total` is the number of cases in the file.
    """
    from local_rag.evaluation.labels import keep_feedback

    settings = workspace.settings_of(request.index)
    made = keep_feedback(settings, _case_file(settings, request.cases))
    counts = {name: getattr(made, name) for name in ("known", "unlabelled", "elsewhere")}
    return {"cases": request.cases, "kept": len(made.kept), **counts, "total": len(made.file.cases)}


@router.post("/api/feedback/{run}/delete")
def take_back(run: RunId, workspace: Here) -> dict[str, Sequence[str]]:
    """Delete the judgement of a run."""
    had = workspace.history.judgement(run)
    workspace.history.delete(judgements=[run])
    return {"deleted": [run] if had else []}


def _case_file(settings: Settings, name: str) -> Path:
    """Return the path of a case file, and make its folder; raise UsageError for a link."""
    path = settings.data_folder / CASES / f"{name}.jsonl"
    if path.is_symlink():
        raise UsageError(f"the case file {name!r} is a link")
    make_folder(path.parent)
    return path
