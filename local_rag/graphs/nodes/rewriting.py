"""The question rewriter of the three methods."""

from __future__ import annotations

from local_rag.core.usage import Usage
from local_rag.core.verdicts import Graded, Target
from local_rag.graphs.deps import Deps
from local_rag.graphs.nodes.node import Emit, Node, counted, node
from local_rag.graphs.nodes.own_words import own_queries, own_update
from local_rag.graphs.rules import budget_left, source_to_rewrite_for
from local_rag.graphs.state import State, Update, standalone_of
from local_rag.text.words import query_key


def transform_query(target: Target | None = None) -> Node:
    """The rewriter, for one target, or for the one that Adaptive RAG goes on with."""

    @node("rewriting the question")
    def transform_query(state: State, deps: Deps, emit: Emit) -> Update:
        """Another query for the same question; one that was tried before ends the rewriting.

        For the web the rewriter is told nothing but what the web may be told.
        """
        aim: Target = target or ("web" if source_to_rewrite_for(state) == "web_search" else "vectorstore")
        question, usage = standalone_of(state), Usage()
        tried = state.get("tried") or [question]
        if aim == "web":
            tried, usage = own_queries(state, deps)
            question = tried[0]
        if not budget_left(state, "rewrites"):
            return {**_queries(aim, question, tried, deps), "usage": usage}
        rewrite = deps.engine.rewrite(question, tried, aim)
        query, usage = rewrite.text, usage + rewrite.usage
        if not query.strip() or query_key(query) in map(query_key, tried):
            verdict = Graded("transform_query", query, "the rewriter has nothing new")
            kept: Update = own_update(tried, deps) if aim == "web" else {}
            return {**kept, "spent": ["rewrites"], "decisions": [verdict], "usage": usage}
        return {
            **_queries(aim, query, [*tried, query], deps),
            "tries": counted(state, "rewrites"),
            "decisions": [Graded("transform_query", query)],
            "usage": usage,
        }

    return transform_query


def _queries(aim: Target, query: str, tried: list[str], deps: Deps) -> Update:
    """The queries for the web and those for the files are kept apart: a search of the files begins with its own."""
    return own_update(tried, deps) if aim == "web" else {"query": query, "tried": tried}
