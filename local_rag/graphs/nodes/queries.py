"""Make the question standalone at the beginning, reword it later, and make queries for the web.

A query for the web is made of the person's own questions, this one and earlier ones, and nothing else. A question of a
chat is made standalone with the earlier answers in the prompt, and a query for the files may borrow their words:
neither ever leaves this machine. The model that writes a query for the web is shown no answer, passage, title or name
of a file, so that it cannot reveal them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any

from langgraph.func import task
from langgraph.runtime import Runtime

from local_rag.core.events import Note
from local_rag.core.protocols import Turn
from local_rag.core.verdicts import Graded, Target, Usage
from local_rag.graphs.deps import Deps, deps_of
from local_rag.graphs.nodes.node import Emit, Node, counted, node
from local_rag.graphs.rules import budget_left
from local_rag.graphs.state import State, emptied, standalone_of
from local_rag.graphs.whole import whole_of
from local_rag.text.spelling import repaired
from local_rag.text.words import query_key

REMEMBERED = 6
"""The most turns before a follow-up that the engine is shown; a follow-up nearly always refers to the
last one or two.
"""


def transform_query(target: Target) -> Node:
    """Make the node that rewrites queries for this target."""

    @node("rewriting the question")
    def transform_query(state: State, deps: Deps, emit: Emit) -> State:
        """Write another query for the same question; a query that adds nothing to the tried ones ends the rewriting.

        For the web the rewriter is told only what the web may be told.
        """
        leaves = target == "web" and not deps.fallback_corpus
        if leaves:
            tried, usage = web_queries(state, deps)
        else:
            tried, usage = state.get("tried") or [standalone_of(state)], Usage()
        query = question = tried[0] if leaves else standalone_of(state)
        update: State = {}
        if budget_left(state, "rewrites"):
            rewrite = deps.engine.rewrite(question, tried, target)
            usage += rewrite.usage
            if rewrite.text.strip() and query_key(rewrite.text) not in map(query_key, tried):
                query, tried = rewrite.text, [*tried, rewrite.text]
                update = {"tries": counted(state, "rewrites"), "decisions": [Graded("transform_query", query)]}
            else:
                verdict = Graded("transform_query", rewrite.text, "the rewriter has nothing new")
                update = {"spent": ["rewrites"], "decisions": [verdict]}
        queries: State = {"web_queries": tried} if leaves else {"query": query, "tried": tried}
        return {**queries, **update, "usage": usage}

    return transform_query


def web_queries(state: State, deps: Deps, *, once: bool = False) -> tuple[list[str], Usage]:
    """Return the question made standalone from the person's own questions, each query written from it, and the cost.

    The last query is searched for. Only a question that the chat before it has changed costs a call.
    """
    if queries := state.get("web_queries"):
        return queries, Usage()
    question = state["question"]
    history = [Turn(turn.get("question", ""), "") for turn in state.get("turns", [])[-REMEMBERED:]]
    if not history or standalone_of(state) == question:
        return [question], Usage()
    asked = question, history, deps
    query, usage = task(_made_whole)(*asked).result() if once else _made_whole(*asked)
    return [query], usage


def _made_whole(question: str, history: Sequence[Turn], deps: Deps) -> tuple[str, Usage]:
    rewrite = deps.engine.standalone(question, history)
    return rewrite.text.strip() or question, rewrite.usage


def kept_off_the_web(turns: Sequence[Mapping[str, Any]], deps: Deps) -> str:
    """Return why a thread with these turns never searches the web, or "" if it may: one index kept off the web is
    enough.

    A turn that does not name its index counts as a turn of a kept one. The thread may still search a fallback corpus.
    """
    if deps.fallback_corpus:
        return ""
    for turn in turns:
        folders = turn.get("indexes") or [""]
        kept = [folder for folder in folders if deps.kept_from_web(folder)]
        if turn.get("web_never") or kept:
            folder = (kept or folders)[0]
            which = f"has asked the index {PurePath(folder).name}" if folder else "does not say which index it asked"
            return (
                f"this thread stays off the web: it {which}, and web.never is set; /new or another --thread may search"
            )
    return ""


def begin(state: State, runtime: Runtime[Deps]) -> State:
    """Empty the keys that an earlier question of the thread has left, and make a follow-up standalone."""
    turns = state.get("turns") or list(map(dict, deps_of(runtime).turns))
    fresh: State = {"turns": turns}
    if "question" in state:
        fresh["question"] = state["question"]
    return emptied(state, {"turns": turns, **_whole_question(fresh, runtime)})


@node(lambda state, deps: "reading the question" if state["turns"] else "", name="begin")
def _whole_question(state: State, deps: Deps, emit: Emit) -> State:
    """Make the question standalone, as it would be asked without the chat before it; the first question stays as it is.

    A thread that has asked an index which is kept from the web has no budget for it: no edge leads there.
    """
    written, turns = state["question"], state["turns"]
    question = repaired(written, deps.index, deps.evaluator) if deps.evaluator else written
    fresh: State = {"asked": question, "index": deps.folders[0], "whole": whole_of(question, deps)}
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
    return {**fresh, "asked": text, "whole": whole_of(text, deps), "usage": rewrite.usage, "decisions": decisions}
