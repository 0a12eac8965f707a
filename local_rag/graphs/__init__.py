"""The graphs by name. Each builder returns a fresh, uncompiled StateGraph that reads as its diagram."""

from __future__ import annotations

from typing import Protocol

from local_rag.graphs.adaptive import adaptive
from local_rag.graphs.crag import crag
from local_rag.graphs.deps import TUTORIAL, Options
from local_rag.graphs.plain import plain
from local_rag.graphs.self_rag import self_rag
from local_rag.graphs.untraced import Graph


class Builder(Protocol):
    """Makes a fresh graph; without options it is wired as the tutorials are."""

    def __call__(self, options: Options = TUTORIAL) -> Graph: ...


GRAPHS: dict[str, Builder] = {
    "plain": plain,
    "self-rag": self_rag,
    "crag": crag,
    "adaptive": adaptive,
}
