"""What flows through a graph (State), what it works with (Deps), and what bounds it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from operator import add
from typing import (
    Annotated,
    Any,
    Literal,
    Required,  # pydantic makes a JSON schema of no other before Python 3.12
    cast,
    get_args,
)

from langchain_core.documents import Document
from langgraph.runtime import Runtime
from typing_extensions import TypedDict

from local_rag.config.settings import Adaptive, AnswerShape, Crag, Limits, SelfRag, Thresholds, Values, WidenName
from local_rag.core import cancel as cancellation
from local_rag.core import question_memory
from local_rag.core.answer import BudgetKind, Citation, Status
from local_rag.core.cancel import Cancel
from local_rag.core.errors import ContextMissing
from local_rag.core.events import WebQuery
from local_rag.core.protocols import Corpus, Engine, WebSearch
from local_rag.core.question_memory import QuestionMemory
from local_rag.core.usage import Usage
from local_rag.core.verdicts import Complexity, Grade, Graded, Source
from local_rag.graphs.channels import Latest

TIME = "time"
"""The clock among the exhausted budgets of `spent`."""

BUDGETS: tuple[BudgetKind, ...] = get_args(BudgetKind)

Action = Literal["correct", "ambiguous", "incorrect"]
"""What CRAG does with what was retrieved (section 4.3)."""


@dataclass(frozen=True, slots=True)
class Options:
    """Which of the papers' parts a graph is wired with; what only nodes look at is in Deps."""

    separate: bool = False
    candidates: bool = False
    decide: bool = False
    each: bool = False
    widen: bool = False
    complexity: Literal["single", "auto", "multi"] = "single"
    rewrite_first: bool = False
    web_again: bool = False
    memory: bool = False

    @classmethod
    def of(cls, values: Values, *, memory: bool = False) -> Options:
        """What the settings ask for."""
        return cls(
            separate=values.self_rag.final_grade == "separate",
            candidates=values.self_rag.candidates > 1,
            decide=values.self_rag.retrieve == "decide",
            each=values.self_rag.retrieve == "each",
            widen=values.widen != "off",
            complexity=values.adaptive.complexity,
            rewrite_first=values.adaptive.fallback == "rewrite",
            web_again=values.limits.web_searches > 1,
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

    def __post_init__(self) -> None:
        """Lists, as a checkpoint gives them back, become tuples."""
        object.__setattr__(self, "documents", tuple(self.documents))
        object.__setattr__(self, "removed", tuple(self.removed))


def _highest(tries: dict[BudgetKind, int], more: dict[BudgetKind, int]) -> dict[BudgetKind, int]:
    """Counts that only grow: of each kind the higher one."""
    return tries | {kind: max(count, tries.get(kind, 0)) for kind, count in more.items()}


def _union(names: list[str], more: list[str]) -> list[str]:
    return sorted({*names, *more})


class Update(TypedDict, total=False):
    """What a node may return. Every key but `turns` belongs to one question and is cleared when the next one begins.

    `asked` is the question made whole where it follows others of a chat, whose `turns` outlive a question;
    `query` is what is searched for, `tried` every query so far. `own` are those that the web may be told: the question
    made whole from the person's own questions alone, then what was written from that; see `own_words`. `label` is what
    the last node decided for the edge behind it, `why` its reason. `tries` counts per `BudgetKind`, `spent` names the
    exhausted budgets. `retrieved` is how many passages were graded last, `rejected` the chunk ids of those found
    irrelevant, `nearest` the best passages seen at all, `shown` the chunk ids of those retrieved last, in the order in
    which the engine is shown them. `dropped` counts the numbers in the generation that name no passage, `removed` are
    its sentences that were taken out. `scores` are those of passages by chunk id, `action` is CRAG's; `thoughts` are
    sentences of reasoning, `step` says whether they go on. Of an answer that is written part by part `written` is what
    stands, `segment` the last part with marks that count in the passages retrieved last, `refused` are (part, why it
    was). `failed`: the engine did, what stands is passed on.
    `citations` are those of the answer, when the graph has ended; `path` names the nodes so far.
    A node returns of `decisions`, `usage`, `path`, `tries` and `spent` only what is new: they have reducers.
    """

    generation: Annotated[str, Latest]
    turns: Annotated[list[dict[str, Any]], Latest]
    asked: Annotated[str, Latest]
    documents: Annotated[list[Document], Latest]
    query: Annotated[str, Latest]
    tried: Annotated[list[str], Latest]
    own: Annotated[list[str], Latest]
    route: Annotated[Source, Latest]
    complexity: Annotated[Complexity, Latest]
    label: Annotated[str, Latest]
    why: Annotated[str, Latest]
    decisions: Annotated[list[Graded], add]
    tries: Annotated[dict[BudgetKind, int], _highest]
    spent: Annotated[list[str], _union]
    usage: Annotated[Usage, add]
    path: Annotated[list[str], add]
    status: Annotated[Status, Latest]
    reason: Annotated[str, Latest]
    citations: Annotated[list[Citation], Latest]
    dropped: Annotated[int, Latest]
    removed: Annotated[list[str], Latest]
    grade: Annotated[Grade | None, Latest]
    drafts: Annotated[list[Draft], Latest]
    candidates: Annotated[list[Candidate], Latest]
    retrieved: Annotated[int, Latest]
    rejected: Annotated[list[str], Latest]
    nearest: Annotated[list[Document], Latest]
    shown: Annotated[list[str], Latest]
    scores: Annotated[dict[str, float], Latest]
    action: Annotated[Action, Latest]
    thoughts: Annotated[list[str], Latest]
    step: Annotated[str, Latest]
    written: Annotated[str, Latest]
    segment: Annotated[str, Latest]
    refused: Annotated[list[list[str]], Latest]
    failed: Annotated[bool, Latest]


class State(Update, total=False):
    """The tutorials' keys `question`, `documents` and `generation`, and the others; no node overwrites the question."""

    question: Required[str]


class Question(TypedDict):
    """What a graph is given."""

    question: str


class Result(TypedDict, total=False):
    """What a graph gives back: the tutorials' keys, and how the answer came about.

    The marks [n] of `generation` are the numbers of `citations`, and [n] cites the n-th of `documents`.
    """

    question: str
    generation: str
    documents: list[Document]
    status: Status
    citations: list[Citation]
    decisions: list[Graded]
    usage: Usage


class CragUpdate(Update, total=False):
    """`web_search` is the tutorial's flag: whether CRAG goes to the web."""

    web_search: Annotated[Literal["Yes", "No"], Latest]


class CragState(CragUpdate, State, total=False):
    """CRAG's state. Its own, because the flag's name is that of a node in Adaptive RAG."""


class CragResult(Result, total=False):
    web_search: Literal["Yes", "No"]


_REDUCERS: Mapping[str, Callable[[Any, Any], Any]] = {
    "decisions": add,
    "usage": add,
    "path": add,
    "tries": _highest,
    "spent": _union,
}
"""How those keys are put together whose parts nodes return."""


def after(state: State, update: Update) -> State:
    """The state once a node's update is in it, as LangGraph will put them together."""
    merged: dict[str, Any] = {**state, **update}
    for key, reduce in _REDUCERS.items():
        if key in state and key in update:
            merged[key] = reduce(state[key], update[key])  # type: ignore[literal-required]
    return cast(State, merged)


PARENT_SAVER = "__pregel_checkpointer"
"""Where LangGraph hands a node, and a graph within a graph, its saver."""

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
    """The parts a question is answered with. `within` restricts retrieval to files; `cancel` holds the deadline.

    `may_search` is told the words and the search engine right before they leave, and says whether they may, or is
    `by_interrupt`.
    `self_rag`, `crag`, `adaptive` and `answer` are those sections of the settings, `thresholds` as calibrated or set;
    `strict` takes sentences without support out of an answer, `widen` says what is added to relevant passages. `graph`
    names the graph for the turns of a chat. `memory` is what the engine remembers of the question. `folder` is where
    the index lies, empty where that is not known; `kept_from_web` says of such a folder whether questions about it
    never go to the web. `drafts`: messages of a stream are also those drafts that may be rejected.
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
    answer: AnswerShape = field(default_factory=AnswerShape)
    thresholds: Thresholds = field(default_factory=Thresholds)
    strict: bool = False
    widen: WidenName = "off"
    graph: str = ""
    memory: QuestionMemory = field(default_factory=QuestionMemory)
    folder: str = ""
    kept_from_web: Callable[[str], bool] = none_kept
    drafts: bool = False

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

    @property
    def second_source(self) -> str:
        """The folder or index that is searched in place of the web; empty for a web search that does not name one."""
        return getattr(self.web, "second_source", "")

    def limit(self, kind: BudgetKind) -> int:
        """The budget of a kind; none for the web where it is off, or kept from this index, so no edge leads there.

        That of the web is the budget of a second source in its place, also for an index that is kept from the web.
        """
        kept = not self.second_source and self.kept_from_web(self.folder)
        if kind == "web_searches" and (kept or not self.web.enabled):
            return 0
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

    Each rewrite, generation and web search is followed by at most seven other nodes before the next one, each step of
    reasoning by one, each part of an answer by four. A web search that is declined is one of the seven: it exhausts
    its budget, so there is one at most.
    """
    return 8 * (limits.rewrites + limits.generations + limits.web_searches + 2) + 6 * limits.steps
