"""The nodes that retrieve, rewrite, write and close: plain functions of the state and its Deps.

Every verdict is in the state and in the stream before an edge reads it. A node that is called when the time is up
returns at once with what there is, so a graph ends within one task of its deadline.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import takewhile

from langchain_core.documents import Document

from local_rag.core.answer import Kind
from local_rag.core.events import Retrieved, Token
from local_rag.core.generation import NOT_IN_PASSAGES, Attempt
from local_rag.core.usage import Usage
from local_rag.core.verdicts import Graded, Target
from local_rag.graphs import edges, outcome
from local_rag.graphs.nodes.node import Emit, Node, after, asked, counted, id_of, log, node, same_query, usage_of
from local_rag.graphs.state import Deps, State, Update
from local_rag.text import citations

NEAREST = 3
"""Passages that an abstention names."""


@node(lambda state: "retrieving again" if state.get("tried") else "retrieving")
def retrieve(state: State, deps: Deps, emit: Emit) -> Update:
    """The k best passages for the working query, without those that were already found irrelevant."""
    query = state.get("query") or asked(state)
    found = deps.index.search(query, deps.k, within=deps.within, exclude=state.get("rejected", ()))
    emit(Retrieved(query, tuple(found)))
    found = as_shown_before(found, shown_before(state))
    return {
        "query": query,
        "tried": state.get("tried") or [query],
        "documents": found,
        "shown": [id_of(document) for document in found],
        "nearest": nearest([*state.get("nearest", ()), *found]),
        "generation": state.get("generation", ""),
    }


@node(lambda state: "setting the passages aside")
def discard_documents(state: State, deps: Deps, emit: Emit) -> Update:
    """CRAG, action `incorrect`: nothing retrieved is used."""
    update: Update = {"documents": [], "generation": state.get("generation", "")}
    label = edges.web_allowed(after(state, update, deps))
    return update | {"decisions": log(state, emit, Graded("discard_documents", label))}


def transform_query(target: Target | None = None) -> Node:
    """The question rewriter, for one target or for the source that the router chose."""

    @node(lambda state: "rewriting the question")
    def transform_query(state: State, deps: Deps, emit: Emit) -> Update:
        """Another query for the same question; one that was tried before ends the rewriting."""
        tried = state.get("tried") or [asked(state)]
        if not edges.may(state, "rewrites"):
            return {"query": asked(state), "tried": tried}
        aim = target or ("web" if state.get("route") == "web_search" else "vectorstore")
        rewrite = deps.engine.rewrite(asked(state), tried, aim)
        query, usage = rewrite.text, usage_of(state) + rewrite.usage
        if not query.strip() or same_query(query) in map(same_query, tried):
            verdict = Graded("transform_query", query, "the rewriter has nothing new")
            return {"spent": ["rewrites"], "decisions": log(state, emit, verdict), "usage": usage}
        return {
            "query": query,
            "tried": [*tried, query],
            "tries": counted(state, "rewrites"),
            "decisions": log(state, emit, Graded("transform_query", query)),
            "usage": usage,
        }

    return transform_query


@node(lambda state: "writing" if not state.get("drafts") else "writing again")
def generate(state: State, deps: Deps, emit: Emit) -> Update:
    """Write an answer from the documents and check its citations; without documents there is no answer."""
    documents = state.get("documents", [])
    tries = counted(state, "generations")
    text, usage = NOT_IN_PASSAGES, Usage()
    if documents:
        text, usage, _ = write(asked(state), documents, attempt_of(state, tries), deps, emit)
    checked = citations.check(text, documents)
    return {
        "generation": checked.text or NOT_IN_PASSAGES,
        "status": checked.status,
        "reason": outcome.reason_of(checked, bool(documents)),
        "dropped": checked.dropped,
        "grade": None,
        "removed": [],
        "tries": tries,
        "usage": usage_of(state) + usage,
    }


def attempt_of(state: State, tries: Mapping[Kind, int]) -> Attempt:
    """Which try this is, and what was wrong with those before it."""
    failed = tuple((draft.text, draft.why) for draft in state.get("drafts", ()))
    return Attempt(tries["generations"], failed, thoughts=tuple(state.get("thoughts", ())))


@node(lambda state: "answering without your files")
def llm_fallback(state: State, deps: Deps, emit: Emit) -> Update:
    """Adaptive RAG, route `direct`: an answer without documents, and labelled so."""
    text, usage, _ = write(asked(state), [], Attempt(direct=True), deps, emit)
    silent = text in ("", NOT_IN_PASSAGES)
    return {
        "generation": text or NOT_IN_PASSAGES,
        "documents": [],
        "status": "abstained" if silent else "direct",
        "reason": "the engine cannot answer without passages" if silent else "answered without looking into your files",
        "tries": counted(state, "generations"),
        "usage": usage_of(state) + usage,
    }


@node(lambda state: "closing")
def give_up(state: State, deps: Deps, emit: Emit) -> Update:
    """Out of budget: the best rejected draft, marked as what it is, or an abstention. Never an unmarked guess."""
    return outcome.best_or_abstention(state, deps)


def shown_before(state: State) -> list[str]:
    """The chunk ids of the passages that the engine was shown last, in this question or in the one before it."""
    turns = state.get("turns") or [{}]
    before: list[str] = state.get("shown") or turns[-1].get("shown", [])
    return before


def as_shown_before(documents: Sequence[Document], before: Sequence[str]) -> list[Document]:
    """The documents with those first that the engine was shown first before, in that order; the others by rank.

    A language model need not read again what stands unchanged at the beginning of its prompt, so only a run from the
    beginning counts.
    """
    by_id = {id_of(document): document for document in documents}
    first = [by_id[one] for one in takewhile(by_id.__contains__, before)]
    return [*first, *(document for document in documents if document not in first)]


def nearest(documents: Sequence[Document]) -> list[Document]:
    by_id = {id_of(document): document for document in documents}
    return sorted(by_id.values(), key=lambda document: -float(document.metadata.get("score", 0.0)))[:NEAREST]


def write(
    question: str, documents: Sequence[Document], attempt: Attempt, deps: Deps, emit: Emit, candidate: int = 1
) -> tuple[str, Usage, list[float]]:
    """What the engine writes, what it cost, and the log-probabilities of the pieces that have one."""
    parts: list[str] = []
    logprobs: list[float] = []
    usage = Usage()
    for piece in deps.engine.answer(question, documents, attempt):
        deps.cancel.check()
        if piece.restart:
            parts.clear()
            logprobs.clear()
        parts.append(piece.text)
        if piece.logprob is not None:
            logprobs.append(piece.logprob)
        usage += piece.usage or Usage()
        if piece.text or piece.restart:
            emit(Token(piece.text, attempt.number, piece.restart, candidate))
    text = "".join(parts).strip()
    return (NOT_IN_PASSAGES if citations.is_fixed_reply(text) else text), usage, logprobs
