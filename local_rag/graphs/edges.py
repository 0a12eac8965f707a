"""The edges: pure functions of the state. The nodes have graded already; an edge only reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from local_rag.core.answer import Kind
from local_rag.core.generation import NOT_IN_PASSAGES
from local_rag.core.verdicts import Grade, Relevance
from local_rag.graphs.state import TIME, Action, State

USEFUL = 4
"""Usefulness from which an answer counts as `useful` (ISUSE 4 and 5 of Self-RAG, table 1)."""


def action_by_scores(verdicts: Sequence[Relevance], upper: float, lower: float) -> Action:
    """CRAG's action by the paper's rule (section 4.3); scores and thresholds in [0, 1], its own are in [-1, 1].

    Correct if any score is above the upper threshold, incorrect if all are below the lower one or there are none.
    Where a grader gives no score its word counts: yes is above, no below, and no usable verdict is between the two.
    """
    word = {"relevant": 1.0, "irrelevant": 0.0, "unparsed": (upper + lower) / 2}
    scores = [word[one.label] if one.score is None else one.score for one in verdicts]
    if any(score > upper for score in scores):
        return "correct"
    return "incorrect" if all(score < lower for score in scores) else "ambiguous"


def crag_action(state: State) -> Action:
    """CRAG's action: that of the scores where they decide, else from yes and no.

    From yes and no: all relevant, some, or none (nothing retrieved is none, too).
    """
    if "action" in state:
        return state["action"]
    kept = len(state.get("documents", ()))
    if not kept:
        return "incorrect"
    return "correct" if kept == state.get("retrieved", kept) else "ambiguous"


def all_relevant(state: State) -> Action:
    """CRAG: `ambiguous` asks for the web; with the web off there is nothing to add to what is left."""
    action = crag_action(state)
    return "correct" if action == "ambiguous" and not may(state, "web_searches") else action


def some_relevant(state: State) -> Literal["generate", "transform_query", "max retries"]:
    """Self-RAG and Adaptive RAG: rewrite only when no document survives."""
    if TIME in state.get("spent", ()):
        return "max retries"
    if state.get("documents"):
        return "generate"
    return "transform_query" if may(state, "rewrites") else "max retries"


def web_allowed(state: State) -> Literal["web", "no web"]:
    """CRAG, after every document was discarded."""
    return "web" if may(state, "web_searches") else "no web"


def grade_generation_v_documents_and_question(
    state: State,
) -> Literal["useful", "not useful", "not supported", "max retries"]:
    """Self-RAG and Adaptive RAG: `not supported` wins over `not useful`; either needs a budget to go on."""
    verdict = generation_verdict(state)
    if verdict == "useful":
        return "useful"
    if verdict == "not supported":
        return "not supported" if may(state, "generations") else "max retries"
    return _again(state)


def supported(state: State) -> Literal["supported", "not supported", "not useful", "max retries"]:
    """Self-RAG with separate graders, after the first; the fixed "not there" reply is not asked about support."""
    if generation_verdict(state) == "not supported" and not _silent(state):
        return "not supported" if may(state, "generations") else "max retries"
    return "supported" if not _silent(state) else _again(state)


def useful_or_not(state: State) -> Literal["useful", "not useful", "max retries"]:
    """Self-RAG with separate graders, after the second: the generation is supported already."""
    return "useful" if generation_verdict(state) == "useful" else _again(state)


def _again(state: State) -> Literal["not useful", "max retries"]:
    """A question is rewritten where that is still allowed, and an answer to it could still be written."""
    if not (may(state, "generations") and may(state, "rewrites")):
        return "max retries"
    return "not useful" if state.get("route") != "web_search" or may(state, "web_searches") else "max retries"


def checked_once(state: State) -> Literal["useful", "max retries"]:
    """CRAG never loops: an answer that does not pass its one check ends in `give_up`."""
    return "useful" if generation_verdict(state) == "useful" else "max retries"


def route_taken(state: State) -> Literal["vectorstore", "web_search", "direct", "multi"]:
    """Adaptive RAG, after the router: the source, or for the files in several steps `multi`."""
    route = state.get("route", "vectorstore")
    return "multi" if route == "vectorstore" and state.get("complexity") == "multi" else route


def retrieve_or_not(state: State) -> Literal["retrieve", "direct"]:
    """Self-RAG, after the decision whether the files are needed."""
    return "direct" if state.get("route") == "direct" else "retrieve"


def found_new(state: State) -> Literal["new", "nothing new"]:
    """IRCoT, after a retrieval: reason on while there is something new, and time."""
    return "new" if state.get("step") == "new" and may(state, "steps") else "nothing new"


def goes_on(state: State) -> Literal["go on", "enough"]:
    """IRCoT, after a sentence of reasoning: retrieve with it, until the answer is there or the budget is used up."""
    return "go on" if state.get("step") == "go on" and may(state, "steps") else "enough"


def source_taken(state: State) -> Literal["vectorstore", "web_search"]:
    """Adaptive RAG, after a rewrite: back to the source that the router chose, never to the one that it refused."""
    return "web_search" if state.get("route") == "web_search" else "vectorstore"


def generation_verdict(state: State) -> Literal["useful", "not useful", "not supported"]:
    """The tutorials' label for the last generation, budgets aside. The fixed "not there" reply is not useful."""
    return "not useful" if _silent(state) else verdict_of(state.get("grade"))


def _silent(state: State) -> bool:
    return state.get("generation", "") in ("", NOT_IN_PASSAGES)


def verdict_of(grade: Grade | None) -> Literal["useful", "not useful", "not supported"]:
    """Only `fully` is supported; only `USEFUL` and more is useful; what was not graded is neither."""
    if grade is None or grade.support != "fully":
        return "not supported"
    return "useful" if grade.usefulness >= USEFUL else "not useful"


def may(state: State, kind: Kind) -> bool:
    """Whether a budget is left, and time. Before any node has looked there is."""
    spent = state.get("spent", ())
    return kind not in spent and TIME not in spent
