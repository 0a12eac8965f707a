"""Adaptive RAG (arXiv 2403.14403 for the idea, the LangGraph tutorial for the graph): a router before Self-RAG."""

from __future__ import annotations

from collections.abc import Hashable

from langgraph.graph import StateGraph

from local_rag.graphs.edges import (
    found_new,
    goes_on,
    grade_generation_v_documents_and_question,
    route_taken,
    some_relevant,
    source_taken,
)
from local_rag.graphs.nodes.common import generate, give_up, llm_fallback, retrieve, transform_query
from local_rag.graphs.nodes.conversation import ends
from local_rag.graphs.nodes.grading import grade_documents, grade_generation
from local_rag.graphs.nodes.reasoning import reason, retrieve_step
from local_rag.graphs.nodes.routing import route_question
from local_rag.graphs.nodes.web_search import web_search
from local_rag.graphs.state import TUTORIAL, Deps, Options, State


def adaptive(options: Options = TUTORIAL) -> StateGraph[State, Deps]:
    """Adaptive RAG: choose between your files, the web and no retrieval, then go on as Self-RAG does."""
    graph = StateGraph(State, context_schema=Deps)
    first, last = ends(graph, options)
    graph.add_node("route_question", route_question)
    graph.add_node("web_search", web_search)
    graph.add_node("llm_fallback", llm_fallback)
    graph.add_node("retrieve", retrieve)
    graph.add_node("grade_documents", grade_documents(some_relevant))
    graph.add_node("transform_query", transform_query())
    graph.add_node("generate", generate)
    graph.add_node("grade_generation", grade_generation(grade_generation_v_documents_and_question))
    graph.add_node("give_up", give_up)

    graph.add_edge(first, "route_question")
    routes: dict[Hashable, str] = {"vectorstore": "retrieve", "web_search": "web_search", "direct": "llm_fallback"}
    if options.multi:
        routes["multi"] = "retrieve_step"
        graph.add_node("retrieve_step", retrieve_step)
        graph.add_node("reason", reason)
        graph.add_conditional_edges("retrieve_step", found_new, {"new": "reason", "nothing new": "generate"})
        graph.add_conditional_edges("reason", goes_on, {"go on": "retrieve_step", "enough": "generate"})
    graph.add_conditional_edges("route_question", route_taken, routes)
    graph.add_edge("web_search", "generate")
    graph.add_edge("llm_fallback", last)
    graph.add_edge("retrieve", "grade_documents")
    graph.add_conditional_edges(
        "grade_documents",
        some_relevant,
        {"generate": "generate", "transform_query": "transform_query", "max retries": "give_up"},
    )
    graph.add_conditional_edges(
        "transform_query", source_taken, {"vectorstore": "retrieve", "web_search": "web_search"}
    )
    graph.add_edge("generate", "grade_generation")
    graph.add_conditional_edges(
        "grade_generation",
        grade_generation_v_documents_and_question,
        {"useful": last, "not useful": "transform_query", "not supported": "generate", "max retries": "give_up"},
    )
    graph.add_edge("give_up", last)
    return graph
