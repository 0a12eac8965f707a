"""Self-RAG (arXiv 2310.11511) as the LangGraph tutorial draws it, with an end to every loop, and the paper's parts."""

from __future__ import annotations

from langgraph.graph import StateGraph

from local_rag.graphs.edges import (
    grade_generation_v_documents_and_question,
    retrieve_or_not,
    some_relevant,
    supported,
    useful_or_not,
)
from local_rag.graphs.nodes import candidates
from local_rag.graphs.nodes.common import generate, give_up, llm_fallback, retrieve, transform_query
from local_rag.graphs.nodes.conversation import ends
from local_rag.graphs.nodes.grading import (
    grade_documents,
    grade_generation,
    grade_generation_v_documents,
    grade_generation_v_question,
    prepare_for_final_grade,
)
from local_rag.graphs.nodes.routing import decide_retrieval
from local_rag.graphs.state import TUTORIAL, Deps, Options, State


def self_rag(options: Options = TUTORIAL) -> StateGraph[State, Deps]:
    """Self-RAG: rewrite the question when no passage survives, write again what the passages do not support."""
    graph = StateGraph(State, context_schema=Deps)
    first, last = ends(graph, options)
    graph.add_node("retrieve", retrieve)
    graph.add_node("grade_documents", grade_documents(some_relevant))
    graph.add_node("transform_query", transform_query("vectorstore"))
    graph.add_node("generate", candidates.generate if options.candidates else generate)
    graph.add_node("give_up", give_up)

    if options.decide:
        graph.add_node("decide_retrieval", decide_retrieval)
        graph.add_node("llm_fallback", llm_fallback)
        graph.add_edge(first, "decide_retrieval")
        graph.add_conditional_edges(
            "decide_retrieval", retrieve_or_not, {"retrieve": "retrieve", "direct": "llm_fallback"}
        )
        graph.add_edge("llm_fallback", last)
    else:
        graph.add_edge(first, "retrieve")
    graph.add_edge("retrieve", "grade_documents")
    graph.add_conditional_edges(
        "grade_documents",
        some_relevant,
        {"generate": "generate", "transform_query": "transform_query", "max retries": "give_up"},
    )
    graph.add_edge("transform_query", "retrieve")
    written = "generate"
    if options.candidates:
        written = "rank_candidates"
        graph.add_node("rank_candidates", candidates.rank_candidates)
        graph.add_edge("generate", "rank_candidates")
    (_separate_grades if options.separate else _final_grade)(graph, written, last)
    graph.add_edge("give_up", last)
    return graph


def _final_grade(graph: StateGraph[State, Deps], written: str, last: str) -> None:
    """Both graders in one node."""
    graph.add_node("grade_generation", grade_generation(grade_generation_v_documents_and_question))
    graph.add_edge(written, "grade_generation")
    graph.add_conditional_edges(
        "grade_generation",
        grade_generation_v_documents_and_question,
        {"useful": last, "not useful": "transform_query", "not supported": "generate", "max retries": "give_up"},
    )


def _separate_grades(graph: StateGraph[State, Deps], written: str, last: str) -> None:
    """The early notebook's wiring: two graders, and `prepare_for_final_grade` between them."""
    graph.add_node("grade_generation_v_documents", grade_generation_v_documents(supported))
    graph.add_node("prepare_for_final_grade", prepare_for_final_grade)
    graph.add_node("grade_generation_v_question", grade_generation_v_question(useful_or_not))
    graph.add_edge(written, "grade_generation_v_documents")
    graph.add_conditional_edges(
        "grade_generation_v_documents",
        supported,
        {
            "supported": "prepare_for_final_grade",
            "not supported": "generate",
            "not useful": "transform_query",
            "max retries": "give_up",
        },
    )
    graph.add_edge("prepare_for_final_grade", "grade_generation_v_question")
    graph.add_conditional_edges(
        "grade_generation_v_question",
        useful_or_not,
        {"useful": last, "not useful": "transform_query", "max retries": "give_up"},
    )
