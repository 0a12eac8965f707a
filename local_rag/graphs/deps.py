"""What a graph is wired with (Options) and works with (Deps), and what bounds it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from langgraph.runtime import Runtime

from local_rag.config.values import Adaptive, AnswerShape, Crag, Limits, SelfRag, Thresholds, Values
from local_rag.core import cancel as cancellation
from local_rag.core import question_memory
from local_rag.core.answer import BudgetKind
from local_rag.core.cancel import Cancel
from local_rag.core.documents import EVERYTHING, Narrowing
from local_rag.core.errors import ContextMissing
from local_rag.core.events import WebQuery
from local_rag.core.protocols import Corpus, Engine, Evaluator, Reranker, WebSearch
from local_rag.core.question_memory import QuestionMemory

TIME = "time"
"""The clock among the exhausted budgets of `spent`."""

BUDGETS: tuple[BudgetKind, ...] = get_args(BudgetKind)


@dataclass(frozen=True, slots=True)
class Options:
    """Which of the papers' parts a graph is wired with; what only nodes look at is in Deps."""

    separate: bool = False
    candidates: bool = False
    decide: bool = False
    each: bool = False
    complexity: Literal["single", "auto", "multi"] = "single"
    rewrite_first: bool = False
    memory: bool = False

    @classmethod
    def of(cls, values: Values, *, memory: bool = False) -> Options:
        """What the settings ask for."""
        return cls(
            separate=values.self_rag.final_grade == "separate",
            candidates=values.self_rag.candidates > 1,
            decide=values.self_rag.retrieve == "decide",
            each=values.self_rag.retrieve == "each",
            complexity=values.adaptive.complexity,
            rewrite_first=values.adaptive.fallback == "rewrite",
            memory=memory,
        )


TUTORIAL = Options()
"""The tutorials' wiring, with none of the papers' further parts."""

MaySearch = Callable[[WebQuery], bool]


def always(query: WebQuery) -> bool:
    """Whoever switched the web on has allowed its queries."""
    return True


def never(query: WebQuery) -> bool:
    """With `web.enabled: ask` nothing is sent where nobody can be asked."""
    return False


def by_interrupt(query: WebQuery) -> bool:
    """In place of a callback: a graph with a checkpointer is interrupted to ask; without one nothing is sent."""
    return False


def none_kept(folder: str) -> bool:
    """No index is kept from the web."""
    return False


@dataclass(frozen=True)
class Deps:
    """The parts a question is answered with. `within` narrows retrieval; `cancel` has the clock.

    `may_search` is told the words and the search engine right before they leave, and says whether they may, or is
    `by_interrupt`.
    `self_rag`, `crag`, `adaptive` and `answer` are those sections of the settings, `thresholds` as calibrated or set;
    `strict` takes sentences without support out of an answer. `memory` is what the engine remembers of the question.
    `folder` is where the index lies, empty where that is not known, `others` where the further ones do that are asked
    as one with it; `kept_from_web` says of such a folder whether questions about it never go to the web. `drafts`:
    messages of a stream are also those drafts that may be rejected. `evaluator` reads passages, `reranker` orders
    them, None where there is none. `turns` are those before the question where no checkpoint keeps them, as
    `nodes.conversation.remember` makes them.
    """

    index: Corpus
    engine: Engine
    web: WebSearch
    limits: Limits = field(default_factory=Limits)
    k: int = 4
    within: Narrowing = EVERYTHING
    allow_direct: bool = False
    cancel: Cancel = field(default_factory=Cancel)
    may_search: MaySearch = always
    self_rag: SelfRag = field(default_factory=SelfRag)
    crag: Crag = field(default_factory=Crag)
    adaptive: Adaptive = field(default_factory=Adaptive)
    answer: AnswerShape = field(default_factory=AnswerShape)
    thresholds: Thresholds = field(default_factory=Thresholds)
    strict: bool = False
    memory: QuestionMemory = field(default_factory=QuestionMemory)
    folder: str = ""
    others: tuple[str, ...] = ()
    kept_from_web: Callable[[str], bool] = none_kept
    drafts: bool = False
    evaluator: Evaluator | None = None
    reranker: Reranker | None = None
    turns: Sequence[Mapping[str, Any]] = ()

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Engine calls inside belong to this question: they stop with it, and share what they remember of it."""
        with cancellation.scope(self.cancel), question_memory.scope(self.memory):
            yield

    @property
    def folders(self) -> tuple[str, ...]:
        """Where all indexes lie that are asked."""
        return self.folder, *self.others

    @property
    def fallback_corpus(self) -> str:
        """The folder or index that is searched in place of the web; empty for the web."""
        return self.web.fallback_corpus

    def limit(self, kind: BudgetKind) -> int:
        """The budget of a kind: one search of the web; none where it is off, or kept from this index.

        A fallback corpus in its place is searched once, too, also for an index that is kept from the web.
        """
        if kind == "web_searches":
            kept = not self.fallback_corpus and any(map(self.kept_from_web, self.folders))
            return int(self.web.enabled and not kept)
        return int(getattr(self.limits, kind))

    def exhausted(self, tries: Mapping[BudgetKind, int]) -> list[str]:
        """The budgets that are used up, the clock among them."""
        used: list[str] = [kind for kind in BUDGETS if tries.get(kind, 0) >= self.limit(kind)]
        return [*used, TIME] if self.cancel.expired else used


def deps_of(runtime: Runtime[Deps]) -> Deps:
    """The Deps of this run. Raises ContextMissing where LangGraph was given none, or something else."""
    context: object = runtime.context
    if not isinstance(context, Deps):
        given = "none" if context is None else type(context).__name__
        raise ContextMissing(
            f"this graph needs context=Deps(...), and was given {given}",
            hint='app.stream({"question": "…"}, context=rag.context())',
        )
    return context


def recursion_limit(limits: Limits) -> int:
    """A backstop above the longest path that the budgets allow.

    Each rewrite, each generation and the web search is followed by at most seven other nodes before the next one, each
    step of reasoning by one, each part of an answer by four.
    """
    return 8 * (limits.rewrites + limits.generations + 3) + 6 * limits.steps
