"""The nodes that search the web. What may leave this machine is decided here and nowhere else."""

from __future__ import annotations

from local_rag.core.errors import DeadlineExceeded
from local_rag.core.events import Note, Retrieved, WebQuery
from local_rag.core.verdicts import Graded
from local_rag.graphs import outcome, strips
from local_rag.graphs.nodes.node import Emit, asked, counted, id_of, log, node, usage_of
from local_rag.graphs.state import TIME, Deps, State, Update
from local_rag.text.display import plural

WEB_RESULTS = 3
"""Pages asked for in one web search, as in the tutorials."""


@node(lambda state: "searching the web")
def web_search_node(state: State, deps: Deps, emit: Emit) -> Update:
    """CRAG: what the web says is added to the documents that are left."""
    found = _search_web(state, deps, emit)
    if TIME in found.get("spent", ()):
        return found
    return found | {"documents": [*state.get("documents", ()), *found["documents"]]}


@node(lambda state: "searching the web")
def web_search(state: State, deps: Deps, emit: Emit) -> Update:
    """Adaptive RAG: what the web says replaces the documents."""
    return _search_web(state, deps, emit)


def _search_web(state: State, deps: Deps, emit: Emit) -> Update:
    """Pages of the web with what is relevant of each; nothing where the words may not leave."""
    query = WebQuery(deps.web.words(state.get("query") or asked(state)), deps.web.engine)
    emit(query)
    if not deps.may_search(query):
        refused = Graded("web_search", "refused", "the query was not allowed to leave this machine")
        return {"documents": [], "spent": ["web_searches"], "decisions": log(state, emit, refused)}
    try:
        found = deps.web.search(query.query, WEB_RESULTS)
        for note in found.notes:
            emit(Note(note))
        judged = strips.promising(asked(state), found.documents)
        verdicts = deps.engine.relevance(asked(state), judged) if judged else []
    except DeadlineExceeded:  # the words have left all the same
        return outcome.out_of_time(state, deps) | {"tries": counted(state, "web_searches")}
    chosen = strips.selected(found.documents, judged, verdicts)
    emit(Retrieved(query.query, tuple(page for page, _, _ in chosen)))
    graded = [
        Graded("web", _LABEL[kept > 0], f"{kept} of {plural(many, 'strip')}", id_of(page), None, page.metadata["url"])
        for page, kept, many in chosen
    ]
    return {
        "documents": [page for page, kept, _ in chosen if kept],
        "tries": counted(state, "web_searches"),
        "decisions": log(state, emit, *graded),
        "usage": sum((verdict.usage for verdict in verdicts), usage_of(state)),
    }


_LABEL = {True: "relevant", False: "irrelevant"}
