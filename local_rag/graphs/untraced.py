"""Graphs that LangSmith never sees, whatever the environment and the calling program say, and that are drawn here.

A run that is traced sends questions and passages to a server. The switch is a context variable, and a generator that
sets one leaks it to its caller between two yields: so the graph is driven inside a copy of the caller's context.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import merge_configs
from langgraph.channels import BinaryOperatorAggregate
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.graph import START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.pregel._write import ChannelWrite, ChannelWriteTupleEntry  # START takes no other writer
from langgraph.runtime import get_runtime
from langgraph.types import Command, Overwrite
from langsmith import tracing_context
from pydantic import BaseModel

from local_rag.core.errors import UsageError
from local_rag.graphs.checkpoints import without_file_texts
from local_rag.graphs.deps import Deps
from local_rag.graphs.drawing import LocalDrawing
from local_rag.graphs.state import PARENT_SAVER, CragState, Question, Result, State
from local_rag.text.display import joined

if TYPE_CHECKING:
    Compiled = CompiledStateGraph[State, Deps, Question, Result]
else:
    Compiled = CompiledStateGraph

OF_A_QUESTION = frozenset(CragState.__annotations__) - {"question", "turns"}
"""The keys of the state that belong to one question."""


BRANCH = "branch:to:"
"""How the channels begin that hold which node comes next."""


class Graph(StateGraph[State, Deps, Question, Result]):
    """A graph as it is built; whatever compiles it gets one that is untraced."""

    def __init__(self, state: type[State] = State, result: type[Result] = Result) -> None:
        super().__init__(state, Deps, input_schema=Question, output_schema=result)

    def compile(  # type: ignore[override]  # LangGraph's further options go through
        self, checkpointer: BaseCheckpointSaver[Any] | None = None, **options: Any
    ) -> Untraced:
        """As LangGraph's. A question that begins clears what the one before it in its thread has left."""
        graph = super().compile(checkpointer, **options)
        if isinstance(graph.checkpointer, BaseCheckpointSaver):
            graph.checkpointer = without_file_texts(graph.checkpointer)
        graph.nodes[START].writers.append(ChannelWrite((ChannelWriteTupleEntry(mapper=self._cleared),)))
        return Untraced(**graph.__dict__)  # as Pregel.copy makes its copies

    def _cleared(self, given: object) -> list[tuple[str, Any]]:
        """Writes that empty every key of a question, beside the one of the new question; none where there is none."""
        if given is None:  # a graph that is drawn
            return []
        return [
            (key, Overwrite(type(channel.get())()) if isinstance(channel, BinaryOperatorAggregate) else None)
            for key, channel in self.channels.items()
            if key in OF_A_QUESTION
        ]


