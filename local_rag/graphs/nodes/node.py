"""Share what every node needs: its Deps, its cancel scope, its events, budgets and time, and the label for the edge."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol
from uuid import uuid4

from langchain_core.documents import Document
from langchain_core.messages import AIMessageChunk
from langchain_core.runnables.config import var_child_runnable_config
from langgraph.graph.message import push_message
from langgraph.runtime import Runtime

from local_rag.core.answer import BudgetKind
from local_rag.core.cancel import scope
from local_rag.core.errors import DeadlineExceeded, EngineError, ModelChanged, ModelMissing, UsageError
from local_rag.core.events import Called, Event, Note, Started, Token
from local_rag.core.verdicts import Graded, Usage
from local_rag.graphs.deps import TIME, Deps, deps_of
from local_rag.graphs.drafts import best_draft
from local_rag.graphs.state import State, after
from local_rag.text.metadata import chunk_id

Emit = Callable[[Event], None]
Work = Callable[[State, Deps, Emit], State]
Rule = Callable[[State], str]
Doing = Callable[[State, Deps], str]


class Node(Protocol):
    """Define a node as LangGraph calls it."""

    __name__: str

    def __call__(self, state: State, runtime: Runtime[Deps]) -> State: ...


def node(doing: str | Doing, rule: Rule | None = None, *, name: str = "") -> Callable[[Work], Node]:
    """Make a node of a piece of work; a person is shown `doing` meanwhile; `name` is by default the function's.

    The node sends a `Started` event and ends at once when the time is up or the engine failed. Of the state's
    decisions, usage, path and exhausted budgets it returns only the new part. With a `rule` it decides the label for
    the edge behind it, and logs that as its last decision.
    """

    def decorate(work: Work) -> Node:
        called = name or work.__name__

        def run(state: State, runtime: Runtime[Deps]) -> State:
            deps = deps_of(runtime)
            emit = emitting(runtime, deps)
            if not isinstance(state.get("question"), str):
                raise UsageError("a graph is given a question, a text", hint='graph.invoke({"question": "…"})')
            emit(Started(called, doing if isinstance(doing, str) else doing(state, deps)))
            update, in_time = _update(work, state, deps, emit)
            used = deps.exhausted(update.get("tries", state.get("tries", {})))
            update = {
                **update,
                "spent": sorted({*state.get("spent", ()), *update.get("spent", ()), *used}),  # none ever comes back
                "decisions": [*update.get("decisions", ())],
                "usage": update.get("usage", Usage()),
                "path": [called],
            }
            if rule is not None:
                update["label"], why = rule(after(state, update)), update.setdefault("why", "")
                update["decisions"] += [Graded(called, update["label"], why)] if in_time else []
            usage = update["usage"]
            events: list[Event] = [*update["decisions"], *map(Called, usage.log), *map(Note, usage.notes)]
            for event in events:
                emit(event)
            return update

        run.__name__ = run.__qualname__ = called
        run.__doc__ = work.__doc__
        return run

    return decorate


def emitting(runtime: Runtime[Deps], deps: Deps) -> Emit:
    """Return a function that sends events to the stream, and each draft as a message of its own if drafts are asked
    for; a draft that begins again is another message.
    """
    write: Emit = runtime.stream_writer
    if not deps.drafts:
        return write
    draft, message = (0, 0), ""

    def emit(event: Event) -> None:
        nonlocal draft, message
        write(event)
        if not isinstance(event, Token):
            return
        if event.restart or draft != (event.attempt, event.candidate):
            draft, message = (event.attempt, event.candidate), f"draft-{uuid4().hex}"
        if event.text and is_heard():
            push_message(AIMessageChunk(content=event.text, id=message), state_key=None)

    return emit


def _update(work: Work, state: State, deps: Deps, emit: Emit) -> tuple[State, bool]:
    """Return the update of the work, and whether it was completed: it is not if the time is up or the engine fails.

    Raises the engine's error if nothing is written that could be shown.
    """
    try:
        with scope(deps.cancel):
            if state.get("failed"):
                return {}, True
            deps.cancel.check()
            return work(state, deps, emit), True
    except DeadlineExceeded:
        return {"spent": [TIME]}, False
    except (EngineError, ModelMissing, ModelChanged) as error:
        if best_draft(state, deps)[0] is None:
            raise
        return {"spent": [TIME], "failed": str(error)}, False


def counted(state: State, kind: BudgetKind) -> dict[BudgetKind, int]:
    """Return the tries so far with one more of this kind."""
    tries = state.get("tries", {})
    return {**tries, kind: tries.get(kind, 0) + 1}


def rejected(state: State, documents: Sequence[Document]) -> list[str]:
    """Return the ids that no later retrieval of this question may bring again, with those of `documents`."""
    return list(dict.fromkeys([*state.get("rejected", ()), *map(chunk_id, documents)]))


def is_heard() -> bool:
    """Return whether somebody listens to the messages of the running node (`stream_mode="messages"`).

    Messages are the final answer, and every draft if drafts are asked for. A draft can be rejected, and a verdict is
    JSON, so calls to a model are no messages (see `core.events`).
    """
    config = var_child_runnable_config.get()
    return bool(config and getattr(config.get("callbacks"), "handlers", None))
