"""The graphs as pictures: Mermaid for pages and notebooks, ASCII for terminals. Nothing is asked of another machine.

LangGraph shows a compiled graph in a notebook as a PNG that mermaid.ink draws, on the internet. A `LocalDrawing` has
Mermaid text and ASCII instead, and refuses what would call out.
"""

from __future__ import annotations

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
