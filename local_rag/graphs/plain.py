"""Build plain RAG, the baseline that every evaluation shows."""

from __future__ import annotations

from local_rag.graphs.deps import TUTORIAL, Options
from local_rag.graphs.graph import Graph
from local_rag.graphs.nodes.generation import generator
from local_rag.graphs.nodes.retrieval import retrieve


def plain(options: Options = TUTORIAL) -> Graph:
    """Build plain RAG: retrieve once, write once; the status comes from the citation check alone."""
    graph = Graph(retrieve, generator(checked=False))

    graph.begin_with("retrieve")
    graph.add_edge("retrieve", "generate")
    graph.add_edge("generate", "finish")
    return graph
