"""Define the wiring of a graph (Options), the parts that it works with (Deps), and its limits."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, get_args

from langgraph.runtime import Runtime

from local_rag.config.values import Adaptive, AnswerShape, Crag, Limits, SelfRag, Thresholds, Values
from local_rag.core.answer import BudgetKind
from local_rag.core.cancel import Cancel
from local_rag.core.documents import EVERYTHING, Narrowing
from local_rag.core.errors import UsageError
from local_rag.core.events import WebQuery
from local_rag.core.protocols import Corpus, Engine, Evaluator, Reranker, Shape, WebSearch
from local_rag.graphs.state import State, standalone_of
from local_rag.text.answer_language import asked_language, texts_for
from local_rag.text.answer_texts import ENGLISH, AnswerTexts

TIME = "time"
"""The name of the clock among the exhausted budgets of `spent`."""


@dataclass(frozen=True)
class Options:
    """Hold which of the papers' parts a graph is wired with; options for nodes alone are in Deps."""

    separate: bool = False
    candidates: bool = False
    decide: bool = False
    each: bool = False
    complexity: Literal["single", "auto", "multi"] = "single"
    rewrite_first: bool = False

    @classmethod
    def of(cls, values: Values) -> Options:
        """Return the options that the settings ask for."""
        return cls(
            separate=values.self_rag.final_grade == "separate",
            candidates=values.self_rag.candidates > 1,
            decide=values.self_rag.retrieve == "decide",
            each=values.self_rag.retrieve == "each",
            complexity=values.adaptive.complexity,
            rewrite_first=values.adaptive.fallback == "rewrite",
        )


TUTORIAL = Options()
"""The tutorials' wiring, without the papers' further parts."""

Consent = Callable[[WebQuery], bool] | Literal["always", "never", "interrupt"]
"""The consent to web queries. A function is called for each query right before it is sent; "always" and "never" hold
for all. "interrupt" interrupts the graph and asks the caller that resumes it; a graph that cannot be resumed sends
nothing.
"""


class Kept(Protocol):
    """Keep values of files until the files change, by name and file; `made` names the content and the model."""

    def get(self, name: str, source: str, made: str) -> str: ...

    def put(self, name: str, source: str, made: str, value: str) -> None: ...


@dataclass(frozen=True)
class Deps:
    """Hold the parts that answer a question. `within` narrows retrieval; `cancel` has the clock, and the memory.

    `may_search` is the consent to a web query, which `nodes.web_search` alone reads. `self_rag`, `crag`, `adaptive` and
    `answer` are those sections of the settings, `thresholds` as calibrated or set; `strict` removes sentences without
    support from an answer. `folders` are the folder of the index, empty if it is not known, and those of further
    indexes that are asked together with it; `kept_from_web` returns whether questions to such a folder must never go to
    the web. With `drafts` a stream of messages includes drafts that may be rejected. `kept` has earlier summaries, or
    is None if nothing is kept. `evaluator` reads passages, `reranker` orders them; each may be None. `turns` are those
    before the question if no checkpoint keeps them, as `nodes.finish` makes them. `graph` and `thread` are the names
    that the answer reports; its seconds count from the creation of the Deps.
    """

    index: Corpus
    engine: Engine
    web: WebSearch
    limits: Limits = field(default_factory=Limits)
    k: int = 4
    within: Narrowing = EVERYTHING
    allow_direct: bool = False
    cancel: Cancel = field(default_factory=Cancel)
    may_search: Consent = "always"
    self_rag: SelfRag = field(default_factory=SelfRag)
    crag: Crag = field(default_factory=Crag)
    adaptive: Adaptive = field(default_factory=Adaptive)
    answer: AnswerShape = field(default_factory=AnswerShape)
    thresholds: Thresholds = field(default_factory=Thresholds)
    strict: bool = False
    folders: tuple[str, ...] = ("",)
    kept_from_web: Callable[[str], bool] = lambda folder: False
    drafts: bool = False
    kept: Kept | None = None
    evaluator: Evaluator | None = None
    reranker: Reranker | None = None
    turns: Sequence[Mapping[str, Any]] = ()
    graph: str = ""
    thread: str = ""
    began: float = field(default_factory=time.monotonic)

    @property
    def fallback_corpus(self) -> str:
        """The folder or index that is searched in place of the web; empty for the web."""
        return self.web.fallback_corpus

    def limit(self, kind: BudgetKind) -> int:
        """Return the budget of a kind; for the web it is one search, or none if the web is off or kept from this index.

        A fallback corpus in its place is searched once, too, also for an index that is kept from the web.
        """
        if kind == "web_searches":
            kept = not self.fallback_corpus and any(map(self.kept_from_web, self.folders))
            return int(self.web.enabled and not kept)
        return int(getattr(self.limits, kind))

    def exhausted(self, tries: Mapping[BudgetKind, int]) -> list[str]:
        """Return the budgets that are used up, the clock among them."""
        used: list[str] = [kind for kind in get_args(BudgetKind) if tries.get(kind, 0) >= self.limit(kind)]
        return [*used, TIME] if self.cancel.expired else used


def deps_of(runtime: Runtime[Deps]) -> Deps:
    """Return the Deps of this run. Raises UsageError if LangGraph was given none, or another object."""
    context: object = runtime.context
    if not isinstance(context, Deps):
        given = "none" if context is None else type(context).__name__
        raise UsageError(
            f"this graph needs context=Deps(...), and was given {given}",
            hint='app.stream({"question": "…"}, context=rag.context())',
        )
    return context


def recursion_limit(limits: Limits) -> int:
    """Return a limit on the nodes of a run, above the longest path that the budgets allow.

    Each rewrite, each generation and the web search is followed by at most seven other nodes before the next one, each
    step of reasoning by one, each part of an answer by four.
    """
    return 8 * (limits.rewrites + limits.generations + 3) + 6 * limits.steps


def texts_of(state: State, deps: Deps) -> AnswerTexts:
    """Return the program's own sentences in the language that is set, else in that of the question or of the chat
    before it.
    """
    return texts_for(deps.answer.language, standalone_of(state), _language_before(state))


def shape_of(state: State, deps: Deps) -> Shape:
    """Return the shape of answer that an engine is asked for."""
    answer, question = deps.answer, standalone_of(state)
    language = asked_language(answer.language, question, _language_before(state))
    return Shape(answer.sentences, answer.style, language, texts_of(state, deps).refusal)


def _language_before(state: State) -> str:
    """Return the language of the chat's last answer; empty for English, because other languages fall back to it."""
    turns = state.get("turns") or [{}]
    language = str(turns[-1].get("language", ""))
    return language if language != ENGLISH.code else ""
