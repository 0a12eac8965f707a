"""Adaptive RAG (arXiv 2403.14403 for the idea, the LangGraph tutorial for the graph): a router before Self-RAG."""

from __future__ import annotations

from langgraph.graph import END, START, StateGraph

from local_rag.graphs.edges import (
    grade_generation_v_documents_and_question,
    route_taken,
    some_relevant,
    source_taken,
)
from local_rag.graphs.nodes import (
    generate,
    give_up,
    grade_documents,
    grade_generation,
    llm_fallback,
    retrieve,
    route_question,
    transform_query,
    web_search,
)
from local_rag.graphs.state import Deps, State


def adaptive() -> StateGraph[State, Deps]:
    """Adaptive RAG: choose between your files, the web and no retrieval, then go on as Self-RAG does."""
    graph = StateGraph(State, context_schema=Deps)
    graph.add_node("route_question", route_question)
    graph.add_node("web_search", web_search)
    graph.add_node("llm_fallback", llm_fallback)
    graph.add_node("retrieve", retrieve)
    graph.add_node("grade_documents", grade_documents(some_relevant))
    graph.add_node("transform_query", transform_query())
    graph.add_node("generate", generate)
    graph.add_node("grade_generation", grade_generation(grade_generation_v_documents_and_question))
    graph.add_node("give_up", give_up)

    graph.add_edge(START, "route_question")
    graph.add_conditional_edges(
        "route_question",
        route_taken,
        {"vectorstore": "retrieve", "web_search": "web_search", "direct": "llm_fallback"},
    )
    graph.add_edge("web_search", "generate")
    graph.add_edge("llm_fallback", END)
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
        {"useful": END, "not useful": "transform_query", "not supported": "generate", "max retries": "give_up"},
    )
    graph.add_edge("give_up", END)
    return graph
