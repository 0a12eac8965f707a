"""What every node shares: its Deps, its stop button, its events, and how it writes into the state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from langchain_core.documents import Document
from langgraph.runtime import Runtime

from local_rag.core.answer import Kind
from local_rag.core.errors import DeadlineExceeded
from local_rag.core.events import Called, Event, Note, Started
from local_rag.core.usage import Usage
from local_rag.core.verdicts import Graded
from local_rag.graphs import outcome
from local_rag.graphs.state import Deps, State, Update, deps_of
from local_rag.text.display import shorten

Emit = Callable[[Event], None]
Work = Callable[[State, Deps, Emit], Update]


class Node(Protocol):
    """A node as LangGraph calls it."""

    def __call__(self, state: State, runtime: Runtime[Deps]) -> Update: ...


def node(doing: Callable[[State], str]) -> Callable[[Work], Node]:
    """Give a piece of work its Deps, its stop button, its `Started` event and its end when the time is up."""

    def decorate(work: Work) -> Node:
        def run(state: State, runtime: Runtime[Deps]) -> Update:
            deps = deps_of(runtime)
            emit: Emit = runtime.stream_writer
            emit(Started(work.__name__, doing(state)))
            try:
                with deps.scope():
                    deps.cancel.check()
                    update = work(state, deps, emit)
            except DeadlineExceeded:
                update = outcome.out_of_time(state, deps)
            _tell(state, update, emit)
            return update | {"spent": spent_after(state, update, deps)}

        run.__name__ = run.__qualname__ = work.__name__
        run.__doc__ = work.__doc__
        return run

    return decorate


def _tell(state: State, update: Update, emit: Emit) -> None:
    """What the node's calls to a language model cost, and what they want a person to know."""
    before, after = usage_of(state), update.get("usage", usage_of(state))
    for call in after.log[len(before.log) :]:
        emit(Called(call))
    for note in after.notes[len(before.notes) :]:
        emit(Note(note))


def asked(state: State) -> str:
    """The question as it is understood: as it was asked, or made whole where it follows others."""
    return state.get("asked") or state["question"]


def same_query(query: str) -> str:
    """What two queries are compared by."""
    return shorten(query.casefold(), 1000)


def id_of(document: Document) -> str:
    return str(document.metadata.get("chunk_id", ""))


def rejected(state: State, documents: Sequence[Document]) -> list[str]:
    """The ids that no later retrieval of this question may bring again, with those of `documents`."""
    return list(dict.fromkeys([*state.get("rejected", ()), *map(id_of, documents)]))


def log(state: State, emit: Emit, *graded: Graded) -> list[Graded]:
    for verdict in graded:
        emit(verdict)
    return [*state.get("decisions", ()), *graded]


def usage_of(state: State) -> Usage:
    return state.get("usage", Usage())


def tries_of(state: State, update: Update) -> dict[Kind, int]:
    tries: dict[Kind, int] = update.get("tries", state.get("tries", {}))
    return tries


def counted(state: State, kind: Kind) -> dict[Kind, int]:
    tries = state.get("tries", {})
    return {**tries, kind: tries.get(kind, 0) + 1}


def after(state: State, update: Update, deps: Deps) -> State:
    """The state as the edge will see it."""
    merged: State = {**state, **update, "spent": spent_after(state, update, deps)}  # type: ignore[typeddict-item]
    return merged


def spent_after(state: State, update: Update, deps: Deps) -> list[str]:
    """The budgets used up so far; none ever comes back."""
    return sorted({*state.get("spent", ()), *update.get("spent", ()), *deps.spent(tries_of(state, update))})
