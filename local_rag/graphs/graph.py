"""What every builder builds: a StateGraph that is drawn on this machine, and makes its Deps where none are given."""

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
    """A drawable graph that never asks another machine to draw it.

    LangGraph shows a compiled graph in a notebook as a PNG that mermaid.ink draws, on the internet. This one has
    Mermaid text and ASCII instead, and refuses what would call out.
    """

    @classmethod
    def of(cls, graph: DrawableGraph) -> LocalDrawing:
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

    def mermaid(self) -> str:
        """The graph as Mermaid text, every label on its edge."""
        return self.draw_mermaid().strip()

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        """What a notebook shows: Mermaid, which JupyterLab and VS Code draw themselves; in a terminal ASCII."""
        return {"text/plain": self.ascii(), "text/markdown": f"```mermaid\n{self.mermaid()}\n```"}


class Graph(StateGraph[State, Deps, Question, Result]):
    """LangGraph's, with what every graph here is given and gives back, the nodes `begin` and `finish`, and `overview`
    for whole files.
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
        """As LangGraph's, which has no hook for a context that is made per run, nor for a picture that is made here."""
        return LocalGraph(**super().compile(checkpointer, **options).__dict__)  # as Pregel.copy makes its copies


class LocalGraph(Compiled):
    """LangGraph's, but for its pictures, which no other machine makes, and the Deps that `contexts` makes per run."""

    def __init__(self, *, contexts: Callable[[], Deps] | None = None, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.contexts = contexts  # an attribute as LangGraph's are: Pregel.copy gives it to every copy

    def stream(self, input: Any, config: RunnableConfig | None = None, **options: Any) -> Iterator[Any]:
        """As LangGraph's; a run that is given no context has one of its own."""
        run: Any = super().stream
        parts: Iterator[Any] = run(input, config, **self._in_context(options))
        return parts

    def astream(self, input: Any, config: RunnableConfig | None = None, **options: Any) -> AsyncIterator[Any]:
        """As LangGraph's; a run that is given no context has one of its own."""
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
        """An empty schema: the parts in Deps are objects, which no JSON describes."""
        return {"type": "object", "properties": {}}

    def get_graph(self, config: RunnableConfig | None = None, *, xray: int | bool = False) -> LocalDrawing:
        """As LangGraph's, without a picture that another machine makes."""
        return LocalDrawing.of(super().get_graph(config, xray=xray))

    async def aget_graph(self, config: RunnableConfig | None = None, *, xray: int | bool = False) -> LocalDrawing:
        """As LangGraph's, without a picture that another machine makes."""
        return LocalDrawing.of(await super().aget_graph(config, xray=xray))

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        """What a notebook shows of the graph; LangGraph's asks mermaid.ink."""
        return self.get_graph()._repr_mimebundle_()
