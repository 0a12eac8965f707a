"""The question rewriter of the three methods."""

from __future__ import annotations

from local_rag.core.usage import Usage
from local_rag.core.verdicts import Graded, Target
from local_rag.graphs.deps import Deps
from local_rag.graphs.nodes.node import Emit, Node, counted, node
from local_rag.graphs.nodes.own_words import own_queries, own_update
from local_rag.graphs.rules import budget_left
from local_rag.graphs.state import State, standalone_of
from local_rag.text.words import query_key


def transform_query(target: Target) -> Node:
    """The rewriter of queries for this target."""

    @node("rewriting the question")
    def transform_query(state: State, deps: Deps, emit: Emit) -> State:
        """Another query for the same question; one that was tried before ends the rewriting.

        For the web the rewriter is told nothing but what the web may be told.
        """
        question, usage = standalone_of(state), Usage()
        tried = state.get("tried") or [question]
        if target == "web":
            tried, usage = own_queries(state, deps)
            question = tried[0]
        if not budget_left(state, "rewrites"):
            return {**_queries(target, question, tried, deps), "usage": usage}
        rewrite = deps.engine.rewrite(question, tried, target)
        query, usage = rewrite.text, usage + rewrite.usage
        if not query.strip() or query_key(query) in map(query_key, tried):
            verdict = Graded("transform_query", query, "the rewriter has nothing new")
            kept: State = own_update(tried, deps) if target == "web" else {}
            return {**kept, "spent": ["rewrites"], "decisions": [verdict], "usage": usage}
        return {
            **_queries(target, query, [*tried, query], deps),
            "tries": counted(state, "rewrites"),
            "decisions": [Graded("transform_query", query)],
            "usage": usage,
        }

    return transform_query


def _queries(target: Target, query: str, tried: list[str], deps: Deps) -> State:
    """The queries for the web and those for the files are kept apart: a search of the files begins with its own."""
    return own_update(tried, deps) if target == "web" else {"query": query, "tried": tried}
