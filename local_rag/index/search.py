"""Hybrid search: the passages nearest in meaning and those with the words of the query, in one order."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from local_rag.index.candidates import Mode, candidates
from local_rag.index.fusion import fuse
from local_rag.index.preference import Preference
from local_rag.index.store import full_text, reads
from local_rag.index.store.store import Store
from local_rag.text.near_duplicates import Distinct
from local_rag.text.urls import is_page
from local_rag.text.words import stem, words

if TYPE_CHECKING:
    from langchain_core.documents import Document

    from local_rag.core.protocols import Vectors
    from local_rag.index.exact_words import ExactWords
    from local_rag.index.store.schema import Passage
    from local_rag.index.store.selection import Selection
    from local_rag.index.unstored_vectors import UnstoredVectors

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
    unstored: UnstoredVectors | None,
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
    the chunks of documents that the query names. `unstored` makes the vectors of those that have none yet; without it
    their `score` is None.
    """
    left_out = store.read(reads.chunks_named, exclude) if exclude else []
    deep = max(_DEEP, 4 * k)
    preferred = prefer(deep, left_out) if prefer else Preference()
    texts = _Texts(store, wanted)
    while True:
        scored = candidates(store, query, vector, deep, mode, chosen, left_out)
        weights, rankings = zip((1.0, scored.ranked), *preferred.rankings, strict=True)
        fused = fuse(rankings, weights)
        kept, complete = texts.first(list(fused), k) if repeats else texts.distinct(list(fused), k)
        enough = len(kept) == k and (complete or deep >= _DEEP_ENOUGH)
        if enough or scored.complete or (wanted and deep > DEEPEST):
            break
        deep *= 4
    cosines: dict[int, float] = store.cosines(vector, [passage.id for passage in kept])
    if unstored is not None:
        cosines |= unstored.cosines(vector, [passage for passage in kept if passage.id not in cosines])
    said = preferred.said
    return [
        document(
            passage,
            said.get(passage.id, ""),
            score=cosines.get(passage.id),
            sparse=scored.shares.get(passage.id),
            rank_score=fused[passage.id],
        )
        for passage in kept
    ]


class _Texts:
    """The passages that a search reads, each once however often it ranks anew, and whether they hold what is wanted."""

    def __init__(self, store: Store, wanted: ExactWords | None) -> None:
        self._store, self._wanted = store, wanted
        self._known: dict[int, Passage | None] = {}

    def first(self, ranked: Sequence[int], k: int) -> tuple[list[Passage], bool]:
        """The first k passages."""
        return list(islice(self._holding(ranked, k), k)), True

    def distinct(self, ranked: Sequence[int], k: int) -> tuple[list[Passage], bool]:
        """The first k passages with different texts, and whether there was no need of near-duplicates of better ones.

        Where the others are fewer than k, the first near-duplicates come after them.
        """
        taken: list[Passage] = []
        spare: list[Passage] = []
        distinct = Distinct()
        for passage in self._once(ranked, k):
            (taken if distinct.takes(passage.text) else spare).append(passage)
            if len(taken) == k:
                break
        return [*taken, *spare][:k], len(taken) == k

    def _once(self, ranked: Sequence[int], k: int) -> Iterator[Passage]:
        """Passages in their order, of identical texts the first that holds what is wanted."""
        digests = self._store.read(reads.digests, ranked)
        first: dict[bytes, int] = {}
        for chunk in ranked:
            if chunk in digests:
                first.setdefault(digests[chunk], chunk)
        seen: set[bytes] = set()
        for passage in self._holding(ranked if self._wanted else list(first.values()), k):
            digest = digests.get(passage.id)
            if digest is not None and digest not in seen:
                seen.add(digest)
                yield passage

    def _holding(self, ranked: Sequence[int], k: int) -> Iterator[Passage]:
        """Those that hold what is wanted, in their order; they are read as they are asked for."""
        size = min(2 * k, _READ)
        for start in range(0, len(ranked), size):
            batch = ranked[start : start + size]
            new = [chunk for chunk in batch if chunk not in self._known]
            self._known |= dict.fromkeys(new)
            for passage in self._store.read(reads.passages, new) if new else []:
                if self._wanted is None or self._wanted.are_in(passage):
                    self._known[passage.id] = passage
            yield from filter(None, map(self._known.__getitem__, batch))


def document_frequency(store: Store, terms: Sequence[str]) -> dict[str, int]:
    """In how many chunks each term occurs, as a word or as a stem; a term of several words counts as its rarest."""
    parts = {term: [(word, stem(word)) for word in words(term)] for term in terms}
    known = store.read(full_text.frequencies, {form for forms in parts.values() for pair in forms for form in pair})
    return {
        term: min((max(known.get(form, 0) for form in pair) for pair in forms), default=0)
        for term, forms in parts.items()
    }


def document(passage: Passage, named: str = "", **scores: float | None) -> Document:
    """A passage with the metadata that `protocols.Corpus` lists; a search adds `score`, `sparse` and `rank_score`."""
    from langchain_core.documents import Document

    metadata = {
        "source": passage.source,
        "title": passage.title,
        "author": passage.author,
        "date": passage.date,
        "modified": passage.modified,
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
