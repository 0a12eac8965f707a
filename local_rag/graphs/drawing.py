"""The graphs as pictures: Mermaid for pages and notebooks, ASCII for terminals. Nothing is asked of another machine.

LangGraph shows a compiled graph in a notebook as a PNG that mermaid.ink draws, on the internet. A `LocalDrawing` has
Mermaid text and ASCII instead, and refuses what would call out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from langchain_core.runnables.graph import Graph

from local_rag.core.errors import UsageError

if TYPE_CHECKING:
    from local_rag.graphs.deps import Options


class LocalDrawing(Graph):
    """A drawable graph that never asks another machine to draw it."""

    @classmethod
    def of(cls, graph: Graph) -> LocalDrawing:
        return cls(nodes=graph.nodes, edges=graph.edges)

    def reid(self) -> LocalDrawing:
        """As LangChain's."""
        return self.of(super().reid())

    def draw_mermaid_png(self, **options: Any) -> NoReturn:
        """Refused, whatever the options: each way to make this PNG loads something from the internet."""
        raise UsageError(
            "a PNG of a graph is made with the help of another machine (mermaid.ink), so local-rag refuses to; draw it "
            "here with .draw_mermaid() or .print_ascii(), or write a file with: local-rag graph NAME --mermaid",
        )

    def ascii(self) -> str:
        """The graph in characters, laid out by grandalf; labels stand in the list below it."""
        labels = [f"  {edge.source} -- {edge.data} --> {edge.target}" for edge in self.edges if edge.data]
        drawing = "\n".join(line.rstrip() for line in self.draw_ascii().splitlines())
        return "\n".join([drawing, "", *labels]).rstrip()

    def mime_bundle(self) -> dict[str, Any]:
        """What a notebook shows: Mermaid, which JupyterLab and VS Code draw themselves; in a terminal ASCII."""
        return {"text/plain": self.ascii(), "text/markdown": f"```mermaid\n{self.draw_mermaid().strip()}\n```"}

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        return self.mime_bundle()


def mermaid_drawing(name: str, options: Options | None = None) -> str:
    """The graph as Mermaid text, every label on its edge; wired as the tutorials do without options.

    Raises UsageError for an unknown name.
    """
    return _drawable(name, options).draw_mermaid().strip()


def ascii_drawing(name: str, options: Options | None = None) -> str:
    """The graph in characters. Raises UsageError for an unknown name."""
    return _drawable(name, options).ascii()


def _drawable(name: str, options: Options | None) -> LocalDrawing:
    from local_rag.graphs import GRAPHS
    from local_rag.graphs.deps import TUTORIAL

    if name not in GRAPHS:
        raise UsageError(f"there is no graph {name!r}", hint=f"local-rag graph {'|'.join(GRAPHS)}")
    return GRAPHS[name](options or TUTORIAL).compile(name=name).get_graph()


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


def layout(name: str, options: Options | None = None) -> tuple[list[LaidOutNode], list[DrawnEdge]]:
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
