"""The first node of every graph: nothing is left of an earlier question but its turn, and a follow-up is made whole."""

from __future__ import annotations

from langgraph.runtime import Runtime

from local_rag.core.events import Note
from local_rag.core.protocols import Turn
from local_rag.core.verdicts import Graded
from local_rag.graphs.deps import Deps, deps_of
from local_rag.graphs.nodes.node import Emit, node
from local_rag.graphs.nodes.queries import REMEMBERED, kept_off_the_web
from local_rag.graphs.state import State, emptied


def begin(state: State, runtime: Runtime[Deps]) -> State:
    """Empty what an earlier question of the thread has left, and make a follow-up whole."""
    turns = state.get("turns") or list(map(dict, deps_of(runtime).turns))
    fresh: State = {"turns": turns}
    if "question" in state:
        fresh["question"] = state["question"]
    return emptied(state, {"turns": turns, **_whole_question(fresh, runtime)})


@node(lambda state, deps: "reading the question" if state["turns"] else "", name="begin")
def _whole_question(state: State, deps: Deps, emit: Emit) -> State:
    """The question as it would be asked without the chat before it; the first one stays as it is.

    A thread that has asked an index which is kept from the web has no budget for it: no edge leads there.
    """
    question, turns = state["question"], state["turns"]
    fresh: State = {"asked": question, "index": deps.folders[0]}
    if not turns:
        return fresh
    if deps.limit("web_searches") and (why := kept_off_the_web(turns, deps)):
        emit(Note(why))
        fresh["spent"] = ["web_searches"]
    history = [
        Turn(turn.get("asked") or turn.get("question", ""), turn.get("answer", "")) for turn in turns[-REMEMBERED:]
    ]
    rewrite = deps.engine.standalone(question, history)
    text = rewrite.text.strip() or question
    decisions = [Graded("standalone_question", text)] if text != question else []
    return {**fresh, "asked": text, "usage": rewrite.usage, "decisions": decisions}
