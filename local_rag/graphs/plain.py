"""Plain RAG: the baseline that every evaluation shows."""

from __future__ import annotations

from langgraph.graph import END, START, StateGraph

from local_rag.graphs.nodes.conversation import add_memory
from local_rag.graphs.nodes.generation import generate
from local_rag.graphs.nodes.retrieval import retrieve
from local_rag.graphs.state import TUTORIAL, Deps, Options, State


def plain(options: Options = TUTORIAL) -> StateGraph[State, Deps]:
    """Retrieve once, write once; the status comes from the citation check alone."""
    graph = StateGraph(State, context_schema=Deps)
    start, end = add_memory(graph) if options.memory else (START, END)
    graph.add_node(retrieve)
    graph.add_node(generate)

    graph.add_edge(start, "retrieve")
    graph.add_edge("retrieve", "generate")
    graph.add_edge("generate", end)
    return graph
