"""The edges: pure functions of the state. The nodes have graded already; an edge only reads."""

from __future__ import annotations

from typing import Literal

from local_rag.graphs.state import TIME, State
from local_rag.types import NOT_IN_PASSAGES, Grade

USEFUL = 4
"""Usefulness from which an answer counts as `useful` (ISUSE 4 and 5 of Self-RAG, table 1)."""

Action = Literal["correct", "ambiguous", "incorrect"]


def crag_action(state: State) -> Action:
    """CRAG's action from yes/no verdicts: all relevant, some, or none (nothing retrieved is none, too)."""
    kept = len(state.get("documents", ()))
    if not kept:
        return "incorrect"
    return "correct" if kept == state.get("retrieved", kept) else "ambiguous"


def all_relevant(state: State) -> Action:
    """CRAG: any irrelevant document asks for the web; with the web off there is nothing to add to what is left."""
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
    if not may(state, "generations"):
        return "max retries"
    if verdict == "not supported":
        return "not supported"
    again = may(state, "rewrites") and (state.get("route") != "web_search" or may(state, "web_searches"))
    return "not useful" if again else "max retries"


def checked_once(state: State) -> Literal["useful", "max retries"]:
    """CRAG never loops: an answer that does not pass its one check ends in `give_up`."""
    return "useful" if generation_verdict(state) == "useful" else "max retries"


def route_taken(state: State) -> Literal["vectorstore", "web_search", "direct"]:
    """Adaptive RAG, after the router."""
    return state.get("route", "vectorstore")


def source_taken(state: State) -> Literal["vectorstore", "web_search"]:
    """Adaptive RAG, after a rewrite: back to the source that the router chose, never to the one that it refused."""
    return "web_search" if state.get("route") == "web_search" else "vectorstore"


def generation_verdict(state: State) -> Literal["useful", "not useful", "not supported"]:
    """The tutorials' label for the last generation, budgets aside. The fixed "not there" reply is not useful."""
    if state.get("generation", "") in ("", NOT_IN_PASSAGES):
        return "not useful"
    return verdict_of(state.get("grade"))


def verdict_of(grade: Grade | None) -> Literal["useful", "not useful", "not supported"]:
    """Only `fully` is supported; only `USEFUL` and more is useful; what was not graded is neither."""
    if grade is None or grade.support != "fully":
        return "not supported"
    return "useful" if grade.usefulness >= USEFUL else "not useful"


def may(state: State, kind: Literal["rewrites", "generations", "web_searches"]) -> bool:
    """Whether a budget is left, and time. Before any node has looked there is."""
    spent = state.get("spent", ())
    return kind not in spent and TIME not in spent
