"""Adaptive RAG (arXiv 2403.14403 for the idea, the LangGraph tutorial for the graph): a router before Self-RAG."""

from __future__ import annotations

from collections.abc import Hashable

from local_rag.graphs.edges import label, route_taken, source_taken
from local_rag.graphs.nodes.conversation import graph_of
from local_rag.graphs.nodes.generation import generate, give_up, llm_fallback
from local_rag.graphs.nodes.graders import grade_documents, grade_generation
from local_rag.graphs.nodes.reasoning import reason, retrieve_step
from local_rag.graphs.nodes.retrieval import retrieve
from local_rag.graphs.nodes.rewriting import transform_query
from local_rag.graphs.nodes.routing import route_question
from local_rag.graphs.nodes.web_search import web_search
from local_rag.graphs.nodes.widening import widening
from local_rag.graphs.state import TUTORIAL, Options
from local_rag.graphs.untraced import Graph


def adaptive(options: Options = TUTORIAL) -> Graph:
    """Adaptive RAG: choose between your files, the web and no retrieval, then go on as Self-RAG does."""
    before = (route_question, web_search, llm_fallback, retrieve, grade_documents)
    after = (transform_query(), generate, grade_generation, give_up)
    graph, start, end = graph_of(options, *before, *after)
    routes: dict[Hashable, str] = {"vectorstore": "retrieve", "web_search": "web_search", "direct": "llm_fallback"}
    if options.multi:
        routes["multi"] = _several_steps(graph)

    reader = widening(graph, "generate") if options.widen else "generate"

    graph.add_edge(start, "route_question")
    graph.add_conditional_edges("route_question", route_taken, routes)
    graph.add_edge("web_search", "generate")
    graph.add_edge("llm_fallback", end)
    graph.add_edge("retrieve", "grade_documents")
    graph.add_conditional_edges(
        "grade_documents",
        label,
        {"generate": reader, "transform_query": "transform_query", "max retries": "give_up"},
    )
    graph.add_conditional_edges(
        "transform_query", source_taken, {"vectorstore": "retrieve", "web_search": "web_search"}
    )
    graph.add_edge("generate", "grade_generation")
    graph.add_conditional_edges(
        "grade_generation",
        label,
        {"useful": end, "not useful": "transform_query", "not supported": "generate", "max retries": "give_up"},
    )
    graph.add_edge("give_up", end)
    return graph


def _several_steps(graph: Graph) -> str:
    """Retrieve and reason in turn, then write; the first node."""
    graph.add_node(retrieve_step)
    graph.add_node(reason)
    graph.add_conditional_edges("retrieve_step", label, {"new": "reason", "nothing new": "generate"})
    graph.add_conditional_edges("reason", label, {"go on": "retrieve_step", "enough": "generate"})
    return "retrieve_step"
