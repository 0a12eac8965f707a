"""The nodes: plain functions that ask the engine, the index or the web, and write what came out into the state.

Every verdict is in the state and in the stream before an edge reads it. A node that is called when the time is up
returns at once with what there is, so a graph ends within one task of its deadline.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol

from langchain_core.documents import Document
from langgraph.runtime import Runtime

from local_rag import citations
from local_rag.cancel import scope
from local_rag.errors import DeadlineExceeded
from local_rag.graphs import edges, outcome, strips
from local_rag.graphs.state import TIME, Deps, State, Update, deps_of
from local_rag.text import plural, shorten
from local_rag.types import (
    NOT_IN_PASSAGES,
    Attempt,
    Called,
    Event,
    Graded,
    Kind,
    Note,
    Relevance,
    Retrieved,
    Route,
    Source,
    Started,
    Target,
    Token,
    Usage,
    WebQuery,
)

WEB_RESULTS = 3
"""Pages asked for in one web search, as in the tutorials."""

NEAREST = 3
"""Passages that an abstention names."""

Emit = Callable[[Event], None]
Work = Callable[[State, Deps, Emit], Update]


class Node(Protocol):
    """A node as LangGraph calls it."""

    def __call__(self, state: State, runtime: Runtime[Deps]) -> Update: ...


def node(doing: Callable[[State], str]) -> Callable[[Work], Node]:
    """Give a piece of work its Deps, its stop button, its `Started` event and its end when the time is up."""

    def decorate(work: Work) -> Node:
        def run(state: State, runtime: Runtime[Deps]) -> Update:
            deps = deps_of(runtime)
            emit: Emit = runtime.stream_writer
            emit(Started(work.__name__, doing(state)))
            try:
                with scope(deps.cancel):
                    deps.cancel.check()
                    update = work(state, deps, emit)
            except DeadlineExceeded:
                update = outcome.out_of_time(state, deps)
            _tell(state, update, emit)
            return update | {"spent": _spent(state, update, deps)}

        run.__name__ = run.__qualname__ = work.__name__
        run.__doc__ = work.__doc__
        return run

    return decorate


def _tell(state: State, update: Update, emit: Emit) -> None:
    """What the node's calls to a language model cost, and what they want a person to know."""
    before, after = _usage(state), update.get("usage", _usage(state))
    for call in after.log[len(before.log) :]:
        emit(Called(call))
    for note in after.notes[len(before.notes) :]:
        emit(Note(note))


@node(lambda state: "choosing where to look")
def route_question(state: State, deps: Deps, emit: Emit) -> Update:
    """Adaptive RAG: where should the evidence come from? Only what is switched on is on offer."""
    allowed: list[Source] = ["vectorstore"]
    if deps.limit("web_searches"):
        allowed.append("web_search")
    if deps.allow_direct:
        allowed.append("direct")
    route = _only_route() if len(allowed) == 1 else ask_router(state["question"], deps, tuple(allowed))
    return {
        "route": route.source,
        "decisions": _log(state, emit, Graded("route", route.source, route.why)),
        "usage": _usage(state) + route.usage,
    }


@node(lambda state: "retrieving again" if state.get("tried") else "retrieving")
def retrieve(state: State, deps: Deps, emit: Emit) -> Update:
    """The k best passages for the working query, without those that were already found irrelevant."""
    query = state.get("query") or state["question"]
    found = deps.index.search(query, deps.k, within=deps.within, exclude=state.get("rejected", ()))
    emit(Retrieved(query, tuple(found)))
    return {
        "query": query,
        "tried": state.get("tried") or [query],
        "documents": found,
        "nearest": _nearest([*state.get("nearest", ()), *found]),
        "generation": state.get("generation", ""),
    }


def _grading(state: State) -> str:
    found = len(state.get("documents", ()))
    return f"grading {plural(found, 'passage')}" if found else "no new passage to grade"


def grade_documents(edge: Callable[[State], str], verdict: Callable[[State], str] | None = None) -> Node:
    """The retrieval grader. `edge` is the rule that leads on; `verdict` names the outcome where that says more."""

    @node(_grading)
    def grade_documents(state: State, deps: Deps, emit: Emit) -> Update:
        """Keep the documents that the engine finds relevant to the question (not to the query)."""
        documents = state.get("documents", [])
        verdicts = deps.engine.relevance(state["question"], documents) if documents else []
        unread = outcome.unread_passages(state)
        kept = [document for document, grade in zip(documents, verdicts, strict=True) if grade.label == "relevant"]
        gone = [
            document
            for document, grade in zip(documents, verdicts, strict=True)
            if grade.label == "irrelevant" or (grade.label == "unparsed" and _id(document) in unread)
        ]
        graded = [_graded(document, grade) for document, grade in zip(documents, verdicts, strict=True)]
        update: Update = {
            "documents": kept,
            "retrieved": len(documents),
            "rejected": _rejected(state, gone),
            "usage": sum((grade.usage for grade in verdicts), _usage(state)),
            "generation": state.get("generation", ""),
        }
        label = (verdict or edge)(_after(state, update, deps))
        why = f"{len(kept)} of {plural(len(documents), 'passage')} relevant"
        return update | {"decisions": _log(state, emit, *graded, Graded("grade_documents", label, why))}

    return grade_documents


