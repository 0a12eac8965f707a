"""What every builder builds: a StateGraph that is drawn on this machine, and makes its Deps where none are given."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from typing import TYPE_CHECKING, Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import get_runtime

from local_rag.graphs.deps import Deps
from local_rag.graphs.drawing import LocalDrawing
from local_rag.graphs.state import Question, Result, State

if TYPE_CHECKING:
    Compiled = CompiledStateGraph[State, Deps, Question, Result]
else:
    Compiled = CompiledStateGraph


class Graph(StateGraph[State, Deps, Question, Result]):
    """LangGraph's, with what every graph here is given and gives back."""

    def __init__(self, state: type[State] = State, result: type[Result] = Result) -> None:
        super().__init__(state, Deps, input_schema=Question, output_schema=result)

    def compile(  # type: ignore[override]  # LangGraph's further options go through
        self, checkpointer: BaseCheckpointSaver[Any] | None = None, **options: Any
    ) -> LocalGraph:
        """As LangGraph's."""
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
        if options.get("context") is not None or self.contexts is None or _has_context():
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
        return self.get_graph().mime_bundle()


def _has_context() -> bool:
    """Whether this is called from a node of a graph whose context is Deps: LangGraph hands that on."""
    try:
        return isinstance(getattr(get_runtime(Deps), "context", None), Deps)
    except RuntimeError:
        return False
