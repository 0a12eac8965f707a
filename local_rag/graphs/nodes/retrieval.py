"""Retrieve passages: once, again with another query, or in several steps.

Several steps (IRCoT, arXiv 2212.10509, as Adaptive-RAG uses it for its class C, arXiv 2403.14403) are: retrieve, write
one sentence of reasoning, retrieve with that sentence, and so on; then write one answer from all collected passages.
They end with the answer, when nothing new is found, or when steps, passages or time are used up.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import takewhile, zip_longest

from langchain_core.documents import Document

from local_rag.core.events import Note, Retrieved, retrieval
from local_rag.core.verdicts import Graded
from local_rag.graphs import rules
from local_rag.graphs.deps import Deps
from local_rag.graphs.nodes.node import Emit, counted, node, rejected
from local_rag.graphs.state import State, standalone_of
from local_rag.graphs.tables import with_computed
from local_rag.index.exact_words import quoted_phrases
from local_rag.text.display import joined, plural, shorten
from local_rag.text.metadata import chunk_id
from local_rag.text.questions import asked
from local_rag.text.words import query_key

WIDER = 5
"""The factor by which more passages than wanted are searched for, so that a reranker can choose."""
PHRASES = 4
"""The most quoted phrases of a question that are searched for word for word."""


@node(lambda state, deps: "retrieving again" if state.get("tried") else "retrieving")
def retrieve(state: State, deps: Deps, emit: Emit) -> State:
    """Retrieve the k best passages for the working query, without those that were already found irrelevant."""
    query = state.get("query") or standalone_of(state)
    return retrieval_update(state, deps, emit, query, retrieved(state, deps, emit, query, state.get("rejected", ())))


def retrieval_update(
    state: State, deps: Deps, emit: Emit, query: str, found: Sequence[Document], collected: Sequence[Document] = ()
) -> State:
    """Return the update after a search: the `collected` passages, then the results computed from tables, then the new
    passages.
    """
    passages, usage = with_computed(standalone_of(state), found, deps, rejected(state, collected))
    emit(Retrieved(query, tuple(passages)))
    tried, turns = state.get("tried", []), state.get("turns") or [{}]
    # the documents that the query names, which the search preferred, with the words that name them
    named = {each.metadata.get("source", ""): each.metadata["named"] for each in passages if each.metadata.get("named")}
    shown = in_prompt_order(passages, state.get("prompt_order") or turns[-1].get("shown", []))
    return {
        "query": query,
        "tried": tried if query in tried else [*tried, query],
        "documents": [*collected, *shown],
        "prompt_order": list(map(chunk_id, shown)),
        "nearest": [*state.get("nearest", ()), *found],
        "usage": usage,
        "decisions": [Graded("document", "named", f"by the words {said!r}", source=of) for of, said in named.items()],
    }


def retrieved(state: State, deps: Deps, emit: Emit, query: str, exclude: Collection[str]) -> list[Document]:
    """Return the k best passages of the index without those of `exclude`, first those that hold the question's quoted
    phrases.

    Passages with all phrases precede passages with one of them, and those precede passages without any, because a quote
    may be meant loosely. A note names phrases that no passage holds word for word.
    """
    phrases = quoted_phrases(state["question"])[:PHRASES] if deps.index.narrows else ()
    if not phrases:
        return _of_each(asked(query), deps, exclude)
    passages: list[Document] = []
    for wanted in dict.fromkeys([tuple(phrases), *((phrase,) for phrase in phrases), ()]):
        if len(passages) < deps.k:
            passages += search(deps, query, deps.k - len(passages), [*exclude, *map(chunk_id, passages)], wanted)
    missing = [] if state.get("tried") else [phrase for phrase in phrases if not search(deps, query, 1, (), (phrase,))]
    if missing:
        quotes = [f'"{shorten(phrase, 60)}"' for phrase in missing]
        emit(Note(f"no passage holds {joined(quotes, 'or')} word for word"))
    return passages


def _of_each(asked: Sequence[str], deps: Deps, exclude: Collection[str]) -> list[Document]:
    """Return the k best passages for each part of a question, in turns."""
    found = [search(deps, each, deps.k, exclude) for each in asked]
    ranked = {chunk_id(passage): passage for turn in zip_longest(*found) for passage in turn if passage}
    return list(ranked.values())


def search(deps: Deps, query: str, k: int, exclude: Collection[str], phrases: Sequence[str] = ()) -> list[Document]:
    """Return the k best passages of the index without those of `exclude`; the caller's callbacks see a retrieval.

    A reranker chooses them from more passages, and its score is their `rank_score`.
    """
    within = replace(deps.within, phrases=tuple(phrases)) if phrases else deps.within

    def searched() -> list[Document]:
        if deps.reranker is None:
            return deps.index.search(query, k, within=within, exclude=exclude)
        passages = deps.index.search(query, WIDER * k, within=within, exclude=exclude)
        ranked = deps.reranker.rerank(query, passages)[:k] if passages else []
        return [Document(each.page_content, metadata={**each.metadata, "rank_score": score}) for each, score in ranked]

    return retrieval("index", query, searched)


def in_prompt_order(passages: Sequence[Document], before: Sequence[str]) -> list[Document]:
    """Order passages for the prompt: first those that the engine was shown before, in that order; the others by rank.

    A language model does not read an unchanged beginning of its prompt again, so only an unbroken run from the
    beginning counts.
    """
    by_id = {chunk_id(passage): passage for passage in passages}
    first = [by_id[known] for known in takewhile(by_id.__contains__, before)]
    return [*first, *(passage for passage in passages if passage not in first)]


@node(lambda state, deps: "retrieving for the next step" if state.get("thoughts") else "retrieving", rules.more_found)
def retrieve_step(state: State, deps: Deps, emit: Emit) -> State:
    """Retrieve the best new passages for the last thought, at most `per_step` of them and `collected` in all."""
    have = state.get("documents", []) if state.get("tried") else []
    query = state.get("query") or standalone_of(state)
    k = min(deps.adaptive.per_step, deps.adaptive.collected - len(have))
    known = [chunk_id(passage) for passage in have]
    new = search(deps, query, k, known) if k > 0 else []
    return {
        **retrieval_update(state, deps, emit, query, new, have),
        "step": "new" if new else "nothing new",
        "why": f"{plural(len(new), 'new passage')}, {len(have) + len(new)} in all",
    }


@node(lambda state, deps: f"reasoning, step {len(state.get('thoughts', ())) + 1}", rules.more_steps)
def reason(state: State, deps: Deps, emit: Emit) -> State:
    """Write one more sentence towards the answer; it is the next query unless the engine names a better one."""
    question, documents, thoughts = standalone_of(state), state.get("documents", []), state.get("thoughts", [])
    thought = deps.engine.reason(question, documents, thoughts)
    query = (thought.query or thought.text).strip()
    full = len(documents) >= deps.adaptive.collected
    repeated = any(query_key(query) == query_key(earlier) for earlier in state.get("tried", ()))
    enough = thought.done or not query or full or repeated
    return {
        "thoughts": [*thoughts, thought.text] if thought.text else thoughts,
        "query": question if enough else query,
        "tries": counted(state, "steps"),
        "step": "enough" if enough else "go on",
        "usage": thought.usage,
        "why": thought.text,
    }
