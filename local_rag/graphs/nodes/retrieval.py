"""The node that retrieves, and which passages come first."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import takewhile

from langchain_core.documents import Document

from local_rag.core.callbacks import retrieval
from local_rag.core.events import Note, Retrieved
from local_rag.core.verdicts import Graded
from local_rag.graphs.deps import Deps
from local_rag.graphs.nodes.node import Emit, node
from local_rag.graphs.state import State, standalone_of
from local_rag.index.exact_words import quoted_phrases
from local_rag.text.display import joined, shorten
from local_rag.text.metadata import chunk_id

PHRASES = 4
"""Quoted phrases of a question that are looked for word for word."""


@node(lambda state, deps: "retrieving again" if state.get("tried") else "retrieving")
def retrieve(state: State, deps: Deps, emit: Emit) -> State:
    """The k best passages for the working query, without those that were already found irrelevant."""
    query = state.get("query") or standalone_of(state)
    passages = retrieved(state, deps, emit, query, state.get("rejected", ()))
    emit(Retrieved(query, tuple(passages)))
    turns = state.get("turns") or [{}]
    shown = in_prompt_order(passages, state.get("shown") or turns[-1].get("shown", []))
    return {
        "query": query,
        "tried": state.get("tried") or [query],
        "documents": shown,
        "shown": [chunk_id(passage) for passage in shown],
        "nearest": [*state.get("nearest", ()), *passages],
        "decisions": named_documents(passages),
    }


def named_documents(passages: Sequence[Document]) -> list[Graded]:
    """The documents that the query names and the search therefore preferred, each with the words that name it."""
    named = {
        str(passage.metadata.get("source", "")): str(passage.metadata["named"])
        for passage in passages
        if passage.metadata.get("named")
    }
    return [Graded("document", "named", f"by the words {said!r}", source=source) for source, said in named.items()]


def retrieved(state: State, deps: Deps, emit: Emit, query: str, exclude: Collection[str]) -> list[Document]:
    """The k best passages of the index but those of `exclude`, first those that hold what the question quotes.

    All its quoted phrases together come before each of them alone, and those before what holds none: a quote may be
    meant loosely. A note names what no passage holds word for word.
    """
    phrases = quoted_phrases(state["question"])[:PHRASES] if getattr(deps.index, "narrows", False) else ()
    if not phrases:
        return search(deps, query, deps.k, exclude)
    alone = [(phrase,) for phrase in phrases]
    passages: list[Document] = []
    missing: list[str] = []
    for wanted in [*([phrases] if len(phrases) > 1 else []), *alone, ()]:
        if len(passages) < deps.k:
            known = [*exclude, *map(chunk_id, passages)]
            new = search(deps, query, deps.k - len(passages), known, phrases=wanted)
            passages += new
            missing += wanted if not new and len(wanted) == 1 and not search(deps, query, 1, (), phrases=wanted) else ()
    if missing and not state.get("tried"):
        quotes = [f'"{shorten(phrase, 60)}"' for phrase in missing]
        emit(Note(f"no passage holds {joined(quotes, 'or')} word for word"))
    return passages


def search(deps: Deps, query: str, k: int, exclude: Collection[str], phrases: Sequence[str] = ()) -> list[Document]:
    """The k best passages of the index but those of `exclude`; the caller's callbacks see a retrieval."""
    within = replace(deps.narrowing, phrases=tuple(phrases)).plain if phrases else deps.narrowing.plain
    return retrieval("index", query, lambda: deps.index.search(query, k, within=within, exclude=exclude))


def in_prompt_order(passages: Sequence[Document], before: Sequence[str]) -> list[Document]:
    """The passages that the engine was shown before first, in that order; the others by rank.

    A language model need not read again what stands unchanged at the beginning of its prompt, so only a run from the
    beginning counts.
    """
    by_id = {chunk_id(passage): passage for passage in passages}
    first = [by_id[known] for known in takewhile(by_id.__contains__, before)]
    return [*first, *(passage for passage in passages if passage not in first)]
