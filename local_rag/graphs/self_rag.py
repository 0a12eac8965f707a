"""Build Self-RAG (arXiv 2310.11511) as the LangGraph tutorial draws it, with an end to every loop, and the paper's
parts.
"""

from __future__ import annotations

from local_rag.graphs import rules
from local_rag.graphs.deps import TUTORIAL, Options
from local_rag.graphs.graph import Graph
from local_rag.graphs.nodes import candidates, segments
from local_rag.graphs.nodes.generation import generator, give_up, llm_fallback
from local_rag.graphs.nodes.graders import generation_grader, passage_grader, prepare_for_final_grade
from local_rag.graphs.nodes.queries import transform_query
from local_rag.graphs.nodes.retrieval import retrieve
from local_rag.graphs.nodes.routing import decide_retrieval
from local_rag.graphs.rules import label, retrieve_or_not


def self_rag(options: Options = TUTORIAL) -> Graph:
    """Build Self-RAG: rewrite the question if no passage is kept, write again what the passages do not support."""
    if options.each:
        return _part_by_part()
    graph = Graph(retrieve, passage_grader(), transform_query("vectorstore"), give_up)
    first = _decision(graph) if options.decide else "retrieve"
    writer = _drafts(graph, several=options.candidates)
    grader = _separate_graders(graph) if options.separate else _one_grader(graph)

    graph.begin_with(first)
    graph.add_edge("retrieve", "grade_documents")
    graph.add_conditional_edges(
        "grade_documents",
        label,
        {"generate": "generate", "transform_query": "transform_query", "max retries": "give_up"},
    )
    graph.add_edge("transform_query", "retrieve")
    graph.add_edge(writer, grader)
    graph.add_edge("give_up", "finish")
    return graph


def _part_by_part() -> Graph:
    """Build the paper's algorithm 1, which decides before each part of the answer whether to retrieve."""
    before = (segments.decide_retrieval, segments.retrieve, segments.grade_documents, transform_query("vectorstore"))
    whole = generation_grader(rules.parts_useful, "usefulness")
    graph = Graph(*before, segments.generate, segments.grade_segment, whole, llm_fallback, give_up)

    graph.begin_with("decide_retrieval")
    graph.add_conditional_edges(
        "decide_retrieval",
        label,
        {"yes": "retrieve", "continue": "generate", "no": "grade_generation_v_question", "direct": "llm_fallback"},
    )
    graph.add_edge("retrieve", "grade_documents")
    graph.add_conditional_edges(
        "grade_documents",
        label,
        {
            "generate": "generate",
            "nothing new": "grade_generation_v_question",
            "transform_query": "transform_query",
            "max retries": "give_up",
        },
    )
    graph.add_edge("transform_query", "retrieve")
    graph.add_edge("generate", "grade_segment")
    graph.add_edge("grade_segment", "decide_retrieval")
    graph.add_conditional_edges(
        "grade_generation_v_question",
        label,
        {"useful": "finish", "not useful": "transform_query", "max retries": "give_up"},
    )
    graph.add_edge("llm_fallback", "finish")
    graph.add_edge("give_up", "finish")
    return graph


def _decision(graph: Graph) -> str:
    """Add the decision to retrieve only if the files are needed; return the first node."""
    graph.add_node(decide_retrieval)
    graph.add_node(llm_fallback)
    graph.add_conditional_edges("decide_retrieval", retrieve_or_not, {"retrieve": "retrieve", "direct": "llm_fallback"})
    graph.add_edge("llm_fallback", "finish")
    return "decide_retrieval"


def _drafts(graph: Graph, *, several: bool) -> str:
    """Add one draft per attempt, as in the tutorial, or several and the best of them, as in the paper; return the last
    node.
    """
    if not several:
        graph.add_node(generator(checked=True))
        return "generate"
    graph.add_node(candidates.generate)
    graph.add_node(candidates.rank_candidates)
    graph.add_edge("generate", "rank_candidates")
    return "rank_candidates"


def _one_grader(graph: Graph) -> str:
    """Add the tutorial's single node that grades support and usefulness; return its name."""
    graph.add_node(generation_grader(rules.grade_generation_v_documents_and_question))
    graph.add_conditional_edges(
        "grade_generation",
        label,
        {"useful": "finish", "not useful": "transform_query", "not supported": "generate", "max retries": "give_up"},
    )
    return "grade_generation"


def _separate_graders(graph: Graph) -> str:
    """Add the early notebook's two graders with `prepare_for_final_grade` between them; return the first node."""
    graph.add_node(generation_grader(rules.supported, "support"))
    graph.add_node(prepare_for_final_grade)
    graph.add_node(generation_grader(rules.useful_or_not, "usefulness"))
    graph.add_conditional_edges(
        "grade_generation_v_documents",
        label,
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
        label,
        {"useful": "finish", "not useful": "transform_query", "max retries": "give_up"},
    )
    return "grade_generation_v_documents"
