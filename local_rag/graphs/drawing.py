"""The graphs as pictures: Mermaid for pages, ASCII for terminals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from local_rag.core.errors import UsageError

if TYPE_CHECKING:
    from langchain_core.runnables.graph import Graph

    from local_rag.graphs.state import Options


def mermaid_drawing(name: str, options: Options | None = None) -> str:
    """The graph as Mermaid text, every label on its edge; wired as the tutorials do without options.

    Raises UsageError for an unknown name.
    """
    return _drawable(name, options).draw_mermaid().strip()


def ascii_drawing(name: str, options: Options | None = None) -> str:
    """The graph in characters, laid out by grandalf; labels stand in the list below it."""
    graph = _drawable(name, options)
    labels = [f"  {edge.source} -- {edge.data} --> {edge.target}" for edge in graph.edges if edge.data]
    drawing = "\n".join(line.rstrip() for line in graph.draw_ascii().splitlines())
    return "\n".join([drawing, "", *labels]).rstrip()


def _drawable(name: str, options: Options | None) -> Graph:
    from local_rag.graphs import GRAPHS
    from local_rag.graphs.state import TUTORIAL

    if name not in GRAPHS:
        raise UsageError(f"there is no graph {name!r}", hint=f"local-rag graph {'|'.join(GRAPHS)}")
    return GRAPHS[name](options or TUTORIAL).compile(name=name).get_graph()
