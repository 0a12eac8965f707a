"""The graphs by name. Each builder returns a fresh, uncompiled StateGraph that reads as its diagram."""

from __future__ import annotations

from functools import lru_cache
from typing import Protocol

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.types import Checkpointer

from local_rag.graphs.adaptive import adaptive
from local_rag.graphs.checkpoints import without_file_texts
from local_rag.graphs.crag import crag
from local_rag.graphs.deps import TUTORIAL, Options
from local_rag.graphs.plain import plain
from local_rag.graphs.self_rag import self_rag
from local_rag.graphs.untraced import Graph, Untraced


class Builder(Protocol):
    """Makes a fresh graph; without options it is wired as the tutorials are."""

    def __call__(self, options: Options = TUTORIAL) -> Graph: ...


GRAPHS: dict[str, Builder] = {
    "plain": plain,
    "self-rag": self_rag,
    "crag": crag,
    "adaptive": adaptive,
}


def compiled(name: str, options: Options = TUTORIAL, checkpointer: Checkpointer = None) -> Untraced:
    """The graph of that name, ready to run, as `Graph.compile` gives it.

    A graph holds nothing of a question, and to build one takes longer than many questions do: all who are wired alike
    share its nodes.
    """
    if checkpointer is not None and not isinstance(checkpointer, BaseCheckpointSaver):
        # LangGraph says what is wrong with it
        return GRAPHS[name](options).compile(checkpointer, name=name)  # type: ignore[arg-type]
    return _built(name, options).copy({"checkpointer": checkpointer and without_file_texts(checkpointer)})


@lru_cache(maxsize=32)
def _built(name: str, options: Options) -> Untraced:
    return GRAPHS[name](options).compile(name=name)
