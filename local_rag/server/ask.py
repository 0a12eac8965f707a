"""Ask questions; list, follow and stop the jobs of the server; give or refuse consent to a web search."""

from __future__ import annotations

import threading
import time
from collections.abc import Generator, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

from fastapi import APIRouter, Depends
from fastapi.responses import Response
from pydantic import Field

from local_rag.config.values import EngineName, GraphName
from local_rag.core.documents import Narrowing
from local_rag.core.errors import LocalRagError, ModelMissing
from local_rag.core.events import Done, WebQuery
from local_rag.core.protocols import Turn
from local_rag.runtime.each import WRITTEN, rows_of
from local_rag.runtime.kept import thread_name
from local_rag.runtime.opening import LONGEST_QUESTION, check_question
from local_rag.runtime.recording import ended_by
from local_rag.server.answers import event_view
from local_rag.server.auth import Asking, Caller, person_only
from local_rag.server.documents import file_of
from local_rag.server.errors import ApiError, api_error
from local_rag.server.jobs import Job, JobEvent, WebConsent
from local_rag.server.listings import safe_line
from local_rag.server.responses import Body, Narrowed, event_stream, job_response
from local_rag.server.turns import NOT_KEPT, turn_view
from local_rag.server.workspace import Here, Workspace

OPENING = "open"
"""The name of the step before the first node, in which the index and the models are opened once."""

_NAMING = threading.Lock()
"""The lock that is held while a thread gets its name, so that no two threads begin with the same name."""

router = APIRouter()


class Ask(Narrowed):
    """Describe a question; a missing field is as in the settings, and `within`, dates, types and authors narrow it.

    `thread`: without it the question is in no thread, "" begins a thread named after the question, and a name continues
    that thread.
    `files` narrows the question to files by their IDs, too.
    `web`: a page may ask its person for consent to a web search; the question of a program never searches the web.
    `each` asks every file alone: each gives a `row`, and the last event has all rows, also as CSV and Markdown.
    Without `stream` only the answer is sent, when it is complete; `detail` adds how it was found.
    """

    question: str = Field(max_length=4 * LONGEST_QUESTION)
    index: str | list[str] | None = None
    files: tuple[str, ...] = Field((), max_length=1000)
    graph: GraphName | None = None
    web: bool | None = None
    k: int | None = Field(None, ge=1, le=100)
    thread: str | None = None
    engine: EngineName | None = None
    model: str | None = None
    each: bool = False
    stream: bool = True
    detail: bool = False

    @property
    def scope(self) -> dict[str, Any]:
        """The choices for this question, which its chat keeps."""
        return self.model_dump(mode="json", exclude_defaults=True, exclude=NOT_KEPT)


class Consent(Body):
    """Say whether the shown words, the `query` of the event, may be sent to the web."""

    send: bool
    query: str


@dataclass(frozen=True)
class JobView:
    """Describe a job: `position` counts the questions before it.

    `about` has the question, its thread and its graph, or the index, or the `name` of the cases or the model.
    """

    id: str
    kind: str
    caller: str
    state: str
    position: int
    about: dict[str, Any]


@dataclass(frozen=True)
class UnfinishedView:
    """Name an index whose indexing the end of a server cut off, with the `share` that was done, if known."""

    index: str
    share: float | None


@dataclass(frozen=True)
class JobsView:
    """List the jobs, and the indexing that was cut off if nothing is at work now."""

    jobs: Sequence[JobView]
    unfinished: Sequence[UnfinishedView]


def enter(asked: Ask, workspace: Workspace, caller: Caller, turns: Sequence[Turn] = ()) -> Job:
    """Put a question into the queue and return its job.

    A question with a thread is stored there at once; one without follows these turns. Raise what is wrong with the
    question before anything begins.
    """
    check_question(asked.question)
    question = asked.question.encode("utf-8", "replace").decode().strip()
    if asked.thread is None:
        return _queued(asked, workspace, caller, {"question": question, "thread": ""}, turns=turns)
    with _NAMING:
        thread = thread_name(asked.thread) if asked.thread else workspace.history.fresh(question)
        waiting = workspace.history.begin(question, thread=thread, state="waiting", scope=asked.scope)
    try:
        return _queued(asked, workspace, caller, {"question": question, "thread": thread}, waiting)
    except LocalRagError as error:
        workspace.history.end(waiting, **(ended_by(error) | {"state": "refused"}))
        refused = api_error(error)
        refused.thread = thread
        raise refused from error


