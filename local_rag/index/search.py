"""Hybrid search: dense and sparse rankings, fused by reciprocal rank."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Literal

from local_rag.index.preference import Preference
from local_rag.index.store import embedded, full_text, reads
from local_rag.index.store.bm25 import terms_of
from local_rag.index.store.store import Store
from local_rag.text.urls import is_page
from local_rag.text.words import stem, words

if TYPE_CHECKING:
    from langchain_core.documents import Document

    from local_rag.core.protocols import Embedder, Vectors
    from local_rag.index.exact_words import ExactWords
    from local_rag.index.store.schema import Passage
    from local_rag.index.store.selection import Selection

Prefer = Callable[[int, Collection[int]], Preference]
"""(how many chunks to rank, chunks that are not wanted) -> the chunks that a search prefers."""

Mode = Literal["hybrid", "dense", "words"]

RRF = 60
"""The constant k of reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009, section 2)."""

_DEEP = 50
"""How many candidates of each kind are fused, at least; four times k if that is more."""


DEEPEST = 20_000
"""Candidates of each kind among which exact words are looked for, at least."""

_READ = 100
"""Passages whose texts are read at once to look for exact words."""


def search(
    store: Store,
    query: str,
    vector: Vectors,
    k: int,
    embedder: Embedder,
    *,
    mode: Mode = "hybrid",
    chosen: Selection | None = None,
    wanted: ExactWords | None = None,
    exclude: Collection[str] = (),
    repeats: bool = False,
    prefer: Prefer | None = None,
) -> list[Document]:
    """The k best passages with different texts, best first.

    `vector` (d,) is the query as a unit vector; with mode "words" it only gives the scores. `chosen`, `wanted` (exact
    words) and `exclude` (keys of passages) narrow the search. Identical texts come once, from the place that ranks
    first, unless `repeats`. `prefer` ranks the chunks of documents that the query names.
    """
    left_out = store.read(reads.chunks_named, exclude) if exclude else []
    terms = terms_of(query) if mode != "dense" else []
    deep = max(_DEEP, 4 * k)
    preferred = prefer(deep, left_out) if prefer else Preference()
    while True:
        rankings = []
        if mode != "words":
            rankings.append(store.nearest(vector, deep, chosen, left_out))
        if terms:
            rankings.append(store.matching(terms, deep, chosen, left_out))
        weights = [1.0] * len(rankings)
        fused = fuse(
            [
                *([chunk for chunk, _ in ranking] for ranking in rankings),
                *(ranking for _, ranking in preferred.rankings),
            ],
            [*weights, *(weight * sum(weights) for weight, _ in preferred.rankings)],
        )
        ranked = list(fused) if wanted is None else _holding(store, list(fused), wanted)
        kept = ranked[:k] if repeats else _distinct(store, ranked, k)
        if len(kept) == k or all(len(ranking) < deep for ranking in rankings) or (wanted and deep > DEEPEST):
            break
        deep *= 4
    passages = store.read(reads.passages, kept)
    cosines = _cosines(store, embedder, vector, passages)
    said = preferred.said
    return [
        document(passage, said.get(passage.id, ""), score=cosines[passage.id], rank_score=fused[passage.id])
        for passage in passages
    ]


def _cosines(store: Store, embedder: Embedder, vector: Vectors, passages: Sequence[Passage]) -> dict[int, float]:
    """The cosine of the query with the vector of each passage, which is made now where it is not embedded yet."""
    cosines = store.cosines(vector, [passage.id for passage in passages])
    lacking = [passage for passage in passages if passage.id not in cosines]
    if lacking:
        headers = store.read(embedded.headers_of, [passage.id for passage in lacking])
        rows = embedder.embed_documents([passage.text for passage in lacking])
        named = [row for row, passage in enumerate(lacking) if passage.id in headers]
        if named:
            of_headers = embedder.embed_documents([headers[lacking[row].id] for row in named])
            rows[named] = embedded.added(rows[named], of_headers)
        cosines |= {passage.id: float(row @ vector) for passage, row in zip(lacking, rows, strict=True)}
    return cosines


def fuse(rankings: Sequence[Sequence[int]], weights: Sequence[float] | None = None) -> dict[int, float]:
    """Reciprocal rank fusion: the sum of weight / (60 + rank), ranks from 1; best first, ties by the first ranking.

    The weights are 1 where none are given.
    """
    scores: dict[int, float] = {}
    for ranking, weight in zip(rankings, weights or [1.0] * len(rankings), strict=True):
        for rank, chunk in enumerate(ranking, start=1):
            scores[chunk] = scores.get(chunk, 0.0) + weight / (RRF + rank)
    first = {chunk: rank for rank, chunk in enumerate(rankings[0])} if rankings else {}
    return dict(sorted(scores.items(), key=lambda item: (-item[1], first.get(item[0], len(first)), item[0])))


def _holding(store: Store, ranked: Sequence[int], wanted: ExactWords) -> list[int]:
    """Those of the chunks that hold what is wanted, in their order."""
    batches = (ranked[first : first + _READ] for first in range(0, len(ranked), _READ))
    passages = (passage for batch in batches for passage in store.read(reads.passages, batch))
    return [passage.id for passage in passages if wanted.are_in(passage)]


def _distinct(store: Store, ranked: Sequence[int], k: int) -> list[int]:
    """The first k chunks whose texts differ."""
    digests = store.read(reads.digests, ranked)
    seen: dict[bytes, int] = {}
    for chunk in ranked:
        if chunk in digests:
            seen.setdefault(digests[chunk], chunk)
    return list(seen.values())[:k]


def document_frequency(store: Store, terms: Sequence[str]) -> dict[str, int]:
    """In how many chunks each term occurs, as a word or as a stem; a term of several words counts as its rarest."""
    parts = {term: [(word, stem(word)) for word in words(term)] for term in terms}
    known = store.read(full_text.frequencies, {form for forms in parts.values() for pair in forms for form in pair})
    return {
        term: min((max(known.get(form, 0) for form in pair) for pair in forms), default=0)
        for term, forms in parts.items()
    }


def document(passage: Passage, named: str = "", **scores: float) -> Document:
    """A passage with the metadata that `protocols.Corpus` lists; a search adds `score` and `rank_score`."""
    from langchain_core.documents import Document

    metadata = {
        "source": passage.source,
        "title": passage.title,
        "author": passage.author,
        "date": passage.date,
        "page": passage.page,
        "heading": passage.heading,
        "start": passage.start,
        "end": passage.end,
        "chunk_id": passage.key,
        "named": named,
        **scores,
        "origin": "files",
        "url": passage.source if is_page(passage.source) else "",
    }
    return Document(passage.text, metadata=metadata)
