"""The graphs for people: as pictures, and in half a sentence for each graph and node."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from local_rag.core.errors import UsageError
from local_rag.graphs import GRAPHS, compiled
from local_rag.graphs.deps import TUTORIAL, Options
from local_rag.graphs.graph import LocalDrawing


def mermaid_drawing(name: str, options: Options = TUTORIAL) -> str:
    """The graph as Mermaid text, every label on its edge; wired as the tutorials do without options.

    Raises UsageError for an unknown name.
    """
    return _drawable(name, options).draw_mermaid().strip()


def ascii_drawing(name: str, options: Options = TUTORIAL) -> str:
    """The graph in characters. Raises UsageError for an unknown name."""
    return _drawable(name, options).ascii()


def _drawable(name: str, options: Options) -> LocalDrawing:
    if name not in GRAPHS:
        raise UsageError(f"there is no graph {name!r}", hint=f"local-rag graph {'|'.join(GRAPHS)}")
    return compiled(name, options).get_graph()


@dataclass(frozen=True, slots=True)
class DrawnEdge:
    """An edge; `label` says when it is taken, empty for "to the node of that name"."""

    source: str
    target: str
    label: str
    conditional: bool


def column(name: str, options: Options = TUTORIAL) -> tuple[list[str], list[DrawnEdge]]:
    """The nodes from the question to the answer, each behind all that lead to it but for the loops, and the edges.

    Raises UsageError for an unknown name.
    """
    graph = _drawable(name, options)
    edges = [DrawnEdge(edge.source, edge.target, str(edge.data or ""), edge.conditional) for edge in graph.edges]
    last_first: dict[str, None] = {}

    def visit(node: str, above: frozenset[str] = frozenset()) -> None:
        for edge in edges:
            if edge.source == node and edge.target not in last_first and edge.target not in above:
                visit(edge.target, above | {node})
        last_first[node] = None

    visit("__start__")
    return [*reversed(last_first)], edges


OF_GRAPHS: Mapping[str, str] = {
    "plain": "Plain RAG: searches once and writes once; only the quotes are checked.",
    "self-rag": "Self-RAG: checks every passage and then the answer; rewords the question, or writes again, as needed.",
    "crag": "Corrective RAG: checks every passage; where they do not suffice, the web is asked, if it is on.",
    "adaptive": "Adaptive RAG: first chooses between your files, the web and neither, then goes on as Self-RAG does.",
}

OF_NODES: Mapping[str, str] = {
    "begin": "makes a follow-up a question that stands alone",
    "route_question": "chooses between your files, the web and neither",
    "decide_retrieval": "decides whether your files are needed",
    "retrieve": "brings the passages that fit the question best",
    "retrieve_step": "brings passages for the next step",
    "reason": "writes the next step towards the answer",
    "grade_documents": "checks of each passage whether it helps to answer the question",
    "transform_query": "puts the question in other words for the next search",
    "web_search": "looks in the web, once you have allowed it",
    "web_search_node": "looks in the web, once you have allowed it",
    "discard_documents": "sets passages aside that do not help",
    "refine_documents": "cuts the passages down to what matters",
    "generate": "writes the answer, a draft until it is checked",
    "rank_candidates": "takes the best of several drafts",
    "grade_generation": "checks whether the passages support the draft, and whether it answers the question",
    "grade_generation_v_documents": "checks whether the passages support the draft",
    "grade_generation_v_question": "checks whether the draft answers the question",
    "grade_segment": "checks whether the passages support the new part",
    "prepare_for_final_grade": "goes on to the last check",
    "llm_fallback": "answers without your files, and says so",
    "give_up": "stops trying: the best draft is taken, if there is one",
    "finish": "checks the citations, looks where files disagree, and makes the answer",
}
