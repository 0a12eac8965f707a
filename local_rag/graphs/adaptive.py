"""Build Adaptive RAG (arXiv 2403.14403 for the idea, the LangGraph tutorial for the graph): a router
before Self-RAG.
"""

from __future__ import annotations

from collections.abc import Hashable

from local_rag.graphs import rules
from local_rag.graphs.deps import TUTORIAL, Options
from local_rag.graphs.graph import Graph
from local_rag.graphs.nodes.generation import generator, give_up, llm_fallback
from local_rag.graphs.nodes.graders import generation_grader, passage_grader
from local_rag.graphs.nodes.queries import transform_query
from local_rag.graphs.nodes.retrieval import reason, retrieve, retrieve_step
from local_rag.graphs.nodes.routing import route_question
from local_rag.graphs.nodes.web_search import web_search
from local_rag.graphs.rules import label, route_taken, steps_or_source

Edges = dict[Hashable, str]


def adaptive(options: Options = TUTORIAL) -> Graph:
    """Build Adaptive RAG: choose between the files, the web and no retrieval, then go on as Self-RAG does.

    If one source gives nothing, the other one is tried, once.
    """
    to_the_web: Edges = {} if options.rewrite_first else {"web_search": "web_search"}
    to_a_rewrite: Edges = {} if options.rewrite_first else {"transform_query": "transform_query"}
    if options.rewrite_first:
        graders = passage_grader(), generation_grader(rules.useful_or_files)
    else:
        graders = passage_grader(rules.relevant_or_web), generation_grader(rules.useful_or_other_source)
    searching = (route_question, web_search, llm_fallback, retrieve, transform_query("vectorstore"))
    writing = (generator(checked=True), give_up)
    graph = Graph(*searching, *graders, *writing)

    graph.begin_with("route_question")
    _routes(graph, options)
    graph.add_conditional_edges(
        "web_search",
        label,
        {"generate": "generate", "vectorstore": "retrieve", **to_a_rewrite, "max retries": "give_up"},
    )
    graph.add_edge("llm_fallback", "finish")
    graph.add_edge("retrieve", "grade_documents")
    graph.add_conditional_edges(
        "grade_documents",
        label,
        {"generate": "generate", **to_the_web, "transform_query": "transform_query", "max retries": "give_up"},
    )
    graph.add_edge("transform_query", "retrieve")
    graph.add_edge("generate", "grade_generation")
    graph.add_conditional_edges(
        "grade_generation",
        label,
        {
            "useful": "finish",
            "not useful": "transform_query",
            "not supported": "generate",
            "vectorstore": "retrieve",
            **to_the_web,
            "max retries": "give_up",
        },
    )
    graph.add_edge("give_up", "finish")
    return graph


def _routes(graph: Graph, options: Options) -> None:
    """Add the edges from the router to a source; to the files in one step, in several, or in either."""
    routes: Edges = {"web_search": "web_search", "direct": "llm_fallback"}
    if options.complexity != "multi":
        routes["vectorstore"] = "retrieve"
    if options.complexity != "single":
        routes["multi"] = _several_steps(graph)
    graph.add_conditional_edges(
        "route_question", steps_or_source if options.complexity == "multi" else route_taken, routes
    )


def _several_steps(graph: Graph) -> str:
    """Add the loop of retrieving and reasoning before the generator; return its first node."""
    graph.add_node(retrieve_step)
    graph.add_node(reason)
    graph.add_conditional_edges("retrieve_step", label, {"new": "reason", "nothing new": "generate"})
    graph.add_conditional_edges("reason", label, {"go on": "retrieve_step", "enough": "generate"})
    return "retrieve_step"
