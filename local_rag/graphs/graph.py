"""Define the StateGraph of all builders, which is drawn on this machine, and makes its Deps if none are given."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.graph import Graph as DrawableGraph
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import get_runtime

from local_rag.core.errors import UsageError
from local_rag.graphs.deps import Deps
from local_rag.graphs.nodes.finish import finish
from local_rag.graphs.nodes.node import Node
from local_rag.graphs.nodes.overview import overview
from local_rag.graphs.nodes.queries import begin
from local_rag.graphs.rules import whole_or_passages
from local_rag.graphs.state import Question, Result, State

if TYPE_CHECKING:
    Compiled = CompiledStateGraph[State, Deps, Question, Result]
else:
    Compiled = CompiledStateGraph


class LocalDrawing(DrawableGraph):
    """Draw a graph without asking another machine to draw it.

    LangGraph shows a compiled graph in a notebook as a PNG that mermaid.ink draws, on the internet. This class shows
    Mermaid text and ASCII instead, and refuses to make a PNG.
    """

    @classmethod
    def of(cls, graph: DrawableGraph) -> LocalDrawing:
        return cls(nodes=graph.nodes, edges=graph.edges)

    def reid(self) -> LocalDrawing:
        """Return the result of LangChain's method as a LocalDrawing."""
        return self.of(super().reid())

    def draw_mermaid_png(self, **options: Any) -> NoReturn:
        """Refuse to draw, whatever the options: each way to make this PNG loads something from the internet."""
        raise UsageError(
            "a PNG of a graph is made with the help of another machine (mermaid.ink), so local-rag refuses to; draw it "
            "here with .draw_mermaid() or .print_ascii(), or write a file with: local-rag graph NAME --mermaid",
        )

    def ascii(self) -> str:
        """Return the graph in characters, laid out by grandalf; labels are listed below it."""
        labels = [f"  {edge.source} -- {edge.data} --> {edge.target}" for edge in self.edges if edge.data]
        drawing = "\n".join(line.rstrip() for line in self.draw_ascii().splitlines())
        return "\n".join([drawing, "", *labels]).rstrip()

    def mermaid(self) -> str:
        """Return the graph as Mermaid text, with every label on its edge."""
        return self.draw_mermaid().strip()

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        """Return the graph for a notebook: as Mermaid, which JupyterLab and VS Code draw themselves; in a terminal as
        ASCII.
        """
        return {"text/plain": self.ascii(), "text/markdown": f"```mermaid\n{self.mermaid()}\n```"}


class Graph(StateGraph[State, Deps, Question, Result]):
    """Extend LangGraph's StateGraph by the input and output of every graph here, and by the nodes `begin` and `finish`,
    and `overview` for whole files.
    """

    def __init__(self, *nodes: Node, state: type[State] = State, result: type[Result] = Result) -> None:
        super().__init__(state, Deps, input_schema=Question, output_schema=result)
        every: tuple[Node, ...] = (begin, overview, *nodes, finish)
        for each in every:
            self.add_node(each)
        self.add_edge(START, "begin")
        self.add_edge("overview", "finish")
        self.add_edge("finish", END)

    def begin_with(self, first: str) -> None:
        """Go on with this node where the question is one for passages."""
        self.add_conditional_edges("begin", whole_or_passages, {"whole files": "overview", "passages": first})

    def compile(  # type: ignore[override]  # LangGraph's further options go through
        self, checkpointer: BaseCheckpointSaver[Any] | None = None, **options: Any
    ) -> LocalGraph:
        """Compile to a LocalGraph; LangGraph has no hook for a context that is made per run, or for a local picture."""
        return LocalGraph(**super().compile(checkpointer, **options).__dict__)  # as Pregel.copy makes its copies


class LocalGraph(Compiled):
    """Extend LangGraph's compiled graph by local pictures, and by the Deps that `contexts` makes per run."""

    def __init__(self, *, contexts: Callable[[], Deps] | None = None, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.contexts = contexts  # an attribute as LangGraph's are: Pregel.copy gives it to every copy

    def stream(self, input: Any, config: RunnableConfig | None = None, **options: Any) -> Iterator[Any]:
        """Stream as LangGraph does; a run without a context gets one of its own."""
        run: Any = super().stream
        parts: Iterator[Any] = run(input, config, **self._in_context(options))
        return parts

    def astream(self, input: Any, config: RunnableConfig | None = None, **options: Any) -> AsyncIterator[Any]:
        """Stream as LangGraph does; a run without a context gets one of its own."""
        run: Any = super().astream
        parts: AsyncIterator[Any] = run(input, config, **self._in_context(options))
        return parts

    def _in_context(self, options: dict[str, Any]) -> dict[str, Any]:
        with suppress(RuntimeError):  # in a node of a graph whose context is Deps LangGraph hands that on
            if isinstance(getattr(get_runtime(Deps), "context", None), Deps):
                return options
        if options.get("context") is not None or self.contexts is None:
            return options
        return options | {"context": self.contexts()}

    def get_context_jsonschema(self) -> dict[str, Any]:
        """Return an empty schema: the parts in Deps are objects that JSON cannot describe."""
        return {"type": "object", "properties": {}}

    def get_graph(self, config: RunnableConfig | None = None, *, xray: int | bool = False) -> LocalDrawing:
        """Return the graph as LangGraph does, as a LocalDrawing."""
        return LocalDrawing.of(super().get_graph(config, xray=xray))

    async def aget_graph(self, config: RunnableConfig | None = None, *, xray: int | bool = False) -> LocalDrawing:
        """Return the graph as LangGraph does, as a LocalDrawing."""
        return LocalDrawing.of(await super().aget_graph(config, xray=xray))

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        """Return the local drawing for a notebook; LangGraph's method asks mermaid.ink."""
        return self.get_graph()._repr_mimebundle_()
