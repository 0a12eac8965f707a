"""!Run one question: a graph on a thread of its own, its events, and its answer.

The threads of a question, and their reasons:

- `local-rag-question` runs the graph, so that Ctrl-C and a closed iterator reach a question while a node works;
- LangGraph's pool runs the nodes, one at a time, because several stream modes are used;
- `local-rag-preload` (Ollama, once per model) lets the server load the first model during retrieval: seconds;
- `local-rag-call` (Ollama, one at a time) reads a reply, so that a call can be aborted between two tokens;
- `local-rag-evaluator` (once) loads the evaluator while the embedder loads: tenths of a second;
- a few readers for pages of the web, and a thread per connection, which are abandoned when a page hangs.
"""

from __future__ import annotations

import contextvars
import queue
import threading
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypedDict, cast

from local_rag.core.cancel import Cancel
from local_rag.core.errors import Stopped
from local_rag.core.events import Done, Event, Note, Started, Step
from local_rag.runtime.opening import loading
from local_rag.text.answer_language import fallback_note

if TYPE_CHECKING:
    from langchain_core.callbacks import Callbacks
    from langgraph.graph.state import CompiledStateGraph

    from local_rag.core.documents import Narrowing
    from local_rag.core.protocols import OwnEmbedder, Turn
    from local_rag.graphs.deps import Consent, Deps
    from local_rag.graphs.state import Question, Result, State

CLOSING = 0.5
"""Seconds to wait for a stopped question; one that is still busy then, loading a model, is abandoned."""

POLL = 0.2
"""Seconds between two checks for Ctrl-C, which cannot interrupt a blocking queue on Windows."""


class Context(TypedDict, total=False):
    """What the Deps of a question may be made with; see `Rag.context`."""

    k: int | None
    within: Narrowing | Sequence[str]
    may_search: Consent | None
    cancel: Cancel | None


class Asking(Context, total=False):
    """What a question may be asked with; see `Rag.ask`."""

    graph: str | None
    thread: str | None
    turns: Sequence[Turn]
    callbacks: Callbacks
    record: bool


@dataclass
class Run:
    """Run one question on a thread, so that Ctrl-C and a closed iterator reach it while a node works.

    The thread has an empty context: settings of the host program, such as its tracing, are neither used nor changed.
    """

    graph: CompiledStateGraph[State, Deps, Question, Result]
    question: str
    deps: Deps
    running: set[Cancel]
    embedder: OwnEmbedder | None = None
    callbacks: Callbacks = None
    state: State = field(default_factory=lambda: cast("State", {}))
    out: queue.SimpleQueue[Event | BaseException | None] = field(default_factory=queue.SimpleQueue)

    def events(self) -> Generator[Event]:
        self.deps = replace(self.deps, began=time.monotonic())
        self.deps.cancel.restart()
        thread = threading.Thread(
            target=contextvars.Context().run, args=(self._work,), name="local-rag-question", daemon=True
        )
        self.running.add(self.deps.cancel)
        thread.start()
        try:
            while (event := self._next()) is not None:
                if isinstance(event, BaseException):
                    raise event
                yield event
            yield Done(self.state["answer"])
        finally:
            self.deps.cancel.stop()
            thread.join(CLOSING)
            self.running.discard(self.deps.cancel)

    def _next(self) -> Event | BaseException | None:
        """Return the next event, or None at the end; do not wait for a node that ignores a stop."""
        while True:
            with suppress(queue.Empty):
                return self.out.get(timeout=POLL)
            if self.deps.cancel.stopped:
                return Stopped("stopped")

    def _work(self) -> None:
        from langsmith import tracing_context

        try:
            if note := fallback_note(self.deps.answer.language):
                self.out.put(Note(note))
            self._load()
            with tracing_context(enabled=False):  # LangSmith sees no question, whatever the environment says
                self._drive()
            self.out.put(None)
        except BaseException as error:
            self.out.put(error)

    def _load(self) -> None:
        """Load the embedder before the first node, with a message, and meanwhile start to load everything else."""
        self.deps.engine.prepare()
        if self.deps.evaluator is not None:
            self.deps.evaluator.prepare()
        if self.embedder is not None and not self.embedder.ready:
            self.out.put(Started("load", loading(self.embedder.name)))
            self.embedder.load()
            self.deps.cancel.restart()

    def _drive(self) -> None:
        from local_rag.graphs.state import after

        starts: dict[str, float] = {}
        parts: Iterator[Any] = self.graph.stream(
            {"question": self.question},
            {"callbacks": self.callbacks},
            context=self.deps,
            stream_mode=["tasks", "custom"],
            version="v2",
        )
        for part in parts:
            kind, data = part["type"], part["data"]
            if kind == "custom":
                self.out.put(data)
            elif "result" in data:
                self.state = after(self.state, data["result"])
                self.out.put(Step(data["name"], time.monotonic() - starts[data["id"]], dict(self.state)))
            else:
                starts[data["id"]] = time.monotonic()
