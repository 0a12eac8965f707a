"""What flows through a graph (State), what it works with (Deps), and what bounds it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, Required, TypedDict

from langchain_core.documents import Document
from langgraph.channels import UntrackedValue
from langgraph.runtime import Runtime

from local_rag.config.settings import Adaptive, Crag, Limits, SelfRag, Thresholds, Values
from local_rag.core import cancel as cancellation
from local_rag.core import question_memory
from local_rag.core.answer import Kind, Status
from local_rag.core.cancel import Cancel
from local_rag.core.errors import ContextMissing
from local_rag.core.events import WebQuery
from local_rag.core.protocols import Corpus, Engine, WebSearch
from local_rag.core.question_memory import QuestionMemory
from local_rag.core.usage import Usage
from local_rag.core.verdicts import Complexity, Grade, Graded, Source

TIME = "time"
"""The last entry of `spent`, beside those of `Kind`."""

Action = Literal["correct", "ambiguous", "incorrect"]
"""What CRAG does with what was retrieved (section 4.3)."""


@dataclass(frozen=True, slots=True)
class Options:
    """Which of the papers' parts a graph is wired with. Everything else that they do is in Deps."""

    separate: bool = False
    candidates: bool = False
    decide: bool = False
    multi: bool = False
    memory: bool = False

    @classmethod
    def of(cls, values: Values, *, memory: bool = False) -> Options:
        """What the settings ask for."""
        return cls(
            separate=values.self_rag.final_grade == "separate",
            candidates=values.self_rag.candidates > 1,
            decide=values.self_rag.retrieve == "decide",
            multi=values.adaptive.complexity != "single",
            memory=memory,
        )


TUTORIAL = Options()
"""The tutorials' wiring, with none of the papers' further parts."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One of several drafts of an attempt. `relevance` is the mean of its passages' scores, `probability` of the draft
    the geometric mean of its tokens' probabilities, None where unknown; `dropped` as in State.
    """

    text: str
    relevance: float
    probability: float | None = None
    dropped: int = 0


@dataclass(frozen=True, slots=True)
class Draft:
    """An answer that was rejected, the passages it was written from, and why; `dropped` and `removed` as in State."""

    text: str
    documents: tuple[Document, ...]
    grade: Grade
    status: Status
    why: str
    dropped: int = 0
    removed: tuple[str, ...] = ()


class State(TypedDict, total=False):
    """The tutorials' keys first. Working fields are untracked: no checkpoint ever keeps them.

    `question` is never overwritten; `asked` is it made whole where it follows others of a chat, whose `turns` are all
    that a checkpoint keeps of them; `query` is what is searched for. `tries` counts per `Kind`, `spent` names the
    budgets that are used up. `retrieved` is how many passages were graded last, `rejected` the chunk ids of those
    found irrelevant, `nearest` the best passages seen at all, `tried` every query so far, `dropped` the numbers
    in the last generation that name no passage, `removed` its sentences that were taken out. `shown` are the chunk ids
    of the passages that were retrieved last, in the order in which the engine is shown them. `scores` are those of the
    passages by chunk id, `action` is CRAG's; `thoughts` are the sentences of reasoning, `step` says whether they go on.
    """

    question: Required[str]
    generation: str
    turns: list[dict[str, Any]]
    asked: Annotated[str, UntrackedValue]
    documents: Annotated[list[Document], UntrackedValue]
    query: Annotated[str, UntrackedValue]
    route: Annotated[Source, UntrackedValue]
    decisions: Annotated[list[Graded], UntrackedValue]
    tries: Annotated[dict[Kind, int], UntrackedValue]
    spent: Annotated[list[str], UntrackedValue]
    status: Annotated[Status, UntrackedValue]
    reason: Annotated[str, UntrackedValue]
    dropped: Annotated[int, UntrackedValue]
    grade: Annotated[Grade | None, UntrackedValue]
    drafts: Annotated[list[Draft], UntrackedValue]
    retrieved: Annotated[int, UntrackedValue]
    rejected: Annotated[list[str], UntrackedValue]
    nearest: Annotated[list[Document], UntrackedValue]
    shown: Annotated[list[str], UntrackedValue]
    tried: Annotated[list[str], UntrackedValue]
    usage: Annotated[Usage, UntrackedValue]
    removed: Annotated[list[str], UntrackedValue]
    scores: Annotated[dict[str, float], UntrackedValue]
    action: Annotated[Action, UntrackedValue]
    candidates: Annotated[list[Candidate], UntrackedValue]
    complexity: Annotated[Complexity, UntrackedValue]
    thoughts: Annotated[list[str], UntrackedValue]
    step: Annotated[str, UntrackedValue]


Update = dict[str, Any]
"""What a node returns: some keys of State."""


MaySearch = Callable[[WebQuery], bool]


def always(query: WebQuery) -> bool:
    """Whoever switched the web on has allowed its queries."""
    return True


def never(query: WebQuery) -> bool:
    """With `web.enabled: ask` nothing is sent where nobody can be asked."""
    return False


@dataclass(frozen=True)
class Deps:
    """The parts a question is answered with. `within` restricts retrieval to files; `cancel` holds the deadline.

    `may_search` is told the words and the search engine right before they leave, and says whether they may.
    `self_rag`, `crag` and `adaptive` are those sections of the settings, `thresholds` as calibrated or set; `strict`
    takes sentences without support out of an answer. `graph` names the graph for the turns of a chat. `memory` is what
    the engine remembers of the question.
    """

    index: Corpus
    engine: Engine
    web: WebSearch
    limits: Limits = field(default_factory=Limits)
    k: int = 4
    within: Sequence[str] = ()
    allow_direct: bool = False
    cancel: Cancel = field(default_factory=Cancel)
    may_search: MaySearch = always
    self_rag: SelfRag = field(default_factory=SelfRag)
    crag: Crag = field(default_factory=Crag)
    adaptive: Adaptive = field(default_factory=Adaptive)
    thresholds: Thresholds = field(default_factory=Thresholds)
    strict: bool = False
    graph: str = ""
    memory: QuestionMemory = field(default_factory=QuestionMemory)

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Engine calls inside belong to this question: they stop with it, and share what they remember of it."""
        with cancellation.scope(self.cancel), question_memory.scope(self.memory):
            yield

    @property
    def scored(self) -> bool:
        """Whether something looks at the scores of passages, so that a grader should take the trouble to give them."""
        return (
            self.crag.trigger == "thresholds"
            or self.crag.refine
            or self.self_rag.candidates > 1
            or self.thresholds.relevance is not None
        )

    def limit(self, kind: Kind) -> int:
        """How often a kind may be done. With the web off there is no budget for it, and so no edge leads there."""
        if kind == "web_searches" and not self.web.enabled:
            return 0
        return int(getattr(self.limits, kind))

    def spent(self, tries: Mapping[Kind, int]) -> list[str]:
        """The budgets that are used up, the clock among them."""
        kinds: tuple[Kind, ...] = ("rewrites", "generations", "web_searches", "steps")
        used: list[str] = [kind for kind in kinds if tries.get(kind, 0) >= self.limit(kind)]
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

    Each rewrite, generation and web search is followed by at most seven other nodes before the next one, each step of
    reasoning by one.
    """
    return 8 * (limits.rewrites + limits.generations + limits.web_searches + 2) + 2 * limits.steps
