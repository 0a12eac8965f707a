"""Self-RAG (arXiv 2310.11511) as the LangGraph tutorial draws it, with an end to every loop."""

from __future__ import annotations

from langgraph.graph import END, START, StateGraph

from local_rag.graphs.edges import grade_generation_v_documents_and_question, some_relevant
from local_rag.graphs.nodes import generate, give_up, grade_documents, grade_generation, retrieve, transform_query
from local_rag.graphs.state import Deps, State


def self_rag() -> StateGraph[State, Deps]:
    """Self-RAG: rewrite the question when no passage survives, write again what the passages do not support."""
    graph = StateGraph(State, context_schema=Deps)
    graph.add_node("retrieve", retrieve)
    graph.add_node("grade_documents", grade_documents(some_relevant))
    graph.add_node("transform_query", transform_query("vectorstore"))
    graph.add_node("generate", generate)
    graph.add_node("grade_generation", grade_generation(grade_generation_v_documents_and_question))
    graph.add_node("give_up", give_up)

    graph.add_edge(START, "retrieve")
    graph.add_edge("retrieve", "grade_documents")
    graph.add_conditional_edges(
        "grade_documents",
        some_relevant,
        {"generate": "generate", "transform_query": "transform_query", "max retries": "give_up"},
    )
    graph.add_edge("transform_query", "retrieve")
    graph.add_edge("generate", "grade_generation")
    graph.add_conditional_edges(
        "grade_generation",
        grade_generation_v_documents_and_question,
        {"useful": END, "not useful": "transform_query", "not supported": "generate", "max retries": "give_up"},
    )
    graph.add_edge("give_up", END)
    return graph
