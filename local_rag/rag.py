"""Rag: the only place that wires index, engine, web and graphs together."""

from __future__ import annotations

import contextvars
import queue
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from local_rag import citations
from local_rag.cancel import Cancel
from local_rag.config import Settings
from local_rag.errors import IndexMissing, LocalRagError, UsageError
from local_rag.protocols import Embedder
from local_rag.types import NOT_IN_PASSAGES, Answer, Done, Event, Graded, Started, Status, Step, Usage

if TYPE_CHECKING:
    from langgraph.graph.state import CompiledStateGraph

    from local_rag.choosing import Choice
    from local_rag.graphs.state import Deps, MaySearch, State
    from local_rag.index.embedding import SentenceTransformerEmbedder
    from local_rag.index.index import Index
    from local_rag.index.status import IndexStatus
    from local_rag.protocols import WebSearch
    from local_rag.web.pages import Page

CLOSING = 0.5
"""Seconds that a stopped question is waited for; one that is still busy then, loading a model, is left behind."""

POLL = 0.2
"""Seconds between two looks for Ctrl-C, which cannot interrupt a blocking queue on Windows."""


def loading(name: str) -> str:
    """What a person reads while the weights of an embedder load."""
    return f"loading the embedding model {name}"


def open_embedder(settings: Settings, on_load: Callable[[], None] | None = None) -> SentenceTransformerEmbedder:
    """The embedder that was asked for, else the one that made the index; not loaded yet, `on_load` is called before.

    Raises ConfigError, ModelMissing.
    """
    from local_rag.index.embedding import SentenceTransformerEmbedder
    from local_rag.models import load_models

    models = load_models(settings)
    name = settings.values.embedder
    if settings.origin["embedder"] == "default":
        made = _made_by(settings)
        name = made.embedder if made and made.embedder in models.embedders else name
    return SentenceTransformerEmbedder(models.embedder(name), settings.data_folder / "weights.json", on_load)


def open_index(
    settings: Settings,
    embedder: Embedder | None = None,
    *,
    create: bool = False,
    reembed: bool = False,
) -> Index:
    """The configured index, with the configured embedder unless another is given.

    An index keeps the passages it was made with; only sizes that somebody asked for are compared with them.
    Raises IndexMissing unless `create`, and IndexMismatch for another embedder (unless `reembed`) or chunking.
    """
    from local_rag.index.index import Index

    chunks, made = settings.values.chunks, _made_by(settings)
    if made is None and not create:
        raise missing(settings)
    given = {name: settings.origin[f"chunks.{name}"] != "default" for name in ("size", "overlap")}
    return Index.open(
        settings.index_path,
        embedder or open_embedder(settings),
        chunk_size=made.chunk_size if made and not given["size"] else chunks.size,
        chunk_overlap=made.chunk_overlap if made and not given["overlap"] else chunks.overlap,
        create=create,
        reembed=reembed,
    )


def open_web(settings: Settings) -> WebSearch:
    """The web search that the settings ask for; nothing is imported or contacted yet.

    Raises UsageError where --web is given for an index that never goes to the web.
    """
    from local_rag.web.search import DdgsSearch, Off

    web = settings.values.web
    if web.enabled == "off":
        return Off()
    if settings.kept_from_the_web:
        if settings.origin["web.enabled"] == "flag":
            raise UsageError(
                f"the index {settings.values.index} never goes to the web ({settings.origin['web.never']})",
                hint="take it out of web.never, or ask without --web",
            )
        return Off()
    return DdgsSearch(web, settings.data_folder, read_page=_page_reader(web.page_seconds))


def _page_reader(seconds: float) -> Callable[[str], Page]:
    def read(url: str) -> Page:
        from local_rag.web.fetch import Fetcher, FetchLimits
        from local_rag.web.pages import page

        return page(Fetcher(FetchLimits(seconds=seconds)).fetch(url), seconds)

    return read


