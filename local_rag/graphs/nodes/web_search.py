"""Search the web, or a fallback corpus in its place.

Only this module decides what may leave this machine, by the consent in `Deps`; a search of a fallback corpus sends
nothing. A node that is interrupted to ask runs again from its beginning after the reply: the results of earlier calls
are kept by a LangGraph task (see `queries`), and nothing is sent before the reply.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from langchain_core.documents import Document
from langgraph.config import get_config
from langgraph.types import interrupt

from local_rag.core.documents import WebResults
from local_rag.core.errors import DeadlineExceeded
from local_rag.core.events import Note, Retrieved, WebQuery
from local_rag.core.verdicts import Graded, Usage
from local_rag.graphs import rules, strips
from local_rag.graphs.deps import TIME, Deps
from local_rag.graphs.nodes.graders import graded_passage, in_last_prompt, relevance_verdicts, usage_of
from local_rag.graphs.nodes.node import Emit, counted, node
from local_rag.graphs.nodes.queries import kept_off_the_web, web_queries
from local_rag.graphs.state import State, standalone_of
from local_rag.text.display import home_path, plural
from local_rag.text.metadata import chunk_id

WEB_RESULTS = 3
"""The pages asked for in one web search, as in the tutorials."""


def searching(state: State, deps: Deps) -> str:
    """Return the text that a person is shown while the web, or a fallback corpus in its place, is searched."""
    return f"searching {home_path(deps.fallback_corpus) if deps.fallback_corpus else 'the web'}"


@node(searching)
def web_search_node(state: State, deps: Deps, emit: Emit) -> State:
    """Add the results of the web to the remaining documents, as CRAG does."""
    update = _search_web(state, deps, emit)
    if TIME in update.get("spent", ()):
        return update
    known = state.get("documents", [])
    ids = set(map(chunk_id, known))  # a fallback corpus may hold the same file
    return {**update, "documents": [*known, *(page for page in update["documents"] if chunk_id(page) not in ids)]}


@node(searching, rules.after_the_web)
def web_search(state: State, deps: Deps, emit: Emit) -> State:
    """Replace the documents by the results of the web, as Adaptive RAG does."""
    return _search_web(state, deps, emit)


def _search_web(state: State, deps: Deps, emit: Emit) -> State:
    """Return pages of the web, cut to their relevant parts; nothing if no words may leave.

    A fallback corpus is searched with the working query, as the files are.
    """
    if not deps.limit("web_searches"):  # it was on when the question was interrupted before this node
        return _refused("the web is off")
    if deps.fallback_corpus:
        query, k, judged = state.get("query") or standalone_of(state), deps.k, _judged_passages
        update: State = {"usage": Usage()}
    else:
        words, update = _leaving(state, deps, emit)
        if words is None:
            return update
        query, k, judged = words, WEB_RESULTS, _judged_pages
    usage = update["usage"]
    try:
        results = deps.web.search(query, k)
        for note in results.notes:
            emit(Note(note))
        found = judged(state, deps, results.documents)
    except DeadlineExceeded:  # the words have left all the same
        return {"spent": [TIME], "tries": counted(state, "web_searches"), "usage": usage}
    emit(Retrieved(query, tuple(found.shown)))
    return {**update, **_looked(state, results, found), "usage": usage + found.usage}


def _leaving(state: State, deps: Deps, emit: Emit) -> tuple[str | None, State]:
    """Return the words that leave, made of the person's own questions, and the update; None in place of words if they
    may not.
    """
    if why := kept_off_the_web(state.get("turns", ()), deps):
        return None, _refused(why)
    # a checkpointer to go on from needs a thread; where none is named nobody can be asked
    interrupts = deps.may_search == "interrupt" and "thread_id" in get_config().get("configurable", {})
    queries, usage = web_queries(state, deps, once=interrupts)
    proposed = WebQuery(deps.web.words(queries[-1]), deps.web.engine)
    emit(proposed)
    leaving: WebQuery | None = proposed
    if interrupts:
        leaving = _resumed_with(proposed, deps)
    elif deps.may_search != "always" and not (callable(deps.may_search) and deps.may_search(proposed)):
        leaving = None
    if leaving is None:
        return None, _refused("the query was not allowed to leave this machine") | {"usage": usage}
    if leaving != proposed:
        queries = [*queries, leaving.query]
        emit(leaving)
    return leaving.query, {"web_queries": queries, "usage": usage}


class _Found(NamedTuple):
    """Hold the results of a search as a person is shown them, the relevant ones, and the verdicts; `graded` are those
    that stood in the grader's last prompt.
    """

    shown: Sequence[Document]
    relevant: list[Document]
    graded: list[Document]
    verdicts: list[Graded]
    usage: Usage
    noun: str


def _judged_pages(state: State, deps: Deps, documents: Sequence[Document]) -> _Found:
    """Grade the strips of web pages, and keep the helpful ones."""
    question = standalone_of(state)
    judged = strips.promising(question, documents)
    verdicts = deps.engine.relevance(question, judged) if judged else []
    chosen = strips.selected(documents, judged, verdicts)
    none = "unparsed" if verdicts and all(verdict.label == "unparsed" for verdict in verdicts) else "irrelevant"
    graded = [
        Graded(
            "web",
            "relevant" if kept else none,
            f"{kept} of {plural(count, 'strip')}",
            chunk_id(page),
            source=page.metadata["url"],
        )
        for page, kept, count in chosen
    ]
    relevant = [page for page, kept, _ in chosen if kept]
    return _Found(
        [page for page, _, _ in chosen], relevant, in_last_prompt(judged, verdicts), graded, usage_of(verdicts), "page"
    )


def _judged_passages(state: State, deps: Deps, documents: Sequence[Document]) -> _Found:
    """Grade passages of a fallback corpus as those of the files are graded."""
    verdicts = relevance_verdicts({**state, "documents": list(documents)}, deps)
    pairs = list(zip(documents, verdicts, strict=True))
    relevant = [passage for passage, verdict in pairs if verdict.label == "relevant"]
    graded = [graded_passage(passage, verdict, "web") for passage, verdict in pairs]
    return _Found(documents, relevant, in_last_prompt(documents, verdicts), graded, usage_of(verdicts), "passage")


def _looked(state: State, results: WebResults, found: _Found) -> State:
    """Return the update after a search; if no result is relevant, a verdict of its own gives the reason."""
    graded, count = found.verdicts, plural(len(found.verdicts), found.noun)
    why = f"{len(found.relevant)} of {count} relevant"
    if not found.relevant:
        none = f"none of {count} is relevant" if graded else f"the search brought no {found.noun}"
        why = "; ".join(results.notes) or none
        graded = [*graded, Graded("web_search", "nothing", why)]
    return {
        "documents": found.relevant,
        "graded": found.graded or state.get("graded", []),
        "tries": counted(state, "web_searches"),
        "decisions": graded,
        "why": why,
    }


def _refused(why: str) -> State:
    refused = Graded("web_search", "refused", why)
    return {"documents": [], "spent": ["web_searches"], "decisions": [refused], "why": why}


REPLY: dict[str, Any] = {
    "anyOf": [
        {"type": "boolean"},
        {"enum": ["yes", "no"]},
        {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]},
    ],
    "description": "whether these words may leave, or a query that leaves in their place",
}
"""The possible replies to an interruption, as a schema for clients that LangGraph does not check."""

YES = frozenset({"yes", "y", "ja", "j"})


def _resumed_with(query: WebQuery, deps: Deps) -> WebQuery | None:
    """Return the query that leaves after an interruption: this one, or that of the reply; None after any
    other reply.
    """
    reply = interrupt({"query": query.query, "engine": query.engine}, response_schema=REPLY)
    if reply is True or (isinstance(reply, str) and reply.strip().casefold().rstrip(".!") in YES):
        return query
    named = reply.get("query") if isinstance(reply, dict) else None
    other = named.strip() if isinstance(named, str) else ""
    return WebQuery(deps.web.words(other), query.engine) if other else None
