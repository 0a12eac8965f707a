"""Build the graphs by name. Each builder returns a fresh, uncompiled StateGraph that reads as its diagram."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver

from local_rag.graphs.adaptive import adaptive
from local_rag.graphs.crag import crag
from local_rag.graphs.deps import TUTORIAL, Options
from local_rag.graphs.graph import Graph, LocalGraph
from local_rag.graphs.plain import plain
from local_rag.graphs.self_rag import self_rag

GRAPHS: dict[str, Callable[[Options], Graph]] = {
    "plain": plain,
    "self-rag": self_rag,
    "crag": crag,
    "adaptive": adaptive,
}


def compiled(
    name: str, options: Options = TUTORIAL, checkpointer: BaseCheckpointSaver[Any] | None = None
) -> LocalGraph:
    """Return the graph of that name, ready to run; one without a checkpointer is compiled once."""
    return _compiled(name, options) if checkpointer is None else GRAPHS[name](options).compile(checkpointer, name=name)


@lru_cache(maxsize=16)
def _compiled(name: str, options: Options) -> LocalGraph:
    return GRAPHS[name](options).compile(name=name)