class Untraced(Compiled):
    """`invoke`, `batch` and their async kin go through `stream` and `astream`, every picture through `get_graph`.

    `contexts` makes the Deps of a run that is given none, with a clock and a memory of its own.
    """

    def __init__(self, *, contexts: Callable[[], Deps] | None = None, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.contexts = contexts  # an attribute as LangGraph's are: Pregel.copy gives it to every copy

    def with_contexts(self, contexts: Callable[[], Deps]) -> Untraced:
        """A copy that needs no `context=`."""
        return self.copy({"contexts": contexts})

    def stream(self, input: Any, config: RunnableConfig | None = None, **options: Any) -> Iterator[Any]:
        """As LangGraph's, with tracing off inside and untouched outside."""
        _check_input(input)
        context = _untraced_context()
        options = self._in_context(options)
        if saver := self._saver_to_go_on_from(input, config):
            self._must_have_nodes_of(saver.get_tuple(merge_configs(self.config, config)))
        run: Any = super().stream
        parts, end = context.run(run, input, config, **options), object()
        try:
            while (part := context.run(next, parts, end)) is not end:
                yield part
        finally:
            context.run(parts.close)

    async def astream(self, input: Any, config: RunnableConfig | None = None, **options: Any) -> AsyncIterator[Any]:
        """As LangGraph's, with tracing off inside and untouched outside."""
        _check_input(input)
        context = _untraced_context()
        options = self._in_context(options)
        if saver := self._saver_to_go_on_from(input, config):
            self._must_have_nodes_of(await saver.aget_tuple(merge_configs(self.config, config)))
        run: Any = super().astream
        async with aclosing(self._driven(run(input, config, **options), context)) as driven:
            async for part in driven:
                yield part

    async def _driven(self, parts: Any, context: contextvars.Context) -> AsyncGenerator[Any]:
        end = object()
        loop = asyncio.get_running_loop()

        async def following() -> Any:
            return await anext(parts, end)

        async def closing() -> None:
            await parts.aclose()  # a caller that leaves stops the nodes, too

        try:
            while (part := await loop.create_task(following(), context=context)) is not end:
                yield part
        finally:
            await loop.create_task(closing(), context=context)

    def _saver_to_go_on_from(self, input: Any, config: RunnableConfig | None) -> BaseCheckpointSaver[Any] | None:
        """The saver, where this run goes on with a question that waits in it."""
        named = "thread_id" in merge_configs(self.config, config).get("configurable", {})
        goes_on = named and (input is None or isinstance(input, Command))
        return self.checkpointer if goes_on and isinstance(self.checkpointer, BaseCheckpointSaver) else None

    def _must_have_nodes_of(self, stored: CheckpointTuple | None) -> None:
        """Raises UsageError where a question waits before a node that this graph is wired without."""
        channels = stored.checkpoint["channel_values"] if stored else ()
        waiting = {name.removeprefix(BRANCH) for name in channels if name.startswith(BRANCH)}
        if missing := sorted(waiting - self.nodes.keys()):
            raise UsageError(
                f"the question waits before {joined(missing)}, which this graph does not have: it was interrupted in "
                "another graph, or with other settings",
                hint="compile the graph with the settings of then, or ask the question anew",
            )

    def get_context_jsonschema(self) -> dict[str, Any]:
        """An empty schema: the parts in Deps are objects, which no JSON describes."""
        return {"type": "object", "properties": {}}

    def config_schema(self, *, include: Sequence[str] | None = None) -> type[BaseModel]:
        """As LangGraph's, without the context."""
        return CompiledStateGraph.config_schema(self.copy({"context_schema": None}), include=include)

    def _in_context(self, options: dict[str, Any]) -> dict[str, Any]:
        """With Deps of its own where the caller gives none, and the graph around this one has none either."""
        if options.get("context") is not None or self.contexts is None or _has_context():
            return options
        return options | {"context": self.contexts()}

    def _defaults(self, config: RunnableConfig, **options: Any) -> Any:
        """As LangGraph's; the saver of a graph around this one keeps no texts of files, either."""
        parent_saver = config.get("configurable", {}).get(PARENT_SAVER)
        if isinstance(parent_saver, BaseCheckpointSaver):
            config = {
                **config,
                "configurable": {**config["configurable"], PARENT_SAVER: without_file_texts(parent_saver)},
            }
        return super()._defaults(config, **options)

    def get_graph(self, config: RunnableConfig | None = None, *, xray: int | bool = False) -> LocalDrawing:
        """As LangGraph's, without a picture that another machine makes."""
        return LocalDrawing.of(super().get_graph(config, xray=xray))

    async def aget_graph(self, config: RunnableConfig | None = None, *, xray: int | bool = False) -> LocalDrawing:
        """As LangGraph's, without a picture that another machine makes."""
        return LocalDrawing.of(await super().aget_graph(config, xray=xray))

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        """What a notebook shows of the graph; LangGraph's asks mermaid.ink."""
        return self.get_graph().mime_bundle()


def _check_input(given: object) -> None:
    """Raises UsageError for an input without a question; None and a Command go on with a run that there is."""
    if isinstance(given, dict) and not isinstance(given.get("question"), str):
        kind = type(given["question"]).__name__ if "question" in given else "nothing"
        raise UsageError(f"a graph is given a question, a text, not {kind}", hint='graph.invoke({"question": "…"})')


def _has_context() -> bool:
    """Whether this is called from a node of a graph whose context is Deps: LangGraph hands that on."""
    try:
        return isinstance(getattr(get_runtime(Deps), "context", None), Deps)
    except RuntimeError:
        return False


def _untraced_context() -> contextvars.Context:
    context = contextvars.copy_context()
    context.run(tracing_context(enabled=False).__enter__)
    return context
