"""The graphs by name. Each builder returns a fresh, uncompiled StateGraph that reads as its diagram."""

from __future__ import annotations

from collections.abc import Callable

from langgraph.graph import StateGraph

from local_rag.graphs.adaptive import adaptive
from local_rag.graphs.crag import crag
from local_rag.graphs.plain import plain
from local_rag.graphs.self_rag import self_rag
from local_rag.graphs.state import Deps, State

GRAPHS: dict[str, Callable[[], StateGraph[State, Deps]]] = {
    "plain": plain,
    "self-rag": self_rag,
    "crag": crag,
    "adaptive": adaptive,
}