@node(lambda state: "setting the passages aside")
def discard_documents(state: State, deps: Deps, emit: Emit) -> Update:
    """CRAG, action `incorrect`: nothing retrieved is used."""
    update: Update = {"documents": [], "generation": state.get("generation", "")}
    label = edges.web_allowed(_after(state, update, deps))
    return update | {"decisions": _log(state, emit, Graded("discard_documents", label))}


@node(lambda state: "refining the passages")
def refine_documents(state: State, deps: Deps, emit: Emit) -> Update:
    """CRAG's place for knowledge refinement: the documents go through as they are."""
    return {"documents": state.get("documents", [])}


def transform_query(target: Target | None = None) -> Node:
    """The question rewriter, for one target or for the source that the router chose."""

    @node(lambda state: "rewriting the question")
    def transform_query(state: State, deps: Deps, emit: Emit) -> Update:
        """Another query for the same question; one that was tried before ends the rewriting."""
        tried = state.get("tried") or [state["question"]]
        if not edges.may(state, "rewrites"):
            return {"query": state["question"], "tried": tried}
        aim = target or ("web" if state.get("route") == "web_search" else "vectorstore")
        query = deps.engine.rewrite(state["question"], tried, aim)
        usage = _usage(state) + getattr(query, "usage", Usage())
        if not query.strip() or _same(query) in map(_same, tried):
            verdict = Graded("transform_query", str(query), "the rewriter has nothing new")
            return {"spent": ["rewrites"], "decisions": _log(state, emit, verdict), "usage": usage}
        return {
            "query": str(query),
            "tried": [*tried, str(query)],
            "tries": _count(state, "rewrites"),
            "decisions": _log(state, emit, Graded("transform_query", str(query))),
            "usage": usage,
        }

    return transform_query


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


@node(lambda state: "writing" if not state.get("drafts") else "writing again")
def generate(state: State, deps: Deps, emit: Emit) -> Update:
    """Write an answer from the documents and check its citations; without documents there is no answer."""
    documents = state.get("documents", [])
    tries = _count(state, "generations")
    attempt = Attempt(tries["generations"], tuple((draft.text, draft.why) for draft in state.get("drafts", ())))
    text, usage = _write(state["question"], documents, attempt, deps, emit) if documents else (NOT_IN_PASSAGES, Usage())
    checked = citations.check(text, documents)
    return {
        "generation": checked.text or NOT_IN_PASSAGES,
        "status": checked.status,
        "reason": outcome.reason_of(checked, bool(documents)),
        "dropped": checked.dropped,
        "grade": None,
        "tries": tries,
        "usage": _usage(state) + usage,
    }


@node(lambda state: "answering without your files")
def llm_fallback(state: State, deps: Deps, emit: Emit) -> Update:
    """Adaptive RAG, route `direct`: an answer without documents, and labelled so."""
    text, usage = _write(state["question"], [], Attempt(direct=True), deps, emit)
    silent = text in ("", NOT_IN_PASSAGES)
    return {
        "generation": text or NOT_IN_PASSAGES,
        "documents": [],
        "status": "abstained" if silent else "direct",
        "reason": "the engine cannot answer without passages" if silent else "answered without looking into your files",
        "tries": _count(state, "generations"),
        "usage": _usage(state) + usage,
    }


def grade_generation(edge: Callable[[State], str]) -> Node:
    """The hallucination grader and the answer grader in one node. `edge` is the rule that leads on."""

    @node(lambda state: "checking the answer")
    def grade_generation(state: State, deps: Deps, emit: Emit) -> Update:
        """Is the generation supported by the documents, and does it answer the question?"""
        text, documents = state.get("generation", ""), state.get("documents", [])
        answered = text not in ("", NOT_IN_PASSAGES)
        grade = deps.engine.grade(state["question"], documents, text) if answered else None
        graded = [Graded("answered", "no", "the passages do not contain the answer")]
        if grade:
            graded = [Graded("support", grade.support, grade.why), Graded("usefulness", str(grade.usefulness))]
        update: Update = {
            "generation": text,
            "grade": grade,
            "usage": _usage(state) + (grade.usage if grade else Usage()),
        }
        if grade is None:
            update["rejected"] = _rejected(state, documents)
        elif edges.verdict_of(grade) == "useful":
            update |= outcome.useful(state)
        else:
            update["drafts"] = [*state.get("drafts", ()), outcome.draft_of(state, grade)]
        label = edge(_after(state, update, deps))
        return update | {"decisions": _log(state, emit, *graded, Graded("grade_generation", label))}

    return grade_generation


