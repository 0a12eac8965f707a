"""Show the graphs to people: as pictures, and in half a sentence for each graph and node."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from local_rag.core.errors import UsageError
from local_rag.graphs import GRAPHS, compiled
from local_rag.graphs.deps import TUTORIAL, Options
from local_rag.graphs.graph import LocalDrawing


def drawing(name: str, options: Options = TUTORIAL) -> LocalDrawing:
    """Return the graph to be drawn, without options wired as in the tutorials. Raises UsageError for an
    unknown name.
    """
    if name not in GRAPHS:
        raise UsageError(f"there is no graph {name!r}", hint=f"local-rag graph {'|'.join(GRAPHS)}")
    return compiled(name, options).get_graph()


@dataclass(frozen=True)
class DrawnEdge:
    """Hold an edge; `label` is its condition, empty if the condition is the name of the target."""

    source: str
    target: str
    label: str
    conditional: bool


def column(name: str, options: Options = TUTORIAL) -> tuple[list[str], list[DrawnEdge]]:
    """Return the nodes from the question to the answer, each after all that lead to it (except by loops), and the
    edges.

    Raises UsageError for an unknown name.
    """
    graph = drawing(name, options)
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

OF_NODES: Mapping[str, tuple[str, str]] = {
    "__start__": ("question", ""),
    "__end__": ("answer", ""),
    "begin": ("Understand the question", "makes a follow-up a question that stands alone"),
    "overview": ("Look at whole files", "outlines or summarises a document, or names the files that hold something"),
    "route_question": ("Choose where to look", "chooses between your files, the web and neither"),
    "decide_retrieval": ("Decide whether to look", "decides whether your files are needed"),
    "retrieve": ("Search your files", "brings the passages that fit the question best"),
    "retrieve_step": ("Search for the next step", "brings passages for the next step"),
    "reason": ("Think a step further", "writes the next step towards the answer"),
    "grade_documents": ("Check the passages", "checks of each passage whether it helps to answer the question"),
    "transform_query": ("Reword the question", "puts the question in other words for the next search"),
    "web_search": ("Search the web", "looks in the web, once you have allowed it"),
    "web_search_node": ("Search the web", "looks in the web, once you have allowed it"),
    "discard_documents": ("Set passages aside", "sets passages aside that do not help"),
    "refine_documents": ("Cut to what matters", "cuts the passages down to what matters"),
    "generate": ("Write the answer", "writes the answer, a draft until it is checked"),
    "rank_candidates": ("Choose the best draft", "takes the best of several drafts"),
    "grade_generation": (
        "Check the answer",
        "checks whether the passages support the draft, and whether it answers the question",
    ),
    "grade_generation_v_documents": ("Check its support", "checks whether the passages support the draft"),
    "grade_generation_v_question": ("Check that it answers", "checks whether the draft answers the question"),
    "grade_segment": ("Check the new part", "checks whether the passages support the new part"),
    "prepare_for_final_grade": ("Go on to the last check", "goes on to the last check"),
    "llm_fallback": ("Answer from memory", "answers without your files, and says so"),
    "give_up": ("Stop trying", "leaves the best draft to be taken, if there is one"),
    "finish": ("Make the answer", "checks the citations, looks where files disagree, and makes the answer"),
}
"""The name of each node for people, and a description of its work."""


def words_of(node: str) -> tuple[str, str]:
    """Return the entry of `OF_NODES`; a node of an earlier version, which a record may name, is
    described by its name.
    """
    return OF_NODES.get(node, (node.replace("_", " ").strip().capitalize(), ""))
