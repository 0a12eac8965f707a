"""Plain RAG: the baseline that every evaluation shows."""

from __future__ import annotations

from langgraph.graph import StateGraph

from local_rag.graphs.nodes.common import generate, retrieve
from local_rag.graphs.nodes.conversation import ends
from local_rag.graphs.state import TUTORIAL, Deps, Options, State


def plain(options: Options = TUTORIAL) -> StateGraph[State, Deps]:
    """Retrieve once, write once; the status comes from the citation check alone."""
    graph = StateGraph(State, context_schema=Deps)
    first, last = ends(graph, options)
    graph.add_node("retrieve", retrieve)
    graph.add_node("generate", generate)

    graph.add_edge(first, "retrieve")
    graph.add_edge("retrieve", "generate")
    graph.add_edge("generate", last)
    return graph
