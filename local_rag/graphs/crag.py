"""Build Corrective RAG (arXiv 2401.15884): three actions on the retrieved documents, and no loop."""

from __future__ import annotations

from local_rag.graphs.deps import TUTORIAL, Options
from local_rag.graphs.graph import Graph
from local_rag.graphs.nodes.correction import discard_documents, grade_documents, refine_documents
from local_rag.graphs.nodes.generation import generator, give_up
from local_rag.graphs.nodes.graders import generation_grader
from local_rag.graphs.nodes.queries import transform_query
from local_rag.graphs.nodes.retrieval import retrieve
from local_rag.graphs.nodes.web_search import web_search_node
from local_rag.graphs.rules import checked_once, label
from local_rag.graphs.state import CragResult, CragState


def crag(options: Options = TUTORIAL) -> Graph:
    """Build Corrective RAG: if a retrieved document is irrelevant, search the web too (if it is on)."""
    retrieving = (retrieve, grade_documents, discard_documents, transform_query("web"), web_search_node)
    writing = (refine_documents, generator(checked=True), generation_grader(checked_once), give_up)
    graph = Graph(*retrieving, *writing, state=CragState, result=CragResult)

    graph.begin_with("retrieve")
    graph.add_edge("retrieve", "grade_documents")
    graph.add_conditional_edges(
        "grade_documents",
        label,
        {"correct": "refine_documents", "ambiguous": "transform_query", "incorrect": "discard_documents"},
    )
    graph.add_conditional_edges("discard_documents", label, {"web": "transform_query", "no web": "give_up"})
    graph.add_edge("transform_query", "web_search_node")
    graph.add_edge("web_search_node", "refine_documents")
    graph.add_edge("refine_documents", "generate")
    graph.add_edge("generate", "grade_generation")
    graph.add_conditional_edges("grade_generation", label, {"useful": "finish", "max retries": "give_up"})
    graph.add_edge("give_up", "finish")
    return graph
