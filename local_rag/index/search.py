"""Hybrid search: the passages nearest in meaning and those with the words of the query, in one order."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TYPE_CHECKING

from local_rag.index.candidates import Mode, candidates
from local_rag.index.fusion import fuse
from local_rag.index.preference import Preference
from local_rag.index.store import embedded, full_text, priority, reads
from local_rag.index.store.store import Store
from local_rag.text.near_duplicates import Distinct
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

_DEEP = 50
"""How many candidates of each kind are scored, at least; four times k if that is more."""

_DEEP_ENOUGH = 400
"""Candidates of each kind after which near-duplicates are taken rather than others looked for."""

DEEPEST = 20_000
"""Candidates of each kind among which exact words are looked for, at least."""

_READ = 100
"""Passages whose texts are read at once."""


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
    first, and near-duplicates of better passages only where there are too few others, unless `repeats`. `prefer` ranks
    the chunks of documents that the query names.
    """
    left_out = store.read(reads.chunks_named, exclude) if exclude else []
    deep = max(_DEEP, 4 * k)
    preferred = prefer(deep, left_out) if prefer else Preference()
    while True:
        scored = candidates(store, query, vector, deep, mode, chosen, left_out)
        weights, rankings = zip((1.0, scored.ranked), *preferred.rankings, strict=True)
        fused = fuse(rankings, weights)
        ranked = list(fused) if wanted is None else _holding(store, list(fused), wanted)
        kept, complete = (_read(store, ranked[:k]), True) if repeats else _distinct(store, ranked, k)
        enough = len(kept) == k and (complete or deep >= _DEEP_ENOUGH)
        if enough or scored.complete or (wanted and deep > DEEPEST):
            break
        deep *= 4
    cosines = _cosines(store, embedder, vector, kept)
    said = preferred.said
    return [
        document(passage, said.get(passage.id, ""), score=cosines[passage.id], rank_score=fused[passage.id])
        for passage in kept
    ]


def _cosines(store: Store, embedder: Embedder, vector: Vectors, passages: Sequence[Passage]) -> dict[int, float]:
    """The cosine of the query with the vector of each passage, which is made now where it is not embedded yet."""
    cosines = store.cosines(vector, [passage.id for passage in passages])
    lacking = [passage for passage in passages if passage.id not in cosines]
    if lacking:
        priority.note(store.folder, [passage.id for passage in reversed(lacking)])
        headers = store.read(embedded.headers_of, [passage.id for passage in lacking])
        rows = embedder.embed_documents([passage.text for passage in lacking])
        named = [row for row, passage in enumerate(lacking) if passage.id in headers]
        if named:
            of_headers = embedder.embed_documents([headers[lacking[row].id] for row in named])
            rows[named] = embedded.added(rows[named], of_headers)
        cosines |= {passage.id: float(row @ vector) for passage, row in zip(lacking, rows, strict=True)}
    return cosines


def _holding(store: Store, ranked: Sequence[int], wanted: ExactWords) -> list[int]:
    """Those of the chunks that hold what is wanted, in their order."""
    batches = (ranked[first : first + _READ] for first in range(0, len(ranked), _READ))
    passages = (passage for batch in batches for passage in store.read(reads.passages, batch))
    return [passage.id for passage in passages if wanted.are_in(passage)]


def _read(store: Store, chunks: Sequence[int]) -> list[Passage]:
    return store.read(reads.passages, chunks)


def _distinct(store: Store, ranked: Sequence[int], k: int) -> tuple[list[Passage], bool]:
    """The first k passages with different texts, and whether there was no need of near-duplicates of better ones.

    Where the others are fewer than k, the first near-duplicates come after them.
    """
    taken: list[Passage] = []
    spare: list[Passage] = []
    distinct = Distinct()
    for passage in _once(store, ranked, k):
        if len(taken) == k:
            break
        (taken if distinct.takes(passage.text) else spare).append(passage)
    return [*taken, *spare][:k], len(taken) == k


def _once(store: Store, ranked: Sequence[int], k: int) -> Iterator[Passage]:
    """Passages in their order, of identical texts the first; they are read as they are wanted."""
    digests = store.read(reads.digests, ranked)
    first: dict[bytes, int] = {}
    for chunk in ranked:
        if chunk in digests:
            first.setdefault(digests[chunk], chunk)
    chunks, size = list(first.values()), min(2 * k, _READ)
    for start in range(0, len(chunks), size):
        yield from _read(store, chunks[start : start + size])


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
