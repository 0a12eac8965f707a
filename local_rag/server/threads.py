"""The threads of a chat: listed, shown, renamed, deleted, exported; an answer alone as Markdown or as one HTML file.

A thread is named in the query or the body, for its name may have any sign.
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

from local_rag.core.errors import LocalRagError, UsageError
from local_rag.index.index import Index
from local_rag.index.path_labels import PathLabels
from local_rag.runtime.export import markdown
from local_rag.runtime.kept import Thread, Turn, thread_name
from local_rag.server.answer_page import answer_page
from local_rag.server.answers import answer_view, short
from local_rag.server.errors import ApiError, NotFound
from local_rag.server.responses import Body, file_headers
from local_rag.server.workspace import Here, Workspace

router = APIRouter()


class OfThread(Body):
    """A thread by its name."""

    thread: str


class Rename(OfThread):
    """A thread, and the name that it is to have."""

    to: str = Field(max_length=200)


@dataclass(frozen=True, slots=True)
class ThreadView:
    """A chat in a list. `at` is when its last question was answered; `stopped`: its last question was stopped."""

    name: str
    turns: int
    first: str
    at: str
    stopped: bool


@dataclass(frozen=True, slots=True)
class Running:
    """The job of a question that is not answered yet."""

    job: str
    question: str


@dataclass(frozen=True, slots=True)
class ThreadTurns:
    """A thread with its answers, oldest first, and the question that runs or waits after them, or that was stopped."""

    name: str
    turns: Sequence[dict[str, Any]]
    stopped: str | None
    running: Running | None


@router.get("/api/threads")
def threads(workspace: Here) -> dict[str, list[ThreadView]]:
    """The threads, the one that was used last first."""
    rows = ((thread, _stopped(workspace, thread)) for thread in workspace.history.threads(begun=True))
    shown = [(thread, stopped) for thread, stopped in rows if thread.turns or stopped]
    return {"threads": [ThreadView(each.name, each.turns, each.first, each.at, bool(last)) for each, last in shown]}


@router.get("/api/thread")
def thread(workspace: Here, thread: str, detail: bool = False) -> ThreadTurns:
    """A thread with its answers; one that was left in its first question has none, and that question."""
    job = workspace.jobs.in_thread(thread)
    running = Running(job.id, job.about["question"]) if job else None
    try:
        kept = workspace.history.thread(thread)
    except UsageError as error:
        if running is None:
            raise NotFound(str(error), error.hint) from error
        return ThreadTurns(thread, [], None, running)
    turns, stopped = workspace.history.turns(kept.name) if kept.turns else (), _stopped(workspace, kept)
    if not (turns or running or stopped):
        raise NotFound(f"no question of the thread {thread!r} is answered yet")
    labels = _labels(turns)
    views = [answer_view(each.answer, labels, turn=number, at=each.at) for number, each in enumerate(turns, start=1)]
    return ThreadTurns(kept.name, views if detail else [short(view) for view in views], stopped, running)


def _stopped(workspace: Workspace, thread: Thread) -> str | None:
    """The last question of a thread where it was stopped, refused, failed, or was cut off by the end of a process.

    What runs and began after the server is being answered at a terminal.
    """
    ended = thread.state in ("stopped", "failed", "refused") or (
        thread.state == "running" and thread.at < workspace.began
    )
    return thread.last if ended and not workspace.jobs.in_thread(thread.name) else None


def _labels(turns: Sequence[Turn]) -> PathLabels:
    """Short names for the files of the indexes that these turns asked, as far as they are there."""
    roots: list[str] = []
    for folder in {folder for turn in turns for folder in turn.indexes} - {""}:
        with suppress(LocalRagError):
            roots += Index.inspect(Path(folder)).roots
    return PathLabels(roots)


@router.post("/api/thread/rename")
def rename(request: Rename, workspace: Here) -> dict[str, str]:
    """Give a thread another name; its `name` as it is stored."""
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
    """A thread as Markdown; or one of its answers, as that or as one HTML file with its quotes in their passages."""
    name = _named(workspace, thread)
    turns = workspace.history.turns(name)
    if (turn or 1) > len(turns):
        raise NotFound(f"the thread {name!r} has no turn {turn or 1}")
    chosen = turns if turn is None else turns[turn - 1 : turn]
    headers = file_headers(f"{name}.md" if turn is None else f"{name} {turn}.{format}")
    if turn is None or format == "md":
        return Response(markdown(name, chosen).encode(), media_type="text/markdown; charset=utf-8", headers=headers)
    page = answer_page(workspace, chosen[0].answer, _labels(chosen), chosen[0].at)
    return Response(page.encode(), media_type="text/html; charset=utf-8", headers=headers)


def _named(workspace: Workspace, thread: str) -> str:
    """The name of a thread as it is stored. Raises NotFound."""
    try:
        return workspace.history.thread(thread).name
    except UsageError as error:
        raise NotFound(str(error), error.hint) from error


def _idle(workspace: Workspace, thread: str) -> str:
    """The stored name of a thread whose questions are all answered. Raises NotFound, ApiError."""
    if workspace.jobs.in_thread(thread):
        raise ApiError(409, "conflict", "a question of this thread is not answered yet", "stop it first")
    return _named(workspace, thread)
