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


NODE_WIDTH, NODE_HEIGHT = 150.0, 40.0
"""The box of a node as it is laid out, in pixels of a page."""
ENDS = {"__start__": "start", "__end__": "end"}


@dataclass(frozen=True, slots=True)
class LaidOutNode:
    """A node and the centre of its box, pixels of a page; `label` is its name for people."""

    id: str
    label: str
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class DrawnEdge:
    """An edge; `label` says when it is taken, empty for "to the node of that name"."""

    source: str
    target: str
    label: str
    conditional: bool


def layout(name: str, options: Options = TUTORIAL) -> tuple[list[LaidOutNode], list[DrawnEdge]]:
    """The graph in layers from top to bottom (Sugiyama et al. 1981), from (0, 0) on. Raises UsageError for no such."""
    from grandalf.graphs import Edge, Vertex, graph_core
    from grandalf.layouts import SugiyamaLayout, VertexViewer

    graph = _drawable(name, options)
    vertices = {id_: Vertex(id_) for id_ in graph.nodes}
    for vertex in vertices.values():
        vertex.view = VertexViewer(NODE_WIDTH, NODE_HEIGHT)
    edges = [Edge(vertices[edge.source], vertices[edge.target]) for edge in graph.edges]
    sugiyama = SugiyamaLayout(graph_core([*vertices.values()], edges))  # grandalf's Graph has a set of them: any order
    sugiyama.xspace, sugiyama.yspace = NODE_WIDTH / 3, NODE_HEIGHT
    sugiyama.init_all(roots=[vertices["__start__"]], optimize=True)
    sugiyama.draw()
    places = _closer({id_: vertex.view.xy for id_, vertex in vertices.items()})
    nodes = [LaidOutNode(id_, ENDS.get(id_, id_.replace("_", " ")), *place) for id_, place in places.items()]
    return nodes, [DrawnEdge(edge.source, edge.target, str(edge.data or ""), edge.conditional) for edge in graph.edges]


def _closer(places: Mapping[str, tuple[float, float]]) -> dict[str, tuple[float, float]]:
    """The same layers from (0, 0) on, moved together from left to right: grandalf leaves wide gaps.

    What is above one another stays so, and in a layer no two boxes meet.
    """
    columns, top = dict[float, float](), min(y for _, y in places.values())
    ends = dict[float, float]()
    previous = -NODE_WIDTH / 3
    for column in sorted({x for x, _ in places.values()}):
        layers = [y for x, y in places.values() if x == column]
        previous = max(previous + NODE_WIDTH / 3, *(ends.get(y, 0.0) for y in layers))
        columns[column] = previous
        ends |= dict.fromkeys(layers, previous + NODE_WIDTH * 7 / 6)
    return {id_: (columns[x], y - top) for id_, (x, y) in places.items()}


OF_GRAPHS: Mapping[str, str] = {
    "plain": "Plain RAG: searches once and writes once; only the quotes are checked.",
    "self-rag": "Self-RAG: checks every passage and then the answer; rewords the question, or writes again, as needed.",
    "crag": "Corrective RAG: checks every passage; where they do not suffice, the web is asked, if it is on.",
    "adaptive": "Adaptive RAG: first chooses between your files, the web and neither, then goes on as Self-RAG does.",
}

OF_NODES: Mapping[str, str] = {
    "standalone_question": "makes a follow-up a question that stands alone",
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
    "give_up": "takes the best draft, or says that your files do not say",
    "remember": "keeps the question and its answer for follow-ups",
}
