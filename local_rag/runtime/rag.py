"""Connect index, engine, web and graphs in a Rag; no other module does."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, replace
from functools import cached_property, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Unpack

from local_rag.config.calibrated import VoidCalibration, fingerprint_of, thresholds_for, void_calibration
from local_rag.config.settings import Settings
from local_rag.config.values import Flags
from local_rag.core import cancel as cancellation
from local_rag.core.answer import Answer
from local_rag.core.asynchronous import items_on_a_thread, on_a_thread
from local_rag.core.cancel import Cancel
from local_rag.core.documents import Narrowing
from local_rag.core.errors import LocalRagError, UsageError
from local_rag.core.events import Done, Event
from local_rag.core.progress import Display, Silent
from local_rag.runtime.fallback_corpus import open_fallback_corpus
from local_rag.runtime.history_file import KeptOfFiles
from local_rag.runtime.index_updates import IndexUpdates
from local_rag.runtime.indexing import Request, index_files
from local_rag.runtime.kept import thread_name
from local_rag.runtime.opening import PYTHON_DOCS, check_question, open_embedder, open_index, open_indexes, open_web
from local_rag.runtime.recording import Recorder, conditions
from local_rag.runtime.run import Asking, Context, Run
from local_rag.text.answer_html import answer_html

if TYPE_CHECKING:
    from langchain_core.callbacks import Callbacks
    from langchain_core.tools import BaseTool
    from langgraph.checkpoint.base import BaseCheckpointSaver
    from langgraph.graph.state import CompiledStateGraph

    from local_rag.core.protocols import Corpus, Engine, OwnEmbedder, Reranker, Turn, WebSearch
    from local_rag.graphs.deps import Consent, Deps
    from local_rag.graphs.state import Question, Result, State
    from local_rag.runtime.each import FileAnswer
    from local_rag.runtime.engine_choice import Choice
    from local_rag.runtime.history import History
    from local_rag.web.search import FallbackCorpus

SEARCHING = ("crag", "adaptive", "")
"""The graphs that search the web, or a fallback corpus in its place; a graph without a name may do so."""


class Rag(IndexUpdates):
    """Ask questions about one index with one engine; it serves several threads.

    Close it, or use it in a `with`. `corpus` is the index, several indexes as one, or a corpus of a program, and the
    reranker of the choice orders what a question finds there. `folder` is the folder of the index, by default the first
    of the settings (`folders`), and empty for a corpus of a program. `open_source` opens the fallback corpus when a
    graph that searches is first asked. Closing the Rag closes its parts, except parts that a program gave to
    `Rag.open`.
    """

    def __init__(
        self,
        settings: Settings,
        corpus: Corpus,
        choice: Choice,
        embedder: OwnEmbedder | None = None,
        open_source: Callable[[], FallbackCorpus] | None = None,
        *,
        folder: str | None = None,
    ) -> None:
        from local_rag.web.search import Off

        Answer._repr_html_ = answer_html  # shown by a notebook
        self.settings = settings
        self.corpus = corpus
        self.choice = choice
        self.engine = choice.engine
        self.evaluator = choice.evaluator
        self.embedder = embedder
        self.folders = (*settings.folders,) if folder is None else (folder,)
        self.folder = self.folders[0]
        self.web: WebSearch = Off() if open_source else open_web(settings, self.folders)
        self._open_source = open_source
        self._source: FallbackCorpus | None = None
        self.fingerprint = fingerprint_of(self.engine, embedder, choice.reranker)
        self.thresholds = thresholds_for(settings, self.fingerprint)
        self._recorder = Recorder(lambda: self.history, settings.values.runs.keep)
        self._graphs: dict[str, CompiledStateGraph[State, Deps, Question, Result]] = {}
        self._running: set[Cancel] = set()
        self._lock, self._opening = threading.Lock(), threading.Lock()
        self._opened = ExitStack()
        with suppress(UsageError):  # a corpus of a program stays open
            self._opened.callback(self.index.close)
        self._opened.callback(choice.close)

    @classmethod
    def open(
        cls,
        settings: Settings | None = None,
        *,
        engine: Engine | str | None = None,
        corpus: Corpus | None = None,
        reranker: Reranker | None = None,
        prompts: Mapping[str, str] | None = None,
        display: Display | None = None,
        **flags: Unpack[Flags],
    ) -> Rag:
        """Open the configured index and engine; `flags` are settings (index="notes", limits__seconds=60).

        Several indexes of one embedder, index=["notes", "mail"], are searched as one. `engine` is a name as in the
        settings or an engine of your own, for example from `from_chat_model`. `corpus` takes the place of the index,
        and `reranker` orders what a question finds. Parts that you give are not closed with the Rag. `prompts` are
        texts that replace ours by name (`local-rag prompts show` lists them); they are stronger than those of
        prompts.yaml. A folder that is named as a fallback corpus (web__source) is indexed, as far as needed, when a
        graph that searches is first asked; `display` shows the progress.

        Raise IndexMissing, IndexMismatch, ModelMissing, ConfigError; raise ServerDown and NotLocal if a named model
        server is not there or not on this machine.
        """
        from local_rag.runtime.engine_choice import check_parts, choose_engine, own_engine, prompt_texts

        check_parts(corpus, reranker, prompts)
        own, named = (None, engine) if isinstance(engine, str) else (engine, None)
        if settings and (flags or named):
            raise UsageError("give Rag.open either settings or single values, not both")
        settings = settings or Settings.load(**flags, engine=named)
        if prompts is not None:
            settings = replace(settings, prompts=prompts)
        prompt_texts(settings)  # report a mistake with every engine, even one without prompts
        embedder = open_embedder(settings)
        with ExitStack() as opened:
            searched = corpus
            if searched is None:
                searched = index = open_indexes(settings, embedder)
                opened.push(index)
            source = partial(open_fallback_corpus, settings, embedder, display or Silent())
            open_source = source if settings.values.web.source else None
            parts = embedder, searched, reranker
            choice = choose_engine(settings, *parts) if own is None else own_engine(settings, own, *parts)
            opened.callback(choice.close, engine=own is None)
            used = embedder if corpus is None or own is None else None
            folder = None if corpus is None else ""
            rag = cls(settings, searched, choice, used, open_source, folder=folder)
            rag._opened = opened.pop_all()
            return rag

    @property
    def void_calibration(self) -> VoidCalibration | None:
        """Return which calibrated thresholds do not hold here and why, or None."""
        return void_calibration(self.settings, self.fingerprint)

    @classmethod
    def from_files(
        cls,
        paths: Sequence[str | Path],
        *,
        index: str | None = None,
        engine: Engine | str | None = None,
        display: Display | None = None,
        **flags: Any,
    ) -> Rag:
        """Index files and folders, and open a Rag on them; `engine`, `display` and `flags` are as in `open`.

        `index` names the index that keeps them, and a later call only adds what changed. Without it, the index is in a
        temporary folder, which only this user may read, and is deleted when the Rag closes. Without paths the index is
        empty, for documents of `add`. Raise UsageError for a path that does not exist, and what `open` raises.
        """
        named, own = (engine, None) if isinstance(engine, str) else (None, engine)
        with ExitStack() as made:
            folder = "" if index else made.enter_context(TemporaryDirectory(prefix="local-rag-index-"))
            settings = Settings.load(**flags, engine=named, index=index or str(Path(folder, "index")))
            if paths:
                given = [paths] if isinstance(paths, str | Path) else paths
                index_files(settings, Request([*map(Path, given)]), display or Silent())
            else:
                open_index(settings, create=True).close()
            rag = cls.open(settings, engine=own, display=display)
            made.push(rag._opened)  # closed before the folder is deleted
            rag._opened = made.pop_all()
            return rag

    def ask(self, question: str, **options: Unpack[Asking]) -> Answer:
        """Answer a question; `thread` names its chat, and `graph` is by default that of the settings.

        Outside of a thread, `turns` are the questions before it, if another program keeps the chat. `within` narrows
        the search to files (paths or globs), or with a `Narrowing` also to dates, kinds of files and authors.

        `may_search` is a function that is given every web query right before it is sent and returns whether it may be
        sent, or it is "never". Without it, every query is sent if the settings switch the web on, and none if they say
        `ask`. `callbacks` are LangChain's, as in a config: they receive each node, retrieval and call to a model. The
        run of the question is recorded as `runs.keep` says, unless `record` is false. Raise UsageError for an unknown
        graph and a question that is empty or too long, EngineError if the engine fails.
        """
        for event in self.stream(question, **options):
            if isinstance(event, Done):
                return event.answer
        raise LocalRagError("the graph ended without an answer")

    def stream(
        self,
        question: str,
        *,
        graph: str | None = None,
        thread: str | None = None,
        turns: Sequence[Turn] = (),
        callbacks: Callbacks = None,
        record: bool = True,
        **context: Unpack[Context],
    ) -> Iterator[Event]:
        """Yield events as they happen, `Done` last; arguments are as in `ask`.

        The question and its clock start when the first event is requested. Closing the iterator stops the question. So
        does `cancel.stop()`, from any thread: the iterator, which may be waiting, then raises Stopped.
        """
        check_question(question)
        thread = "" if thread is None else thread_name(thread)
        question = question.encode("utf-8", "replace").decode()  # invalid bytes from a shell are surrogates
        name = graph or self.settings.values.graph
        compiled = self.graph(name)
        deps = self.context(graph=name, **context)
        before = self.history.before(thread) if thread else list(map(asdict, turns))
        deps = replace(deps, turns=before, thread=thread)
        question = question.strip()
        run = Run(compiled, question, deps, self._running, self.embedder, callbacks)
        source = self.fallback_corpus_of(name)
        return self._recorder.following(
            run.events(),
            question,
            thread=thread,
            conditions=partial(conditions, self, deps.within, graph=name, k=deps.k) if record else None,
            index=self.settings.values.index if self.folder else "",
            indexes=[*self.folders, *([str(source.index.path)] if source else [])],
            web_never=bool(self.folder) and any(map(self.settings.keeps_from_the_web, self.folders)),
        )

    async def aask(self, question: str, **options: Unpack[Asking]) -> Answer:
        """Answer as `ask` does, for asyncio: the event loop goes on, and cancelling the task stops the question."""
        return await on_a_thread(lambda: self.ask(question, **options))

    def astream(self, question: str, **options: Unpack[Asking]) -> AsyncIterator[Event]:
        """Yield events as `stream` does, for asyncio; closing it or cancelling its reader stops the question."""
        return items_on_a_thread(lambda: self.stream(question, **options))

    def each(
        self,
        question: str,
        within: Narrowing | Sequence[str] = (),
        *,
        graph: str | None = None,
        k: int | None = None,
        cancel: Cancel | None = None,
    ) -> Iterator[FileAnswer]:
        """Yield the answers of each file alone, of the files that `within` leaves, in the order of their paths.

        An answer is kept until file, engine or settings change: a question that was stopped goes on where it was.
        """
        from local_rag.runtime.each import answered_by_each

        return answered_by_each(self, question, Narrowing.of(within), graph=graph, k=k, cancel=cancel)

    @property
    def fallback_corpus(self) -> FallbackCorpus | None:
        """Return the corpus that is searched in place of the web, opened if needed; None if the settings name none.

        Raise UsageError for one that does not exist or is empty, and IndexMismatch.
        """
        if self._open_source is None:
            return None
        with self._opening:
            if self._source is None:
                self._source = self._open_source()
                self._opened.callback(self._source.close)
            return self._source

    def fallback_corpus_of(self, graph: str, cancel: Cancel | None = None) -> FallbackCorpus | None:
        """Return the fallback corpus for a graph that searches one, else None; raise as `fallback_corpus` does.

        Indexing its folder is stopped by `cancel`, and together with every question; it then raises Stopped.
        """
        if graph not in SEARCHING:
            return None
        opening = Cancel(outer=cancel)
        self._running.add(opening)
        try:
            with cancellation.scope(opening):
                return self.fallback_corpus
        finally:
            self._running.discard(opening)

    @cached_property
    def history(self) -> History:
        """Return the history of the data folder: chats, records and judgements."""
        from local_rag.runtime.history import History

        return History.open(self.settings.data_folder)

    def graph(
        self, name: str, *, checkpointer: BaseCheckpointSaver[Any] | None = None
    ) -> CompiledStateGraph[State, Deps, Question, Result]:
        """Return the compiled graph of that name, wired as the settings say, for a LangGraph program of your own.

        A run without `context=` has its own Deps from `context()`. `stream_mode="messages"` yields the answer once it
        is final, `"custom"` the events of `core.events`. With a `checkpointer` the graph remembers the turns of each
        `thread_id` and makes follow-ups standalone; without one, a caller gives the turns (`Deps.turns`). Raise
        UsageError for an unknown graph, and for `strict` with a graph that does not check its answers.
        """
        from local_rag.graphs import GRAPHS, compiled
        from local_rag.graphs.deps import Options, recursion_limit

        if name not in GRAPHS:
            raise UsageError(f"there is no graph {name!r}", hint=f"local-rag ask --graph {'|'.join(GRAPHS)}")
        values = self.settings.values
        if values.strict and name == "plain":
            raise UsageError(
                "plain does not check its answers, so it cannot take unsupported sentences out of them (strict)",
                hint="local-rag ask --graph self-rag --strict …",
            )
        with self._lock:
            if checkpointer is None and name in self._graphs:
                return self._graphs[name]
            graph = compiled(name, Options.of(values), checkpointer)
            graph = graph.copy({"contexts": partial(self.context, graph=name)})
            configured = graph.with_config(recursion_limit=recursion_limit(values.limits))
            if checkpointer is None:
                self._graphs[name] = configured
            return configured

    def context(
        self,
        *,
        k: int | None = None,
        within: Narrowing | Sequence[str] = (),
        graph: str = "",
        may_search: Consent | None = None,
        drafts: bool = False,
        cancel: Cancel | None = None,
    ) -> Deps:
        """Return fresh Deps for one question, with arguments as in `stream`; its clock starts now.

        A graph with a checkpointer is interrupted before a web query if `may_search` is "interrupt", or is left out and
        the settings say `ask`: resume it with yes, no, or the words to send instead. With `drafts`,
        `stream_mode="messages"` also yields each draft as it is written, as a message of its own.
        """
        from local_rag.graphs.deps import Deps

        values = self.settings.values
        if k is not None and k < 1:
            raise UsageError(f"k must be at least 1, not {k}")
        if may_search is None:
            may_search = "interrupt" if values.web.enabled == "ask" else "always"
        if may_search not in ("always", "never", "interrupt") and not callable(may_search):
            why = 'may_search is a function of a query, "always", "never" or "interrupt"'
            raise UsageError(f"{why}, not {may_search!r}", hint=PYTHON_DOCS)
        return Deps(
            index=self.corpus,
            engine=self.engine,
            web=self.fallback_corpus_of(graph, cancel) or self.web,
            limits=values.limits,
            k=k or values.k,
            within=Narrowing.of(within),
            allow_direct=values.direct,
            cancel=Cancel(values.limits.seconds, cancel or cancellation.current()),
            may_search=may_search,
            self_rag=values.self_rag,
            crag=values.crag,
            adaptive=values.adaptive,
            answer=values.answer,
            thresholds=self.thresholds,
            strict=values.strict,
            folders=self.folders,
            kept_from_web=self.settings.keeps_from_the_web,
            drafts=drafts,
            evaluator=self.evaluator,
            kept=KeptOfFiles(lambda: self.history, self.folder) if self.folder and values.runs.keep else None,
            graph=graph,
            reranker=self.choice.reranker,
        )

    def as_tool(self, *, name: str = "ask_my_files", graph: str | None = None) -> BaseTool:
        """Return a LangChain tool that answers a question from the files, for an agent of your own.

        It returns the answer with its status and sources. If the files do not answer, it says so, without an error. An
        error of the engine or the index is returned as text, too, so that an agent can go on.
        """
        from local_rag.runtime.langchain_tool import tool_of

        return tool_of(self, name, graph)

    def stop(self) -> None:
        """Stop every running question."""
        for cancel in list(self._running):
            cancel.stop()

    def close(self) -> None:
        """Stop every running question and close the index."""
        self.stop()
        with self._opened:
            if "history" in vars(self):
                self.history.close()

    def __enter__(self) -> Rag:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
