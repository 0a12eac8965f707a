"""The threads of a chat: listed, shown, renamed, deleted, exported; an answer alone as Markdown or as one HTML file."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from local_rag.core.errors import LocalRagError, UsageError
from local_rag.index.path_labels import PathLabels
from local_rag.runtime.export import markdown
from local_rag.server.answer_view import AnswerView, answer_view, shown
from local_rag.server.endpoints import Endpoint, File, Nothing, Request
from local_rag.server.errors import ApiError, NotFound

if TYPE_CHECKING:
    from local_rag.runtime.kept import Turn
    from local_rag.server.place import Place


class Named(Request):
    """A thread by its name."""

    thread: str


class Rename(Request):
    """A thread, and the name that it is to have."""

    thread: str
    to: str = Field(max_length=200)


class OfTurn(Request):
    """An answer of a thread by its number, from 1 on, and the format of its file."""

    thread: str
    turn: int = Field(ge=1)
    format: Literal["md", "html"] = "md"


@dataclass(frozen=True, slots=True)
class ThreadView:
    """A chat in a list. `at` is when its last question was answered; `stopped`: its last question was stopped."""

    name: str
    turns: int
    first: str
    at: str
    stopped: bool


@dataclass(frozen=True, slots=True)
class ThreadList:
    """Every thread, the one that was used last first."""

    threads: Sequence[ThreadView]


@dataclass(frozen=True, slots=True)
class ThreadTurns:
    """A thread with its answers, oldest first, and the question that runs or waits after them, or that was stopped."""

    name: str
    turns: Sequence[AnswerView]
    stopped: str | None
    running: str | None


@dataclass(frozen=True, slots=True)
class NameOf:
    """The name of a thread as it is stored."""

    name: str


@dataclass(frozen=True, slots=True)
class Deleted:
    """How many runs went with a thread."""

    runs: int


def threads(place: Place, request: Nothing) -> Any:
    """Threads whose first question was stopped have no turn yet, and stand first."""
    stopped, kept = _stopped(place), place.history.threads()
    views = [ThreadView(each.name, each.turns, each.first, each.at, each.name in stopped) for each in kept]
    known = {each.name for each in kept}
    begun = [ThreadView(name, 0, text, "", True) for name, text in stopped.items() if name not in known]
    return shown(ThreadList([*reversed(begun), *views]))


def thread(place: Place, request: Named) -> Any:
    """A thread that was left in the middle of its first answer has no turns, and its question."""
    running = place.questions.asked_in(request.thread)
    name, stopped = request.thread, None if running else _stopped(place).get(request.thread)
    with suppress(NotFound):
        name, turns = _turns(place, request.thread)
        labels = labels_of(turns)
        views = [
            answer_view(turn.answer, labels, turn=number, at=turn.at) for number, turn in enumerate(turns, start=1)
        ]
        return {**shown({"name": name, "stopped": stopped, "running": running}), "turns": views}
    if stopped is None and running is None:
        raise NotFound(f"there is no thread {request.thread!r}", "local-rag threads   lists them")
    return shown({"name": name, "turns": [], "stopped": stopped, "running": running})


def _stopped(place: Place) -> dict[str, str]:
    """The last question of each thread in which it was stopped; after a restart the history still says so.

    What runs and began after the server is being answered at a terminal.
    """
    last = [thread for thread in place.history.threads(begun=True) if not place.questions.asked_in(thread.name)]
    ended = [thread for thread in last if thread.state == "stopped" or thread.at < place.began]
    recorded = {thread.name: thread.last for thread in ended if thread.state in ("stopped", "running")}
    return recorded | place.questions.stopped


def _turns(place: Place, name: str) -> tuple[str, Sequence[Turn]]:
    """The stored name and the turns of a thread. Raises NotFound."""
    try:
        found = place.history.thread(name)
        if not found.turns:
            raise NotFound(f"no question of the thread {name!r} is answered yet")
        return found.name, place.history.turns(name)
    except UsageError as error:
        raise NotFound(str(error), error.hint) from error


def labels_of(turns: Sequence[Turn]) -> PathLabels:
    """Short names for the files of the indexes that these turns asked, as far as they are there."""
    from local_rag.index.index import Index

    roots: list[str] = []
    for folder in {folder for turn in turns for folder in turn.indexes} - {""}:
        with suppress(LocalRagError):
            roots += Index.inspect(Path(folder)).roots
    return PathLabels(roots)


def rename(place: Place, request: Rename) -> NameOf:
    from local_rag.runtime.kept import thread_name

    _must_be_idle(place, request.thread)
    name, is_kept = _known(place, request.thread)
    new = thread_name(request.to.strip())
    if new == name:
        return NameOf(new)
    if place.history.has(new) or place.questions.asked_in(new) or new in _stopped(place):
        raise UsageError(f"there is a thread {new!r} already", hint="local-rag threads   lists them")
    if is_kept:
        place.history.rename(name, new)
    place.questions.forget_stopped(name, renamed=new)
    return NameOf(new)


def delete(place: Place, request: Named) -> Deleted:
    """Delete a thread with the runs of its questions."""
    _must_be_idle(place, request.thread)
    name, is_kept = _known(place, request.thread)
    place.questions.forget_stopped(name)
    return Deleted(len(place.history.delete(threads=[name])) if is_kept else 0)


def _known(place: Place, name: str) -> tuple[str, bool]:
    """The stored name of a thread, and whether it is in the history. Raises NotFound."""
    try:
        return place.history.thread(name).name, True
    except UsageError as error:
        if name not in _stopped(place):
            raise NotFound(str(error), error.hint) from error
        return name, False


def _must_be_idle(place: Place, name: str) -> None:
    if place.questions.asked_in(name):
        raise ApiError(409, "conflict", "a question of this thread is not answered yet", "stop it first")


def export(place: Place, request: Named) -> File:
    name, turns = _turns(place, request.thread)
    return File(markdown(name, turns).encode(), "text/markdown; charset=utf-8", f"{name}.md")


def export_turn(place: Place, request: OfTurn) -> File:
    name, turns = _turns(place, request.thread)
    if request.turn > len(turns):
        raise NotFound(f"the thread {name!r} has no turn {request.turn}")
    turn = turns[request.turn - 1]
    title = f"{name} {request.turn}"
    if request.format == "md":
        return File(markdown(name, [turn]).encode(), "text/markdown; charset=utf-8", f"{title}.md")
    from local_rag.server.answer_page import answer_page

    page = answer_page(place, turn.answer, labels_of([turn]), turn.at)
    return File(page.encode(), "text/html; charset=utf-8", f"{title}.html")


ENDPOINTS = (
    Endpoint("GET", "/api/threads", threads, Nothing, ThreadList, "both", "the threads of the chat"),
    Endpoint("GET", "/api/threads/{thread}", thread, Named, ThreadTurns, "both", "a thread with its answers"),
    Endpoint("POST", "/api/threads/{thread}/rename", rename, Rename, NameOf, "both", "give a thread another name"),
    Endpoint("POST", "/api/threads/{thread}/delete", delete, Named, Deleted, "both", "delete a thread with its runs"),
    Endpoint("GET", "/api/threads/{thread}/export", export, Named, File, "both", "a thread as Markdown"),
    Endpoint(
        "GET",
        "/api/threads/{thread}/turns/{turn}/export",
        export_turn,
        OfTurn,
        File,
        "both",
        "an answer alone as Markdown, or as one HTML file with its quotes in their passages",
    ),
)
