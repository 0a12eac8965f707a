"""The nodes that choose where to look: the router of Adaptive RAG, and Self-RAG's decision whether to look at all."""

from __future__ import annotations

from dataclasses import replace

from local_rag.core.documents import Catalog
from local_rag.core.verdicts import Graded, Need, Route, Source
from local_rag.graphs.deps import Deps
from local_rag.graphs.nodes.node import Emit, node
from local_rag.graphs.nodes.retrieval import search
from local_rag.graphs.rules import budget_left
from local_rag.graphs.state import State, standalone_of

QUICK = 4
"""Passages that a router sees the titles of, as many as are retrieved by default."""


@node("choosing where to look")
def route_question(state: State, deps: Deps, emit: Emit) -> State:
    """Adaptive RAG: where should the evidence come from? Only what is switched on is on offer.

    Small talk stays here: no edge leads to the web then.
    """
    allowed: list[Source] = ["vectorstore"]
    if deps.limit("web_searches") and budget_left(state, "web_searches"):
        allowed.append("web_search")
    if deps.allow_direct:
        allowed.append("direct")
    steps = deps.adaptive.complexity
    alone = len(allowed) == 1 and steps != "auto"
    if alone:
        route = Route("vectorstore", why="your files are the only source that is switched on")
    else:
        route = ask_router(standalone_of(state), deps, tuple(allowed), multi=steps == "auto")
    if steps != "auto":
        route = replace(route, complexity="multi" if steps == "multi" and route.source == "vectorstore" else "single")
    graded = [Graded("route", route.source, route.why)]
    if steps != "single" and route.source == "vectorstore":
        graded.append(Graded("complexity", route.complexity))
    update: State = {
        "route": route.source,
        "complexity": route.complexity,
        "decisions": graded,
        "usage": route.usage,
    }
    return {**update, "spent": ["web_searches"]} if route.small_talk else update


@node("deciding whether your files are needed")
def decide_retrieval(state: State, deps: Deps, emit: Emit) -> State:
    """Self-RAG's Retrieve (section 3.2), once: are the files needed?"""
    need, needed = first_need(state, deps)
    verdict = Graded("decide_retrieval", "retrieve" if needed else "direct", need.why)
    return {
        "route": "vectorstore" if needed else "direct",
        "decisions": [verdict],
        "usage": need.usage,
    }


def first_need(state: State, deps: Deps) -> tuple[Need, bool]:
    """The verdict on the question alone, and whether the files are needed.

    Where answers without the files are not allowed there is nothing to decide.
    """
    if not deps.allow_direct:
        need = Need("yes", why="answers without your files are not allowed")
    else:
        question = standalone_of(state)
        need = deps.engine.needs_retrieval(question, catalog_for(question, deps))
    return need, need.retrieve == "yes"


def catalog_for(question: str, deps: Deps) -> Catalog:
    """What may be known of the index for this question: its catalog, and what a quick search brings."""
    near = search(deps, question, QUICK, ())
    best = near[0].metadata.get("score") if near else None
    return replace(deps.index.catalog(), nearest=best, passages=tuple(near))


def ask_router(question: str, deps: Deps, allowed: tuple[Source, ...], *, multi: bool = False) -> Route:
    """The router sees what the index holds and what comes near; what is not on offer becomes the vector store."""
    route = deps.engine.route(question, replace(catalog_for(question, deps), allowed=allowed, multi=multi))
    if route.source in allowed:
        return route
    return Route("vectorstore", why=f"the router chose {route.source}, which is off", usage=route.usage)
