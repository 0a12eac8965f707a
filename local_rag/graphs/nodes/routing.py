"""Choose where to search: by the router of Adaptive RAG, or by Self-RAG's decision whether to search at all."""

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
"""The passages of a quick search for a router, as many as are retrieved by default."""


@node("choosing where to look")
def route_question(state: State, deps: Deps, emit: Emit) -> State:
    """Choose the source of the evidence in Adaptive RAG, among the sources that are switched on.

    Small talk uses up the budget of the web, so that no edge leads there.
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
    """Decide once whether the files are needed: Self-RAG's Retrieve (section 3.2)."""
    need, needed = first_need(state, deps)
    verdict = Graded("decide_retrieval", "retrieve" if needed else "direct", need.why)
    return {
        "route": "vectorstore" if needed else "direct",
        "decisions": [verdict],
        "usage": need.usage,
    }


def first_need(state: State, deps: Deps) -> tuple[Need, bool]:
    """Return the verdict on the question alone, and whether the files are needed.

    If answers without the files are not allowed, the files are needed.
    """
    if not deps.allow_direct:
        need = Need("yes", why="answers without your files are not allowed")
    else:
        question = standalone_of(state)
        need = deps.engine.needs_retrieval(question, catalog_for(question, deps))
    return need, need.retrieve == "yes"


def catalog_for(question: str, deps: Deps) -> Catalog:
    """Return the catalog of the index, with the results of a quick search for this question."""
    near = search(deps, question, QUICK, ())
    best = near[0].metadata.get("score") if near else None
    return replace(deps.index.catalog(), nearest=best, passages=tuple(near))


def ask_router(question: str, deps: Deps, allowed: tuple[Source, ...], *, multi: bool = False) -> Route:
    """Ask the router, which sees the catalog and the nearest passages; a source that is off becomes the
    vector store.
    """
    route = deps.engine.route(question, replace(catalog_for(question, deps), allowed=allowed, multi=multi))
    if route.source in allowed:
        return route
    return Route("vectorstore", why=f"the router chose {route.source}, which is off", usage=route.usage)
