"""Define the state of a graph, and how each node's update is merged into it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from operator import add
from typing import (
    Annotated,
    Any,
    Literal,
    cast,
    get_origin,
    get_type_hints,
)

from langchain_core.documents import Document
from langgraph.types import Overwrite
from typing_extensions import TypedDict

from local_rag.core.answer import Answer, BudgetKind
from local_rag.core.serialization import TuplesFromLists
from local_rag.core.verdicts import Complexity, Grade, Graded, Source, Usage

Action = Literal["correct", "ambiguous", "incorrect"]
"""CRAG's action on the retrieved documents (section 4.3)."""


@dataclass(frozen=True)
class Candidate:
    """Hold one of several drafts of an attempt. `relevance` is the mean of its passages' scores."""

    text: str
    relevance: float


@dataclass(frozen=True)
class Draft(TuplesFromLists):
    """Hold a generation that is not accepted, and the passages it was written from; `removed` is as in State.

    `grade` is None if nothing was graded; `unfinished`: the clock or the engine ended its checks. `why` is the reason
    for its rejection, in the language of the answer, for people who inspect the run.
    """

    text: str
    documents: tuple[Document, ...]
    grade: Grade | None
    removed: tuple[str, ...] = ()
    unfinished: bool = False
    why: str = ""

    @classmethod
    def of(cls, state: State, grade: Grade | None, *, unfinished: bool = False, why: str = "") -> Draft:
        """Return the generation of a state with its passages."""
        documents, removed = tuple(state.get("documents", ())), tuple(state.get("removed", ()))
        return cls(state.get("generation", ""), documents, grade, removed, unfinished, why)


def _highest(tries: dict[BudgetKind, int], more: dict[BudgetKind, int]) -> dict[BudgetKind, int]:
    """Merge counts that only grow: take the higher one of each kind."""
    return tries | {kind: max(count, tries.get(kind, 0)) for kind, count in more.items()}


def _union(names: list[str], more: list[str]) -> list[str]:
    return sorted({*names, *more})


class State(TypedDict, total=False):
    """Hold everything a graph knows of a question. A node returns the keys that it changes; no node changes the
    question.

    Every key but `turns` belongs to one question. Of the keys with a reducer a node returns only the new part.
    """

    question: str
    generation: str  # the text written so far, in the end that of the answer
    documents: list[Document]  # the passages that the generation is written from
    turns: list[dict[str, Any]]  # the questions of the chat before this one, and their answers
    asked: str  # the question, made standalone if it follows others
    whole: str  # the file that a question asks for as a whole, or that files are asked for; see `graphs.whole`
    index: str  # the folder of the index that is asked
    query: str  # the working query
    tried: list[str]  # every query so far
    web_queries: list[str]  # the queries that may leave this machine; see `nodes.queries`
    route: Source
    complexity: Complexity
    label: str  # the last node's decision for the edge behind it
    why: str  # the reason for this decision
    decisions: Annotated[list[Graded], add]
    tries: Annotated[dict[BudgetKind, int], _highest]
    spent: Annotated[list[str], _union]  # the exhausted budgets
    usage: Annotated[Usage, add]
    path: Annotated[list[str], add]  # the nodes so far
    answer: Answer  # made by `finish`
    accepted: bool  # whether the generation passed its checks, or its graph has none
    removed: list[str]  # sentences of the generation that were taken out
    grade: Grade | None
    drafts: list[Draft]  # generations that were rejected
    candidates: list[Candidate]
    retrieved: int  # how many passages were graded last
    rejected: list[str]  # chunk ids of passages found irrelevant
    graded: list[Document]  # the passages in the last prompt of the retrieval grader
    nearest: list[Document]  # all passages seen, as they were retrieved
    prompt_order: list[str]  # chunk ids of the passages retrieved last, in the order in which the engine is shown them
    scores: dict[str, float]  # of passages by chunk id
    action: Action  # CRAG's action
    thoughts: list[str]  # sentences of reasoning
    step: str  # whether the reasoning, or the parts of an answer, go on
    segment: str  # the last part of an answer; its marks count in the passages retrieved last
    failed: str  # the engine's error, after something was written


class Question(TypedDict):
    """Hold the input of a graph."""

    question: str


class Result(TypedDict, total=False):
    """Hold the output of a graph: the tutorials' keys, and the answer with its citations, status and path.

    `generation` is the text of the answer, and its mark [n] cites the n-th of `documents`.
    """

    question: str
    generation: str
    documents: list[Document]
    answer: Answer


class CragState(State, total=False):
    """Extend the state for CRAG alone, because its tutorial's flag has the name of a node in Adaptive RAG."""

    web_search: Literal["Yes", "No"]  # whether CRAG goes to the web


class CragResult(Result, total=False):
    """Extend the output by the flag of CRAG's tutorial."""

    web_search: Literal["Yes", "No"]


@cache
def _reducers() -> Mapping[str, Callable[[Any, Any], Any]]:
    """Return the reducers of the keys of which a node returns only the new part."""
    hints = get_type_hints(CragState, include_extras=True)
    return {key: hint.__metadata__[0] for key, hint in hints.items() if get_origin(hint) is Annotated}


def standalone_of(state: State) -> str:
    """Return the question as it was asked, or made standalone if it follows others."""
    return state.get("asked") or state["question"]


def after(state: State, update: State) -> State:
    """Return the state with a node's update merged into it, as LangGraph will merge them."""
    merged: dict[str, Any] = {**state, **update}
    for key, reduce in _reducers().items():
        if key in state and key in update:
            merged[key] = reduce(state[key], update[key])  # type: ignore[literal-required]
    return cast(State, merged)


BEGINNING: State = {"route": "vectorstore", "complexity": "single", "action": "incorrect"}
"""The keys without an empty value, with the values that they have before they are written."""


def emptied(state: State, update: State) -> State:
    """Return the update, extended to empty every key that an earlier question of the thread has left, but its turns."""
    cleared: dict[str, Any] = {}
    for key, value in state.items():
        empty = None if key in ("grade", "answer") else BEGINNING.get(key, type(value)())
        if key not in ("question", "turns") and value != empty:
            cleared[key] = empty
    whole = {
        key: Overwrite(value) if key in cleared and key in _reducers() else value
        for key, value in (cleared | update).items()
    }
    return cast(State, whole)