def missing(settings: Settings) -> IndexMissing:
    """That there is no index of that name, and which there are."""
    name, folder = settings.values.index, settings.data_folder / "indexes"
    others = sorted(place.name for place in folder.iterdir()) if folder.is_dir() else []
    known = f"; there are {', '.join(others)}" if others else ""
    which = "" if name == "default" else f" --index {name}"
    return IndexMissing(f"there is no index at {settings.index_path}{known}", hint=f"local-rag index FOLDER{which}")


def _made_by(settings: Settings) -> IndexStatus | None:
    """How the configured index was made, None if there is none."""
    from local_rag.index.index import Index

    try:
        return Index.inspect(settings.index_path)
    except IndexMissing:
        return None


class Rag:
    """Questions about one index, by one engine. Serves several threads; close it, or use it in a `with`."""

    def __init__(
        self,
        settings: Settings,
        index: Index,
        choice: Choice,
        embedder: SentenceTransformerEmbedder | None = None,
    ) -> None:
        self.settings = settings
        self.index = index
        self.choice = choice
        self.engine = choice.engine
        self.embedder = embedder
        self.web: WebSearch = open_web(settings)
        self.may_search: MaySearch = lambda query: settings.values.web.enabled != "ask"
        self._graphs: dict[str, CompiledStateGraph[State, Deps]] = {}
        self._running: set[Cancel] = set()
        self._lock = threading.Lock()

    @classmethod
    def open(cls, settings: Settings | None = None, **flags: Any) -> Rag:
        """Open the configured index and engine; `flags` are settings (index="notes", limits__seconds=60).

        Raises IndexMissing, IndexMismatch, ModelMissing, ConfigError; ServerDown and NotLocal where a model server
        was named that is not there or not on this machine.
        """
        from local_rag.choosing import choose_engine

        if settings and flags:
            raise UsageError("give Rag.open either settings or single values, not both")
        settings = settings or Settings.load(**flags)
        embedder = open_embedder(settings)
        index = open_index(settings, embedder)
        try:
            return cls(settings, index, choose_engine(settings, embedder, index), embedder)
        except LocalRagError:
            index.close()
            raise

    def ask(
        self, question: str, *, graph: str | None = None, k: int | None = None, within: Sequence[str] = ()
    ) -> Answer:
        """The answer to a question. `within` restricts it to files (paths or globs).

        Raises UsageError for an empty question or an unknown graph, EngineError where the engine fails.
        """
        for event in self.stream(question, graph=graph, k=k, within=within):
            if isinstance(event, Done):
                return event.answer
        raise LocalRagError("the graph ended without an answer")

    def stream(
        self, question: str, *, graph: str | None = None, k: int | None = None, within: Sequence[str] = ()
    ) -> Iterator[Event]:
        """Events as they happen, `Done` last. Closing the iterator stops the question."""
        if not question.strip():
            raise UsageError("the question is empty", hint='local-rag ask "What does the contract say about notice?"')
        name = graph or self.settings.values.graph
        deps = self.context(k=k, within=within)
        run = _Run(self.graph(name), name, self.engine.name, question.strip(), deps, self._running, self.embedder)
        return run.events()

    def graph(self, name: str) -> CompiledStateGraph[State, Deps]:
        """The compiled graph of that name, for a LangGraph program of one's own. Raises UsageError."""
        from local_rag.graphs import GRAPHS
        from local_rag.graphs.state import recursion_limit
        from local_rag.graphs.untraced import compiled

        if name not in GRAPHS:
            raise UsageError(f"there is no graph {name!r}", hint=f"local-rag ask --graph {'|'.join(GRAPHS)}")
        with self._lock:
            if name not in self._graphs:
                limit = recursion_limit(self.settings.values.limits)
                self._graphs[name] = compiled(GRAPHS[name](), name).with_config(recursion_limit=limit)
            return self._graphs[name]

    def context(self, *, k: int | None = None, within: Sequence[str] = ()) -> Deps:
        """Fresh Deps for one question; its clock starts now."""
        from local_rag.graphs.state import Deps

        values = self.settings.values
        if k is not None and k < 1:
            raise UsageError(f"k must be at least 1, not {k}")
        return Deps(
            index=self.index,
            engine=self.engine,
            web=self.web,
            limits=values.limits,
            k=k or values.k,
            within=tuple(within),
            cancel=Cancel(values.limits.seconds),
            may_search=lambda query: self.may_search(query),
        )

    def close(self) -> None:
        """Stop every question that is running and close the index."""
        for cancel in list(self._running):
            cancel.stop()
        self.engine.close()
        self.index.close()

    def __enter__(self) -> Rag:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@dataclass
