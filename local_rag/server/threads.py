"""List, show, rename, delete and export the threads of chats, or export one answer as Markdown or HTML.

Requests name a thread in the query or the body, because its name may have any character.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from fastapi.responses import Response
from pydantic import Field

from local_rag.core.errors import LocalRagError, NotFound, UsageError
from local_rag.index.index import Index
from local_rag.index.path_labels import PathLabels
from local_rag.runtime.export import chat_markdown
from local_rag.runtime.kept import AnsweredTurn, Thread, thread_name
from local_rag.server.answer_page import answer_page
from local_rag.server.answers import short
from local_rag.server.errors import TERMINAL, ApiError, error_object, in_fields
from local_rag.server.responses import Body, file_headers
from local_rag.server.turns import scope_view, turn_view
from local_rag.server.workspace import Here, Workspace

router = APIRouter()


class OfThread(Body):
    """Name a thread."""

    thread: str


class Rename(OfThread):
    """Name a thread, and its new name."""

    to: str = Field(max_length=200)


@dataclass(frozen=True)
class ThreadView(Thread):
    """Describe a thread in a list; `unanswered`: its last question has no answer."""

    unanswered: bool


@dataclass(frozen=True)
class Running:
    """Name the job of a question that is not answered yet."""

    job: str
    question: str


@dataclass(frozen=True)
class Ended:
    """Describe a question without an answer: `stopped`, `failed`, `refused`, or `cut off` by the end of the server.

    `error` says why, and `draft` is the unchecked text written until then.
    """

    question: str
    at: str
    state: str
    error: dict[str, str] | None
    draft: str


@dataclass(frozen=True)
class ThreadTurns:
    """Hold a thread's answers, oldest first, its questions that ended without one, and those that run or wait.

    `scope` has the choices of its last question.
    """

    name: str
    scope: dict[str, Any]
    turns: Sequence[dict[str, Any]]
    unanswered: Sequence[Ended]
    running: Sequence[Running]


@router.get("/api/threads")
def threads(workspace: Here, filter: Annotated[str, Query(max_length=500)] = "") -> dict[str, list[ThreadView]]:
    """List the threads, the last used first; with words, those in which a question and its answer hold all of them."""
    ended = _ended(workspace)
    listed = [each for each in workspace.history.threads(begun=True) if each.turns or each.name in ended]
    last = {name: questions[-1].at for name, questions in ended.items()}
    views = [ThreadView(**vars(each), unanswered=each.at == last.get(each.name)) for each in listed]
    said = workspace.history.saying(filter.split()) if filter else []
    return {"threads": [each for each in views if not filter or each.name in said]}


@router.get("/api/thread")
def thread(workspace: Here, thread: str, detail: bool = False) -> ThreadTurns:
    """Show a thread with its answers, the questions that ended without one, and those that run or wait."""
    try:
        name = workspace.history.thread(thread).name
    except NotFound as error:
        raise NotFound(f"there is no chat {thread!r}", "it may have been renamed or deleted") from error
    running = [Running(job.id, job.about["question"]) for job in workspace.jobs.in_thread(name)]
    turns = workspace.history.turns(name)
    labels = _labels(turns)
    views = [
        turn_view(workspace, each.scope, each.answer, labels, turn=number, at=each.at)
        for number, each in enumerate(turns, start=1)
    ]
    scope = scope_view(workspace, workspace.history.scope(name))
    ended = _ended(workspace).get(name, [])
    return ThreadTurns(name, scope, views if detail else [short(view) for view in views], ended, running)


def _ended(workspace: Workspace) -> dict[str, list[Ended]]:
    """Return the questions that ended without an answer by thread, oldest first.

    A question without an end was cut off, unless it began after the server did: then it still runs or waits.
    """
    ended: dict[str, list[Ended]] = {}
    for thread, questions in workspace.history.unanswered().items():
        for each in questions:
            cut_off = each.state in ("running", "waiting")
            if cut_off and each.at >= workspace.began:
                continue
            said = ApiError(0, each.state, in_fields(each.error), in_fields(each.hint), action=TERMINAL)
            error = error_object(said) if each.error else None
            view = Ended(each.question, each.at, "cut off" if cut_off else each.state, error, each.draft)
            ended.setdefault(thread, []).append(view)
    return ended


def _labels(turns: Sequence[AnsweredTurn]) -> PathLabels:
    """Return short names for the files of the indexes that these turns used, as far as those still exist."""
    roots: list[str] = []
    for folder in {folder for turn in turns for folder in turn.indexes} - {""}:
        with suppress(LocalRagError):
            roots += Index.inspect(Path(folder)).roots
    return PathLabels(roots)


@router.post("/api/thread/rename")
def rename(request: Rename, workspace: Here) -> dict[str, str]:
    """Rename a thread, and send its new `name` as it is stored."""
    name, new = _idle(workspace, request.thread), thread_name(request.to.strip())
    if new != name and workspace.jobs.in_thread(new):
        raise UsageError(f"there is a thread {new!r} already", hint="local-rag threads   lists them")
    return {"name": workspace.history.rename(name, new)}


@router.post("/api/thread/delete")
def delete(request: OfThread, workspace: Here) -> dict[str, int]:
    """Delete a thread with the `runs` of its questions."""
    return {"runs": len(workspace.history.delete(threads=[_idle(workspace, request.thread)]))}


@router.get("/api/thread/export", response_class=Response)
def export(
    workspace: Here,
    thread: str,
    turn: Annotated[int | None, Query(ge=1)] = None,
    format: Literal["md", "html"] = "md",
) -> Response:
    """Export a thread as Markdown, or one of its answers as Markdown or as an HTML file with its quotes in context."""
    name = workspace.history.thread(thread).name
    turns = workspace.history.turns(name)
    if (turn or 1) > len(turns):
        raise NotFound(f"the thread {name!r} has no turn {turn or 1}")
    chosen = turns if turn is None else turns[turn - 1 : turn]
    headers = file_headers(f"{name}.md" if turn is None else f"{name} {turn}.{format}")
    if turn is None or format == "md":
        return Response(
            chat_markdown(name, chosen, plain=True).encode(), media_type="text/markdown; charset=utf-8", headers=headers
        )
    page = answer_page(workspace, chosen[0].answer, _labels(chosen), chosen[0].at)
    return Response(page.encode(), media_type="text/html; charset=utf-8", headers=headers)


def _idle(workspace: Workspace, thread: str) -> str:
    """Return a thread's stored name; raise NotFound, or ApiError while one of its questions runs or waits."""
    if workspace.jobs.in_thread(thread):
        raise ApiError(409, "conflict", "a question of this thread is not answered yet", "stop it first")
    return workspace.history.thread(thread).name
