"""Plain RAG: the baseline that every evaluation shows."""

from __future__ import annotations

from langgraph.graph import END, START, StateGraph

from local_rag.graphs.nodes import generate, retrieve
from local_rag.graphs.state import Deps, State


def plain() -> StateGraph[State, Deps]:
    """Retrieve once, write once; the status comes from the citation check alone."""
    graph = StateGraph(State, context_schema=Deps)
    graph.add_node("retrieve", retrieve)
    graph.add_node("generate", generate)

    graph.add_edge(START, "retrieve")
    graph.add_edge("retrieve", "generate")
    graph.add_edge("generate", END)
    return graph