class _Run:
    """One question on a thread of its own, so that Ctrl-C and a closed iterator reach it while a node works.

    The thread has an empty context: what the host program has set, its tracing for one, is neither used nor touched.
    """

    graph: CompiledStateGraph[State, Deps]
    name: str
    engine: str
    question: str
    deps: Deps
    running: set[Cancel]
    embedder: SentenceTransformerEmbedder | None = None
    path: list[str] = field(default_factory=list)
    state: dict[str, Any] = field(default_factory=dict)
    out: queue.SimpleQueue[Event | BaseException | None] = field(default_factory=queue.SimpleQueue)

    def events(self) -> Iterator[Event]:
        started = time.monotonic()
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
            yield Done(self._answer(time.monotonic() - started))
        finally:
            self.deps.cancel.stop()
            thread.join(CLOSING)
            self.running.discard(self.deps.cancel)

    def _next(self) -> Event | BaseException | None:
        while True:
            with suppress(queue.Empty):
                return self.out.get(timeout=POLL)

    def _work(self) -> None:
        try:
            self._load()
            self._drive()
            self.out.put(None)
        except BaseException as error:
            self.out.put(error)

    def _load(self) -> None:
        """Load the embedder before the first node, so that a person sees what the pause is for; the model meanwhile."""
        self.deps.engine.prepare()
        if self.embedder is not None and not self.embedder.loaded:
            self.out.put(Started("load", loading(self.embedder.name)))
            self.embedder.load()
            self.deps.cancel.restart()

    def _drive(self) -> None:
        starts: dict[str, float] = {}
        parts: Iterator[Any] = self.graph.stream(
            {"question": self.question},
            context=self.deps,
            stream_mode=["tasks", "updates", "custom"],
            version="v2",
        )
        for part in parts:
            kind, data = part["type"], part["data"]
            if kind == "custom":
                self.out.put(data)
            elif kind == "updates":
                self._note(data)
            elif "result" in data:
                self.out.put(Step(data["name"], time.monotonic() - starts[data["id"]]))
            else:
                starts[data["id"]] = time.monotonic()
                self.path.append(data["name"])

    def _note(self, update: Mapping[str, Any]) -> None:
        for values in update.values():
            self.state |= values or {}

    def _answer(self, seconds: float) -> Answer:
        state = self.state
        documents = state.get("documents", [])
        text: str = state.get("generation") or NOT_IN_PASSAGES
        status: Status = state.get("status", "abstained")
        silent = status == "abstained"
        checked = citations.renumbered(citations.check(text, [] if silent else documents))
        decisions: list[Graded] = state.get("decisions", [])
        return Answer(
            question=self.question,
            text=NOT_IN_PASSAGES if silent else checked.text,
            status=status,
            reason=state.get("reason", ""),
            citations=checked.citations,
            dropped_citations=state.get("dropped", 0),
            nearest=citations.nearest(state.get("nearest", []), self.question) if silent else (),
            used_web=state.get("tries", {}).get("web_searches", 0) > 0,
            graph=self.name,
            engine=self.engine,
            path=tuple(self.path),
            decisions=tuple(decisions),
            tries=dict(state.get("tries", {})),
            usage=state.get("usage", Usage()),
            seconds=seconds,
        )
