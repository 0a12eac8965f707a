"""The drawing of a graph, with what it and each of its nodes do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from typing_extensions import TypedDict

from local_rag.server.endpoints import Endpoint, Request

if TYPE_CHECKING:
    from local_rag.server.place import Place


class GraphOf(Request):
    """A graph, as a chat wires it or without the memory of one."""

    name: str
    memory: bool = True


EdgeView = TypedDict("EdgeView", {"from": str, "to": str, "label": str, "conditional": bool})
"""An edge of a graph by the IDs of its nodes; `label` says when it is taken."""


@dataclass(frozen=True, slots=True)
class NodeView:
    """A node and the centre of its box, pixels of a page; `label` is its name for people, `about` what it does."""

    id: str
    label: str
    about: str
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class GraphView:
    """A graph, what it does, and its drawing."""

    name: str
    about: str
    nodes: Sequence[NodeView]
    edges: Sequence[EdgeView]


def graph(place: Place, request: GraphOf) -> GraphView:
    """A graph as the settings wire it, laid out in layers."""
    from local_rag.graphs.deps import Options
    from local_rag.graphs.drawing import layout
    from local_rag.graphs.explanations import OF_GRAPHS, OF_NODES

    nodes, edges = layout(request.name, Options.of(place.settings.values, memory=request.memory))
    return GraphView(
        request.name,
        OF_GRAPHS[request.name],
        [NodeView(node.id, node.label, OF_NODES.get(node.id, ""), node.x, node.y) for node in nodes],
        [
            {"from": edge.source, "to": edge.target, "label": edge.label, "conditional": edge.conditional}
            for edge in edges
        ],
    )


ENDPOINTS = (
    Endpoint(
        "GET", "/api/graphs/{name}", graph, GraphOf, GraphView, "both", "the nodes and edges of a graph, laid out"
    ),
)
