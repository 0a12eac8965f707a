"""Plain RAG: the baseline that every evaluation shows."""

from __future__ import annotations

from local_rag.graphs.deps import TUTORIAL, Options
from local_rag.graphs.graph import Graph
from local_rag.graphs.nodes.conversation import graph_of
from local_rag.graphs.nodes.generation import generate_last
from local_rag.graphs.nodes.retrieval import retrieve


def plain(options: Options = TUTORIAL) -> Graph:
    """Plain RAG: retrieve once, write once; the status comes from the citation check alone."""
    graph, start, end = graph_of(options, retrieve, generate_last)

    graph.add_edge(start, "retrieve")
    graph.add_edge("retrieve", "generate")
    graph.add_edge("generate", end)
    return graph
