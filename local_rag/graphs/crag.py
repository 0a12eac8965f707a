"""Corrective RAG (arXiv 2401.15884): three actions on what was retrieved, and no loop."""

from __future__ import annotations

from langgraph.graph import StateGraph

from local_rag.graphs.edges import all_relevant, checked_once, crag_action, web_allowed
from local_rag.graphs.nodes.common import discard_documents, generate, give_up, retrieve, transform_query
from local_rag.graphs.nodes.conversation import ends
from local_rag.graphs.nodes.grading import grade_documents, grade_generation
from local_rag.graphs.nodes.refining import refine_documents
from local_rag.graphs.nodes.web_search import web_search_node
from local_rag.graphs.state import TUTORIAL, Deps, Options, State


def crag(options: Options = TUTORIAL) -> StateGraph[State, Deps]:
    """Corrective RAG: when a retrieved document is irrelevant, correct with the web (where that is on)."""
    graph = StateGraph(State, context_schema=Deps)
    first, last = ends(graph, options)
    graph.add_node("retrieve", retrieve)
    graph.add_node("grade_documents", grade_documents(all_relevant, verdict=crag_action))
    graph.add_node("discard_documents", discard_documents)
    graph.add_node("transform_query", transform_query("web"))
    graph.add_node("web_search_node", web_search_node)
    graph.add_node("refine_documents", refine_documents)
    graph.add_node("generate", generate)
    graph.add_node("grade_generation", grade_generation(checked_once))
    graph.add_node("give_up", give_up)

    graph.add_edge(first, "retrieve")
    graph.add_edge("retrieve", "grade_documents")
    graph.add_conditional_edges(
        "grade_documents",
        all_relevant,
        {"correct": "refine_documents", "ambiguous": "transform_query", "incorrect": "discard_documents"},
    )
    graph.add_conditional_edges("discard_documents", web_allowed, {"web": "transform_query", "no web": "give_up"})
    graph.add_edge("transform_query", "web_search_node")
    graph.add_edge("web_search_node", "refine_documents")
    graph.add_edge("refine_documents", "generate")
    graph.add_edge("generate", "grade_generation")
    graph.add_conditional_edges("grade_generation", checked_once, {"useful": last, "max retries": "give_up"})
    graph.add_edge("give_up", last)
    return graph
