"""The graphs as LangGraph's server runs them (`langgraph.json`): opened for each run, with a context in JSON.

`plain`, `self_rag`, `crag` and `adaptive` take `{"question": …}`; `chat` takes and gives messages. Before a query
leaves for the web a run is interrupted, whatever the settings say; one without a thread sends nothing.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph_sdk.runtime import ServerRuntime
from langsmith import tracing_context

from local_rag.config.settings import Settings
from local_rag.core.asynchronous import apart
from local_rag.core.cancel import Cancel
from local_rag.core.errors import LocalRagError, UsageError
from local_rag.core.serialization import from_plain, to_plain
from local_rag.graphs import compiled
from local_rag.graphs.deps import Deps, Options
from local_rag.graphs.graph import LocalGraph
from local_rag.runtime.export import source_line
from local_rag.runtime.rag import Rag

SOURCES = "\n\n- \\["
"""How the list of sources begins, which is no part of an answer when it comes back as a turn."""


@dataclass(frozen=True)
class Context:
    """What a question is asked with; empty means as the settings say.

    `index` is the name or path of an index, `k` how many passages are retrieved, `within` files or globs. `graph` is
    the one that `chat` asks. `options` are further settings by their dotted names: {"limits.seconds": 60}.
    """

    index: str = ""
    k: int = 0
    within: list[str] = field(default_factory=list)
    graph: str = ""
    options: dict[str, Any] = field(default_factory=dict)

    def settings(self) -> Settings:
        """Raises ConfigError and UsageError for what is none."""
        flags = {name.replace(".", "__"): value for name, value in self.options.items()}
        return Settings.load(**flags | {"index": self.index or None, "k": self.k or None, "graph": self.graph or None})


class Served(LocalGraph):
    """A graph whose context is JSON for whoever asks, and Deps for its nodes."""

    def _in_context(self, options: dict[str, Any]) -> dict[str, Any]:
        return options | {"context": self.contexts and self.contexts()}

    def get_context_jsonschema(self) -> dict[str, Any]:
        """The schema of a `Context`."""
        from pydantic import TypeAdapter

        return TypeAdapter(Context).json_schema()


def plain(runtime: ServerRuntime[Context]) -> AbstractAsyncContextManager[LocalGraph]:
    """A graph for one access of the server, as the three below."""
    return _graph("plain", runtime)


def self_rag(runtime: ServerRuntime[Context]) -> AbstractAsyncContextManager[LocalGraph]:
    return _graph("self-rag", runtime)


def crag(runtime: ServerRuntime[Context]) -> AbstractAsyncContextManager[LocalGraph]:
    return _graph("crag", runtime)


def adaptive(runtime: ServerRuntime[Context]) -> AbstractAsyncContextManager[LocalGraph]:
    return _graph("adaptive", runtime)


@asynccontextmanager
async def chat(runtime: ServerRuntime[Context]) -> AsyncIterator[CompiledStateGraph[MessagesState, Context]]:
    """A chat: the last message of a person is the question, those before it are its turns; the answer is a message."""
    async with _asking(runtime) as asking:
        yield await apart(lambda: _chat(asking))


@asynccontextmanager
async def _graph(name: str, runtime: ServerRuntime[Context]) -> AsyncIterator[LocalGraph]:
    async with _asking(runtime) as asking:
        yield await apart(lambda: asking.graph(name) if asking else _drawn(name))


@dataclass(frozen=True)
class _Asking:
    """A Rag that is open for one run."""

    rag: Rag
    context: Context
    cancel: Cancel = field(default_factory=Cancel)

    def deps(self, name: str) -> Deps:
        within = self.context.within
        return self.rag.context(graph=name, within=within, may_search="interrupt", cancel=self.cancel)

    def graph(self, name: str) -> LocalGraph:
        deps = self.deps(name)
        return Served(**vars(self.rag.graph(name)) | {"contexts": lambda: deps})

    def close(self) -> None:
        self.cancel.stop()
        self.rag.close()


@asynccontextmanager
async def _asking(runtime: ServerRuntime[Context]) -> AsyncIterator[_Asking | None]:
    """What a run asks with; None where the server only reads what a graph is. LangSmith is told nothing."""
    with tracing_context(enabled=False):
        if (run := runtime.execution_runtime) is None:
            yield None
            return
        try:
            context = from_plain(Context, run.context or {})
            asking = await apart(lambda: _Asking(Rag.open(context.settings()), context))
            try:
                yield asking
            finally:
                await apart(asking.close)
        except LocalRagError as error:  # of which the server would only say that there was one
            raise RuntimeError("\n".join(filter(None, (str(error), error.hint)))) from error


def _drawn(name: str) -> LocalGraph:
    """A graph that answers nothing, wired as the settings say."""
    return Served(**vars(compiled(name, Options.of(Settings.load().values))))


def _chat(asking: _Asking | None) -> CompiledStateGraph[MessagesState, Context]:
    def answer(state: MessagesState) -> dict[str, list[AIMessage]]:
        assert asking is not None, "a graph that is only read is not run"
        question, turns = _asked(state["messages"])
        name = asking.rag.settings.values.graph
        asked = asking.rag._graph(name, memory=True)
        result = asked.invoke({"question": question}, context=replace(asking.deps(name), turns=turns))
        return {"messages": [_message(result)]}

    graph = StateGraph(MessagesState, Context)
    graph.add_node(answer)
    graph.add_edge(START, "answer")
    graph.add_edge("answer", END)
    return graph.compile(name="chat")


def _asked(messages: Sequence[AnyMessage]) -> tuple[str, list[dict[str, str]]]:
    """The question, and the turns before it. Raises UsageError where nobody asked anything."""
    turns: list[dict[str, str]] = []
    for message in messages:
        if isinstance(message, HumanMessage):
            turns.append({"question": str(message.text), "answer": ""})
        elif isinstance(message, AIMessage) and turns:
            turns[-1]["answer"] = str(message.text).partition(SOURCES)[0]
    if not turns:
        raise UsageError("a chat has a message of a person, the question", hint='{"role": "user", "content": "…"}')
    return turns[-1]["question"], turns[:-1]


def _message(result: Mapping[str, Any]) -> AIMessage:
    """The answer with its sources: as a list in its text, and as objects beside it."""
    citations = sorted(result.get("citations", ()), key=lambda citation: citation.number)
    sources = "\n".join(map(source_line, citations))
    text = "\n\n".join(filter(None, (result["generation"], sources)))
    told = {"status": result.get("status", "abstained"), "citations": to_plain(citations)}
    return AIMessage(text, additional_kwargs=told, name="local-rag")
