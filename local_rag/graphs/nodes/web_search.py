"""The nodes that search the web, or a fallback corpus in its place.

What may leave this machine is decided here and nowhere else; a search of a fallback corpus lets nothing leave. A
callback says whether words may leave, or a person whom an interruption of the graph asks. A node that is interrupted
runs again from its beginning once it is answered: what it has paid for before that is kept as the result of a LangGraph
task (see `own_words`), and nothing leaves before the answer.
"""

from __future__ import annotations

from langchain_core.documents import Document
from langgraph.config import get_config
from langgraph.types import interrupt

from local_rag.core.documents import WebResults
from local_rag.core.errors import DeadlineExceeded
from local_rag.core.events import Note, Retrieved, WebQuery
from local_rag.core.verdicts import Graded
from local_rag.graphs import outcome, rules, strips
from local_rag.graphs.deps import TIME, Deps, by_interrupt
from local_rag.graphs.nodes.graders import graded_passage, relevance_verdicts
from local_rag.graphs.nodes.node import Emit, counted, node
from local_rag.graphs.nodes.own_words import kept_off_the_web, own_queries, own_update
from local_rag.graphs.state import State, standalone_of
from local_rag.text.display import plural, short_path
from local_rag.text.metadata import chunk_id

WEB_RESULTS = 3
"""Pages asked for in one web search, as in the tutorials."""


def searching(state: State, deps: Deps) -> str:
    """What a person is shown while the web, or a fallback corpus in its place, is searched."""
    return f"searching {short_path(deps.fallback_corpus) if deps.fallback_corpus else 'the web'}"


@node(searching)
def web_search_node(state: State, deps: Deps, emit: Emit) -> State:
    """CRAG: what the web says is added to the documents that are left."""
    update = _search_web(state, deps, emit)
    if TIME in update.get("spent", ()):
        return update
    known = state.get("documents", [])
    ids = set(map(chunk_id, known))  # a fallback corpus may hold the same file
    return {**update, "documents": [*known, *(page for page in update["documents"] if chunk_id(page) not in ids)]}


@node(searching, rules.after_the_web)
def web_search(state: State, deps: Deps, emit: Emit) -> State:
    """Adaptive RAG: what the web says replaces the documents."""
    return _search_web(state, deps, emit)


def _search_web(state: State, deps: Deps, emit: Emit) -> State:
    """Pages of the web with what is relevant of each; nothing where the words may not leave.

    What leaves is the last of the person's own words; what the pages are judged by stays here.
    """
    if not deps.limit("web_searches"):  # it was on when the question was interrupted before this node
        return _refused("the web is off")
    if deps.fallback_corpus:
        return _search_fallback_corpus(state, deps, emit)
    if why := kept_off_the_web(state.get("turns", ()), deps):
        return _refused(why)
    own, usage = own_queries(state, deps, once=is_interrupted_to_ask(deps))
    proposed = WebQuery(deps.web.words(own[-1]), deps.web.engine)
    emit(proposed)
    query = allowed(proposed, deps)
    if query is None:
        return _refused("the query was not allowed to leave this machine") | {"usage": usage}
    if query != proposed:
        own = [*own, query.query]
        emit(query)
    question = standalone_of(state)
    try:
        results = deps.web.search(query.query, WEB_RESULTS)
        for note in results.notes:
            emit(Note(note))
        judged = strips.promising(question, results.documents)
        verdicts = deps.engine.relevance(question, judged) if judged else []
    except DeadlineExceeded:  # the words have left all the same
        late = outcome.out_of_time(state, deps)
        return late | {"tries": counted(state, "web_searches"), "usage": usage + late["usage"]}
    chosen = strips.selected(results.documents, judged, verdicts)
    emit(Retrieved(query.query, tuple(page for page, _, _ in chosen)))
    unread = bool(verdicts) and all(verdict.label == "unparsed" for verdict in verdicts)
    graded = [
        Graded(
            "web",
            "relevant" if kept else "unparsed" if unread else "irrelevant",
            f"{kept} of {plural(judged_count, 'strip')}",
            chunk_id(page),
            source=page.metadata["url"],
        )
        for page, kept, judged_count in chosen
    ]
    relevant = [page for page, kept, _ in chosen if kept]
    usage = sum((verdict.usage for verdict in verdicts), usage)
    return {**_looked(state, results, relevant, graded, "page"), **own_update(own, deps), "usage": usage}


def _search_fallback_corpus(state: State, deps: Deps, emit: Emit) -> State:
    """The relevant ones of the nearest passages there, as many as are retrieved from the files and graded alike."""
    own, usage = own_queries(state, deps)
    try:
        results = deps.web.search(own[-1], deps.k)
        for note in results.notes:
            emit(Note(note))
        documents = list(results.documents)
        verdicts = relevance_verdicts({**state, "documents": documents}, deps)
    except DeadlineExceeded:
        late = outcome.out_of_time(state, deps)
        return late | {"tries": counted(state, "web_searches"), "usage": usage + late["usage"]}
    emit(Retrieved(own[-1], results.documents))
    pairs = list(zip(documents, verdicts, strict=True))
    relevant = [document for document, verdict in pairs if verdict.label == "relevant"]
    graded = [graded_passage(document, verdict, "web") for document, verdict in pairs]
    usage = sum((verdict.usage for verdict in verdicts), usage)
    return {**_looked(state, results, relevant, graded, "passage"), **own_update(own, deps), "usage": usage}


def _looked(state: State, results: WebResults, relevant: list[Document], graded: list[Graded], noun: str) -> State:
    """What a search brought; where nothing of it is relevant a verdict of its own says why."""
    why = f"{len(relevant)} of {plural(len(graded), noun)} relevant"
    if not relevant:
        none = f"none of {plural(len(graded), noun)} is relevant" if graded else f"the search brought no {noun}"
        why = "; ".join(results.notes) or none
        graded = [*graded, Graded("web_search", "nothing", why)]
    return {
        "documents": relevant,
        "tries": counted(state, "web_searches"),
        "decisions": graded,
        "why": why,
    }


def _refused(why: str) -> State:
    refused = Graded("web_search", "refused", why)
    return {"documents": [], "spent": ["web_searches"], "decisions": [refused], "why": why}


ANSWERS = 'yes, no, or another query: {"query": "…"}'
"""What an interruption may be answered with, as it tells its caller."""

YES = frozenset({"yes", "y", "ja", "j"})


def is_interrupted_to_ask(deps: Deps) -> bool:
    """Whether the graph is interrupted to ask: a checkpointer to go on from needs a thread, and else none is named."""
    return deps.may_search is by_interrupt and "thread_id" in get_config().get("configurable", {})


def allowed(query: WebQuery, deps: Deps) -> WebQuery | None:
    """The query that may leave, None where none may.

    An interruption is answered with yes (or True), or with `{"query": …}`, a query that leaves in place of this one.
    Nothing leaves after any other reply.
    """
    if not is_interrupted_to_ask(deps):
        return query if deps.may_search(query) else None
    reply = interrupt({"query": query.query, "engine": query.engine, "answer": ANSWERS})
    if reply is True or (isinstance(reply, str) and reply.strip().casefold().rstrip(".!") in YES):
        return query
    named = reply.get("query") if isinstance(reply, dict) else None
    other = named.strip() if isinstance(named, str) else ""
    return WebQuery(deps.web.words(other), query.engine) if other else None
