"""The graphs as pictures: Mermaid for pages, ASCII for terminals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from local_rag.errors import UsageError

if TYPE_CHECKING:
    from langchain_core.runnables.graph import Graph


def mermaid_drawing(name: str) -> str:
    """The graph as Mermaid text, every label on its edge. Raises UsageError for an unknown name."""
    return _drawable(name).draw_mermaid().strip()


def ascii_drawing(name: str) -> str:
    """The graph in characters, laid out by grandalf; labels stand in the list below it."""
    graph = _drawable(name)
    labels = [f"  {edge.source} -- {edge.data} --> {edge.target}" for edge in graph.edges if edge.data]
    drawing = "\n".join(line.rstrip() for line in graph.draw_ascii().splitlines())
    return "\n".join([drawing, "", *labels]).rstrip()


def _drawable(name: str) -> Graph:
    from local_rag.graphs import GRAPHS

    if name not in GRAPHS:
        raise UsageError(f"there is no graph {name!r}", hint=f"local-rag graph {'|'.join(GRAPHS)}")
    return GRAPHS[name]().compile(name=name).get_graph()
