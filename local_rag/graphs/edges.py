"""The edges: they only read what a node has written into the state."""

from __future__ import annotations

from typing import Literal

from local_rag.graphs.state import State


def label(state: State) -> str:
    """The label that the node before it decided by its rule (see `rules`)."""
    return state["label"]


def route_taken(state: State) -> Literal["vectorstore", "web_search", "direct", "multi"]:
    """Adaptive RAG, after the router: the source, or for the files in several steps `multi`."""
    route = state.get("route", "vectorstore")
    return "multi" if route == "vectorstore" and state.get("complexity") == "multi" else route


def steps_or_source(state: State) -> Literal["web_search", "direct", "multi"]:
    """The same where every question to the files takes several steps."""
    route = state.get("route", "vectorstore")
    return "multi" if route == "vectorstore" else route


def retrieve_or_not(state: State) -> Literal["retrieve", "direct"]:
    """Self-RAG, after the decision whether the files are needed."""
    return "direct" if state.get("route") == "direct" else "retrieve"
