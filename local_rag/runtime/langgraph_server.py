"""Serve the graphs in LangGraph's server (`langgraph.json`), with a context in JSON.

`plain`, `self_rag`, `crag` and `adaptive` take `{"question": …}`; `chat` takes and returns messages. A run is
interrupted before a query leaves for the web, whatever the settings say; a run without a thread sends nothing.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any, get_args

from langchain_core.messages import AIMessage, HumanMessage
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph_sdk.runtime import ServerRuntime
from langsmith import tracing_context

from local_rag.config.settings import Settings
from local_rag.config.values import GraphName
from local_rag.core.asynchronous import on_a_thread
from local_rag.core.cancel import Cancel
from local_rag.core.errors import LocalRagError, UsageError
from local_rag.core.serialization import from_plain, to_plain
from local_rag.graphs import compiled
from local_rag.graphs.deps import Deps, Options
from local_rag.graphs.graph import LocalGraph
from local_rag.runtime.export import turns_of
from local_rag.runtime.open_rags import OpenRags
from local_rag.runtime.rag import Rag
from local_rag.text.answer_markdown import markdown
from local_rag.text.blocks import blocks
from local_rag.text.markup import inert


@dataclass(frozen=True)
class Context:
    """Hold the conditions of a question; an empty value means that of the settings.

    `index` is the name or path of an index, `k` the number of passages to retrieve, `within` files or globs. `graph` is
    the graph that `chat` uses. `options` are further settings by dotted name: {"limits.seconds": 60}.
    """

    index: str = ""
    k: int = 0
    within: list[str] = field(default_factory=list)
    graph: str = ""
    options: dict[str, Any] = field(default_factory=dict)

    def settings(self) -> Settings:
        """Return the settings under this context; raise ConfigError or UsageError for an invalid value."""
        flags = {name.replace(".", "__"): value for name, value in self.options.items()}
        return Settings.load(**flags | {"index": self.index or None, "k": self.k or None, "graph": self.graph or None})


RAGS = OpenRags()
"""The Rags of this process, because opening one for each run would load its models each time."""

MakeDeps = Callable[..., Deps]
Build = Callable[[Rag | None, MakeDeps | None], Any]
Factory = Callable[[ServerRuntime[Context]], AbstractAsyncContextManager[Any]]


class Served(LocalGraph):
    """Take a context of JSON from a caller, and give Deps to the nodes."""

    def _in_context(self, options: dict[str, Any]) -> dict[str, Any]:
        return options | {"context": self.contexts and self.contexts()}

    def get_context_jsonschema(self) -> dict[str, Any]:
        """Return the JSON schema of a `Context`."""
        from pydantic import TypeAdapter

        return TypeAdapter(Context).json_schema()


def _factory(build: Build) -> Factory:
    """Return the function that the server calls for each run of a graph, without tracing by LangSmith.

    `build` is given a Rag and `Rag.context` for this run, or None if the server only reads the graph.
    """

    @asynccontextmanager
    async def served(runtime: ServerRuntime[Context]) -> AsyncIterator[Any]:
        with tracing_context(enabled=False):
            if (run := runtime.execution_runtime) is None:
                yield await on_a_thread(lambda: build(None, None))
                return
            cancel = Cancel()
            try:
                with ExitStack() as using:
                    context = from_plain(Context, run.context or {})
                    rag = await on_a_thread(lambda: using.enter_context(RAGS.using(context.settings())))
                    using.callback(cancel.stop)
                    deps = partial(rag.context, within=context.within, may_search="interrupt", cancel=cancel)
                    yield await on_a_thread(lambda: build(rag, deps))
            except LocalRagError as error:  # the server would hide its message
                raise RuntimeError(f"{error}\n{error.hint}".strip()) from error

    return served


def _graph(name: str, rag: Rag | None, deps: MakeDeps | None) -> LocalGraph:
    """Return a graph with Deps of its own; without a Rag return one that is only wired as the settings say."""
    if rag is None or deps is None:
        return Served(**vars(compiled(name, Options.of(Settings.load().values))))
    own = deps(graph=name)
    return Served(**vars(rag.graph(name)) | {"contexts": lambda: own})


def _chat(rag: Rag | None, deps: MakeDeps | None) -> CompiledStateGraph[MessagesState, Context]:
    """Return a graph that answers a person's last message, with the messages before it as turns.

    The answer is a message with its sources as a list in the text and as objects beside it.
    """

    def answered(state: MessagesState) -> dict[str, list[AIMessage]]:
        assert rag and deps, "a graph that is only read is not run"
        said = [each for each in state["messages"] if isinstance(each, HumanMessage | AIMessage)]
        turns = turns_of((isinstance(each, HumanMessage), str(each.text)) for each in said)
        if not turns:
            raise UsageError("a chat has a message of a person, the question", hint='{"role": "user", "content": "…"}')
        name = rag.settings.values.graph
        of_turns = replace(deps(graph=name), turns=[*map(asdict, turns[:-1])])
        result = rag.graph(name).invoke({"question": turns[-1].question}, context=of_turns)
        answer = result["answer"]
        told = {"status": answer.status, "citations": to_plain(answer.citations)}
        return {"messages": [AIMessage(inert(markdown(blocks(answer, str))), additional_kwargs=told)]}

    graph = StateGraph(MessagesState, Context)
    graph.add_node("answer", answered)
    graph.add_edge(START, "answer")
    graph.add_edge("answer", END)
    return graph.compile(name="chat")


plain, self_rag, crag, adaptive = (_factory(partial(_graph, name)) for name in get_args(GraphName))
chat = _factory(_chat)
