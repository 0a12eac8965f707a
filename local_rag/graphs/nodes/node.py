"""What every node shares: its Deps, its stop button, its events, and what its update always has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from langchain_core.documents import Document
from langgraph.runtime import Runtime

from local_rag.core.answer import BudgetKind
from local_rag.core.errors import DeadlineExceeded, EngineError, ModelChanged, ModelMissing, UsageError
from local_rag.core.events import Called, Event, Note, Started, Token
from local_rag.core.verdicts import Graded, Usage
from local_rag.graphs import conflicts, outcome
from local_rag.graphs.deps import Deps, deps_of
from local_rag.graphs.messages import WRITER, Drafts, push_answer
from local_rag.graphs.state import State, after, begun
from local_rag.text.metadata import chunk_id

ACCEPTED = "useful"
"""The label of a draft that is the answer."""

Emit = Callable[[Event], None]
Work = Callable[[State, Deps, Emit], State]
Rule = Callable[[State], str]
Doing = Callable[[State, Deps], str]


class Node(Protocol):
    """A node as LangGraph calls it."""

    __name__: str

    def __call__(self, state: State, runtime: Runtime[Deps]) -> State: ...


def node(
    doing: str | Doing, rule: Rule | None = None, *, begins: bool = False, ends: bool = False
) -> Callable[[Work], Node]:
    """Make a node of a piece of work; `doing` is what a person is shown meanwhile.

    The node has a `Started` event, ends at once when the time is up or the engine failed, returns of the state's
    decisions, usage, path and exhausted budgets what is new.
    With a `rule` it decides the label for the edge behind it, and logs that as its last decision. Where it `ends` the
    graph, as every label `useful` does, it returns the answer as a person gets to read it, with what its files
    disagree about. Where it `begins` a question nothing is left of the one before it but the turns.
    """

    def decorate(work: Work) -> Node:
        def run(state: State, runtime: Runtime[Deps]) -> State:
            deps, left = deps_of(runtime), state
            state = _of_this_question(state) if begins else state
            emit = _emitting(runtime, deps)
            if not isinstance(state.get("question"), str):
                raise UsageError("a graph is given a question, a text", hint='graph.invoke({"question": "…"})')
            emit(Started(work.__name__, doing if isinstance(doing, str) else doing(state, deps)))
            update, in_time = _update(work, state, deps, emit)
            update = _finished(update, work.__name__, state, deps)
            if rule is not None:
                update["label"], why = rule(after(state, update)), update.setdefault("why", "")
                update["decisions"] += [Graded(work.__name__, update["label"], why)] if in_time else []
            ending, notes = ends or update.get("label") == ACCEPTED, list[Note]()
            if ending:
                final, verdicts, notes = conflicts.ended(after(state, update), deps)
                update |= final
                update["decisions"] += verdicts
            usage = update["usage"]
            events: list[Event] = [*update["decisions"], *map(Called, usage.log), *map(Note, usage.notes), *notes]
            for event in events:
                emit(event)
            if ending:
                push_answer(after(state, update), work.__name__ if ends else WRITER, deps.engine.name)
            return begun(left, update) if begins else update

        run.__name__ = run.__qualname__ = work.__name__
        run.__doc__ = work.__doc__
        return run

    return decorate


def _of_this_question(state: State) -> State:
    """What the first node of a question reads."""
    return {"question": state.get("question", ""), "turns": state.get("turns", [])}


def _emitting(runtime: Runtime[Deps], deps: Deps) -> Emit:
    """Events go to the stream; what is written is a message, too, where drafts are asked for."""
    write: Emit = runtime.stream_writer
    if not deps.drafts:
        return write
    drafts = Drafts()

    def emit(event: Event) -> None:
        write(event)
        if isinstance(event, Token):
            drafts.push(event)

    return emit


def _update(work: Work, state: State, deps: Deps, emit: Emit) -> tuple[State, bool]:
    """What the work returns, and True; what there is by then, and False, where the time is up or the engine fails."""
    try:
        with deps.scope():
            if state.get("failed"):
                return {}, True
            deps.cancel.check()
            return work(state, deps, emit), True
    except DeadlineExceeded:
        return outcome.out_of_time(state, deps), False
    except (EngineError, ModelMissing, ModelChanged) as error:
        return outcome.engine_failed(state, deps, error), False


def _finished(update: State, name: str, state: State, deps: Deps) -> State:
    """An update with what every node returns: its decisions, usage, path and the exhausted budgets."""
    return {
        **update,
        "spent": _exhausted(state, update, deps),
        "decisions": [*update.get("decisions", ())],
        "usage": update.get("usage", Usage()),
        "path": [name],
    }


def _exhausted(state: State, update: State, deps: Deps) -> list[str]:
    """The budgets used up so far; none ever comes back."""
    tries = update.get("tries", state.get("tries", {}))
    return sorted({*state.get("spent", ()), *update.get("spent", ()), *deps.exhausted(tries)})


def counted(state: State, kind: BudgetKind) -> dict[BudgetKind, int]:
    """The tries so far with one more of this kind."""
    tries = state.get("tries", {})
    return {**tries, kind: tries.get(kind, 0) + 1}


def rejected(state: State, documents: Sequence[Document]) -> list[str]:
    """The ids that no later retrieval of this question may bring again, with those of `documents`."""
    return list(dict.fromkeys([*state.get("rejected", ()), *map(chunk_id, documents)]))