@node(lambda state: "closing")
def give_up(state: State, deps: Deps, emit: Emit) -> Update:
    """Out of budget: the best rejected draft, marked as what it is, or an abstention. Never an unmarked guess."""
    return outcome.best_or_abstention(state, deps)


def _write(question: str, documents: Sequence[Document], attempt: Attempt, deps: Deps, emit: Emit) -> tuple[str, Usage]:
    parts: list[str] = []
    usage = Usage()
    for piece in deps.engine.answer(question, documents, attempt):
        deps.cancel.check()
        if piece.restart:
            parts.clear()
        parts.append(piece.text)
        usage += piece.usage or Usage()
        if piece.text or piece.restart:
            emit(Token(piece.text, attempt.number, piece.restart))
    text = "".join(parts).strip()
    return (NOT_IN_PASSAGES if citations.is_fixed_reply(text) else text), usage


def _search_web(state: State, deps: Deps, emit: Emit) -> Update:
    """Pages of the web with what is relevant of each; nothing where the words may not leave."""
    query = WebQuery(deps.web.words(state.get("query") or state["question"]), deps.web.engine)
    emit(query)
    if not deps.may_search(query):
        refused = Graded("web_search", "refused", "the query was not allowed to leave this machine")
        return {"documents": [], "spent": ["web_searches"], "decisions": _log(state, emit, refused)}
    try:
        found = deps.web.search(query.query, WEB_RESULTS)
        for note in found.notes:
            emit(Note(note))
        judged = strips.promising(state["question"], found.documents)
        verdicts = deps.engine.relevance(state["question"], judged) if judged else []
    except DeadlineExceeded:  # the words have left all the same
        return outcome.out_of_time(state, deps) | {"tries": _count(state, "web_searches")}
    chosen = strips.selected(found.documents, judged, verdicts)
    emit(Retrieved(query.query, tuple(page for page, _, _ in chosen)))
    graded = [
        Graded("web", _LABEL[kept > 0], f"{kept} of {plural(many, 'strip')}", _id(page), None, page.metadata["url"])
        for page, kept, many in chosen
    ]
    return {
        "documents": [page for page, kept, _ in chosen if kept],
        "tries": _count(state, "web_searches"),
        "decisions": _log(state, emit, *graded),
        "usage": sum((verdict.usage for verdict in verdicts), _usage(state)),
    }


_LABEL = {True: "relevant", False: "irrelevant"}


def _only_route() -> Route:
    return Route("vectorstore", why="your files are the only source that is switched on")


def ask_router(question: str, deps: Deps, allowed: tuple[Source, ...]) -> Route:
    """The router sees how near the best passage is; a route that is not on offer becomes the vector store."""
    best = deps.index.search(question, 1, within=deps.within)
    near = best[0].metadata.get("score") if best else None
    route = deps.engine.route(question, replace(deps.index.catalog(), nearest=near, allowed=allowed))
    if route.source in allowed:
        return route
    return Route("vectorstore", why=f"the router chose {route.source}, which is off", usage=route.usage)


def _nearest(documents: Sequence[Document]) -> list[Document]:
    by_id = {_id(document): document for document in documents}
    return sorted(by_id.values(), key=lambda document: -float(document.metadata.get("score", 0.0)))[:NEAREST]


def _graded(document: Document, grade: Relevance) -> Graded:
    source = str(document.metadata.get("source", ""))
    return Graded("relevance", grade.label, grade.why, _id(document), grade.score, source)


def _id(document: Document) -> str:
    return str(document.metadata.get("chunk_id", ""))


def _rejected(state: State, documents: Sequence[Document]) -> list[str]:
    """The ids that no later retrieval of this question may bring again, with those of `documents`."""
    return list(dict.fromkeys([*state.get("rejected", ()), *map(_id, documents)]))


def _log(state: State, emit: Emit, *graded: Graded) -> list[Graded]:
    for verdict in graded:
        emit(verdict)
    return [*state.get("decisions", ()), *graded]


def _usage(state: State) -> Usage:
    return state.get("usage", Usage())


def _tries(state: State, update: Update) -> dict[Kind, int]:
    tries: dict[Kind, int] = update.get("tries", state.get("tries", {}))
    return tries


def _count(state: State, kind: Kind) -> dict[Kind, int]:
    tries = state.get("tries", {})
    return {**tries, kind: tries.get(kind, 0) + 1}


def _after(state: State, update: Update, deps: Deps) -> State:
    """The state as the edge will see it."""
    merged: State = {**state, **update, "spent": _spent(state, update, deps)}  # type: ignore[typeddict-item]
    return merged


def _spent(state: State, update: Update, deps: Deps) -> list[str]:
    """The budgets used up so far; none ever comes back."""
    return sorted({*state.get("spent", ()), *update.get("spent", ()), *deps.spent(_tries(state, update))})


def _same(query: str) -> str:
    return shorten(query.casefold(), 1000)
