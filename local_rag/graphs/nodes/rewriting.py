"""The question rewriter of the three methods."""

from __future__ import annotations

from local_rag.core.usage import Usage
from local_rag.core.verdicts import Graded, Target
from local_rag.graphs.nodes.node import Emit, Node, counted, node, standalone_question
from local_rag.graphs.nodes.own_words import own_queries
from local_rag.graphs.rules import budget_left
from local_rag.graphs.state import Deps, State, Update
from local_rag.text.words import query_key


def transform_query(target: Target | None = None) -> Node:
    """The rewriter, for one target or for the source that the router chose."""

    @node("rewriting the question")
    def transform_query(state: State, deps: Deps, emit: Emit) -> Update:
        """Another query for the same question; one that was tried before ends the rewriting.

        For the web the rewriter is told nothing but what the web may be told.
        """
        aim: Target = target or ("web" if state.get("route") == "web_search" else "vectorstore")
        question, usage = standalone_question(state), Usage()
        tried = state.get("tried") or [question]
        if aim == "web":
            tried, usage = own_queries(state, deps)
            question = tried[0]
        update: Update = {"own": tried} if aim == "web" else {}
        if not budget_left(state, "rewrites"):
            return {**update, "query": question, "tried": tried, "usage": usage}
        rewrite = deps.engine.rewrite(question, tried, aim)
        query, usage = rewrite.text, usage + rewrite.usage
        if not query.strip() or query_key(query) in map(query_key, tried):
            verdict = Graded("transform_query", query, "the rewriter has nothing new")
            return {**update, "spent": ["rewrites"], "decisions": [verdict], "usage": usage}
        tried = [*tried, query]
        return {
            **update,
            **({"own": tried} if aim == "web" else {}),
            "query": query,
            "tried": tried,
            "tries": counted(state, "rewrites"),
            "decisions": [Graded("transform_query", query)],
            "usage": usage,
        }

    return transform_query
