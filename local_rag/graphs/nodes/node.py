"""What every node shares: its Deps, its stop button, its events, and how its update is added to the state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from langchain_core.documents import Document
from langgraph.runtime import Runtime

from local_rag.core.answer import BudgetKind
from local_rag.core.errors import DeadlineExceeded, EngineError, ModelMissing
from local_rag.core.events import Called, Event, Note, Started
from local_rag.core.usage import Usage
from local_rag.core.verdicts import Graded
from local_rag.graphs import outcome
from local_rag.graphs.state import Deps, State, Update, deps_of

Emit = Callable[[Event], None]
Work = Callable[[State, Deps, Emit], Update]
Rule = Callable[[State], str]
Doing = Callable[[State, Deps], str]


class Node(Protocol):
    """A node as LangGraph calls it."""

    __name__: str

    def __call__(self, state: State, runtime: Runtime[Deps]) -> Update: ...


def node(doing: str | Doing, rule: Rule | None = None) -> Callable[[Work], Node]:
    """Make a node of a piece of work; `doing` is what a person is shown meanwhile.

    The node has a `Started` event, ends at once when the time is up or the engine failed, adds what is new to the
    state's decisions, usage and exhausted budgets, and returns `generation`, as every node that can end a graph must.
    With a `rule` it decides the label for the edge behind it, and logs that as its last decision.
    """

    def decorate(work: Work) -> Node:
        def run(state: State, runtime: Runtime[Deps]) -> Update:
            deps = deps_of(runtime)
            emit: Emit = runtime.stream_writer
            emit(Started(work.__name__, doing if isinstance(doing, str) else doing(state, deps)))
            in_time = True
            try:
                with deps.scope():
                    update = {} if state.get("failed") else _worked(work, state, deps, emit)
            except DeadlineExceeded:
                update, in_time = outcome.out_of_time(state, deps), False
            except (EngineError, ModelMissing) as error:
                update, in_time = outcome.engine_failed(state, deps, error), False
            update = {"generation": state.get("generation", ""), **update, "spent": _exhausted(state, update, deps)}
            decisions, usage = update.get("decisions", []), update.get("usage", Usage())
            if rule is not None:
                update["label"], why = rule({**state, **update}), update.setdefault("why", "")
                decisions = [*decisions, Graded(work.__name__, update["label"], why)] if in_time else decisions
            events: list[Event] = [*decisions, *map(Called, usage.log), *map(Note, usage.notes)]
            for event in events:
                emit(event)
            update["decisions"] = [*state.get("decisions", ()), *decisions]
            update["usage"] = state.get("usage", Usage()) + usage
            return update

        run.__name__ = run.__qualname__ = work.__name__
        run.__doc__ = work.__doc__
        return run

    return decorate


def _worked(work: Work, state: State, deps: Deps, emit: Emit) -> Update:
    deps.cancel.check()
    return work(state, deps, emit)


def _exhausted(state: State, update: Update, deps: Deps) -> list[str]:
    """The budgets used up so far; none ever comes back."""
    tries = update.get("tries", state.get("tries", {}))
    return sorted({*state.get("spent", ()), *update.get("spent", ()), *deps.exhausted(tries)})


def counted(state: State, kind: BudgetKind) -> dict[BudgetKind, int]:
    """The tries so far with one more of this kind."""
    tries = state.get("tries", {})
    return {**tries, kind: tries.get(kind, 0) + 1}


def standalone_question(state: State) -> str:
    """The question as it was asked, or made whole where it follows others."""
    return state.get("asked") or state["question"]


def chunk_id(document: Document) -> str:
    return str(document.metadata.get("chunk_id", ""))


def rejected(state: State, documents: Sequence[Document]) -> list[str]:
    """The ids that no later retrieval of this question may bring again, with those of `documents`."""
    return list(dict.fromkeys([*state.get("rejected", ()), *map(chunk_id, documents)]))
