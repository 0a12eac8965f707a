"""What flows through a graph: its state, and what each node adds to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from operator import add
from typing import (
    Annotated,
    Any,
    Literal,
    Required,  # pydantic makes a JSON schema of no other before Python 3.12
    cast,
    get_origin,
    get_type_hints,
)

from langchain_core.documents import Document
from typing_extensions import TypedDict

from local_rag.core.answer import BudgetKind, Citation, Conflict, Status
from local_rag.core.usage import Usage
from local_rag.core.verdicts import Complexity, Grade, Graded, Source
from local_rag.graphs.channels import Latest

Action = Literal["correct", "ambiguous", "incorrect"]
"""What CRAG does with what was retrieved (section 4.3)."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One of several drafts of an attempt. `relevance` is the mean of its passages' scores; `dropped` as in State."""

    text: str
    relevance: float
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

    `index` is the folder of the index that is asked.
    `asked` is the question made whole where it follows others of a chat, whose `turns` outlive a question; `query` is
    what is searched for, `tried` every query so far. `own` are those that the web may be told: the question made
    whole from the person's own questions alone, then what was written from that; see `own_words`. `own_stays`: they
    were made for a fallback corpus, and never leave. `label` is what the last node decided for the edge behind it,
    `why` its reason. `tries` counts per `BudgetKind`, `spent` names the exhausted budgets. `retrieved` is how many
    passages were graded last, `rejected` the chunk ids of those found irrelevant, `nearest` all passages
    seen, as they were retrieved, at the end the nearest first, `shown` the chunk ids of those retrieved last, in the
    order in which the engine is shown them. `dropped` counts the numbers in the generation that name no passage,
    `removed` are its sentences that were taken out.
    `scores` are those of passages by chunk id, `action` is CRAG's; `thoughts` are sentences of reasoning, `step` says
    whether they go on. Of an answer that is written part by part `written` is what stands, `segment` the last part
    with marks that count in the passages retrieved last, `refused` are (part, why it was). `failed`: the engine did,
    what stands is passed on. `citations` are those of the answer, when the graph has ended, and `conflicts` say where
    its files disagree; `path` names the nodes so far.
    A node returns of `decisions`, `usage`, `path`, `tries` and `spent` only what is new: they have reducers.
    """

    generation: Annotated[str, Latest]
    turns: Annotated[list[dict[str, Any]], Latest]
    asked: Annotated[str, Latest]
    index: Annotated[str, Latest]
    documents: Annotated[list[Document], Latest]
    query: Annotated[str, Latest]
    tried: Annotated[list[str], Latest]
    own: Annotated[list[str], Latest]
    own_stays: Annotated[bool, Latest]
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
    conflicts: Annotated[list[Conflict], Latest]
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
    conflicts: list[Conflict]
    decisions: list[Graded]
    usage: Usage


class CragUpdate(Update, total=False):
    """`web_search` is the tutorial's flag: whether CRAG goes to the web."""

    web_search: Annotated[Literal["Yes", "No"], Latest]


class CragState(CragUpdate, State, total=False):
    """CRAG's state. Its own, because the flag's name is that of a node in Adaptive RAG."""


class CragResult(Result, total=False):
    web_search: Literal["Yes", "No"]


@cache
def _reducers() -> Mapping[str, Callable[[Any, Any], Any]]:
    """How those keys are put together whose parts nodes return, as `Update` says it."""
    hints = get_type_hints(CragState, include_extras=True)
    reducers = {key: hint.__metadata__[0] for key, hint in hints.items() if get_origin(hint) is Annotated}
    return {key: reduce for key, reduce in reducers.items() if reduce is not Latest}


def standalone_of(state: State) -> str:
    """The question as it was asked, or made whole where it follows others."""
    return state.get("asked") or state["question"]


def after(state: State, update: Update) -> State:
    """The state once a node's update is in it, as LangGraph will put them together."""
    merged: dict[str, Any] = {**state, **update}
    for key, reduce in _reducers().items():
        if key in state and key in update:
            merged[key] = reduce(state[key], update[key])  # type: ignore[literal-required]
    return cast(State, merged)


PARENT_SAVER = "__pregel_checkpointer"
"""Where LangGraph hands a node, and a graph within a graph, its saver."""