def _queued(
    asked: Ask,
    workspace: Workspace,
    caller: Caller,
    about: dict[str, Any],
    waiting: str = "",
    turns: Sequence[Turn] = (),
) -> Job:
    """Queue the job of a question; `waiting` is its ID in the history, or "".

    Raise ApiError for a missing model.
    """
    from local_rag.runtime.engine_choice import check_named

    settings = _settings(workspace, asked, caller)
    index = asked.index if isinstance(asked.index, str) else None
    chosen = [file_of(identity, workspace, index)[1] for identity in asked.files]
    narrowing = replace(asked.narrowing, within=(*asked.within, *chosen))
    in_force = workspace.settings_of(asked.index, **settings)
    if asked.model:
        try:
            check_named(in_force)
        except ModelMissing as error:
            raise ApiError(400, "model_missing", str(error), error.hint) from error
    about["graph"] = asked.graph or workspace.settings.values.graph

    def end(**how: Any) -> None:
        """Record how a question ended that had not begun; `Rag` records those that have."""
        if waiting:
            with suppress(LocalRagError):
                workspace.history.end(waiting, **how)

    def events(job: Job) -> Generator[JobEvent]:
        try:
            yield from _events(job, workspace, asked, narrowing, settings, turns)
        except Exception as error:
            end(**ended_by(error))
            raise

    return workspace.jobs.ask(Job("question", caller, about, events, at_stop=partial(end, state="stopped")))


@router.post("/api/ask")
async def ask(asked: Ask, workspace: Here, caller: Asking) -> Any:
    """Ask a question, and send its events as they happen, the answer last, or only the answer."""
    return await job_response(
        lambda: enter(asked, workspace, caller), workspace.limits, stream=asked.stream, detail=asked.detail
    )


@router.get("/api/jobs")
def jobs(workspace: Here) -> JobsView:
    """List the questions that run or wait, what else is at work, and the indexing that was cut off."""
    questions, working = workspace.jobs.questions(), workspace.jobs.working
    listed = [*enumerate(questions), *([(0, working)] if working else [])]
    views = [JobView(job.id, job.kind, job.caller, job.state, position, job.about) for position, job in listed]
    left = {name: each for name, each in workspace.unfinished.all().items() if not working}
    return JobsView(views, [UnfinishedView(safe_line(name), each.get("share")) for name, each in left.items()])


@router.get("/api/jobs/{id}/events")
async def events(id: str, workspace: Here, detail: bool = False) -> Response:
    """Send the events of a job, from the first one on and then as they come."""
    return event_stream(workspace.jobs.get(id), workspace.limits.heartbeat, detail=detail)


@router.post("/api/jobs/{id}/stop")
def stop(id: str, workspace: Here) -> dict[str, bool]:
    """Stop a job."""
    workspace.jobs.stop(id)
    return {"done": True}


@router.post("/api/jobs/{id}/web", dependencies=[Depends(person_only)])
def consent(id: str, given: Consent, workspace: Here) -> dict[str, bool]:
    """Allow or refuse that the words of a web query are sent; only the page can do so."""
    waiting = workspace.jobs.get(id).consent
    if waiting is None:
        raise ApiError(409, "conflict", "this job asks for no consent")
    waiting.give(given.send, given.query)
    return {"done": True}


def _events(
    job: Job,
    workspace: Workspace,
    asked: Ask,
    narrowing: Narrowing,
    settings: dict[str, Any],
    turns: Sequence[Turn],
) -> Generator[JobEvent]:
    about = job.about
    yield "begun", {"id": job.id, **about}
    began = time.monotonic()
    yield "started", {"node": OPENING, "doing": "opening the index"}
    with ExitStack() as using:
        rag = using.enter_context(workspace.using(asked.index, **settings))
        yield "step", {"node": OPENING, "seconds": time.monotonic() - began}
        label = rag.corpus.path_labels()
        if asked.each:
            rows = list[dict[str, str]]()
            for answer in rag.each(about["question"], narrowing, graph=about["graph"], k=asked.k, cancel=job.cancel):
                rows += rows_of([answer], label)
                yield "row", rows[-1]
            yield "rows", {"rows": rows, **{name: write(rows) for name, write in WRITTEN.items()}}
            return
        asks = job.consent = WebConsent(job.cancel) if job.caller == "cookie" else None
        stream = rag.stream(
            about["question"],
            graph=about["graph"],
            k=asked.k,
            within=narrowing,
            thread=about["thread"] or None,
            turns=turns,
            may_search=asks.may_search if asks else "never",
            cancel=job.cancel,
        )
        for event in using.enter_context(closing(cast("Generator[Any]", stream))):
            if isinstance(event, Done):
                job.answer = event.answer, label
                known = {each.name: each.turns for each in workspace.history.threads()} if about["thread"] else {}
                number = known.get(about["thread"], 0)
                yield "answer", turn_view(workspace, asked.scope, event.answer, label, turn=number)
                return
            if isinstance(event, WebQuery) and asks:
                asks.proposed(event)
            name, value = event_view(event, label)
            yield name, value | ({"asks": asks is not None} if name == "web_query" else {})


def _settings(workspace: Workspace, asked: Ask, caller: Caller) -> dict[str, Any]:
    """Return the settings of a question besides the index; the web is always off for a program."""
    configured = workspace.settings.values.web.enabled != "off"
    wanted = caller == "cookie" and (configured if asked.web is None else asked.web)
    web = None if wanted == configured else "ask" if wanted else "off"
    given = {"engine": asked.engine, "model": asked.model or None, "web__enabled": web}
    return {name: value for name, value in given.items() if value is not None}
