"""Hybrid search: the passages nearest in meaning and those with the words of the query, in one order.

All of it reads one snapshot of the index.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from local_rag.core import cancel
from local_rag.core.documents import Narrowing
from local_rag.index.exact_words import obeys
from local_rag.index.filters import Selection, selection
from local_rag.index.named_documents import front, named_documents
from local_rag.index.store import reads, vectors
from local_rag.index.store.checks import check_settings
from local_rag.index.store.database import Database
from local_rag.index.store.full_text import Frequencies, Ranking, Words, words_of
from local_rag.index.store.vectors import Candidates
from local_rag.text.display import is_page
from local_rag.text.near_duplicates import Distinct

if TYPE_CHECKING:
    from langchain_core.documents import Document

    from local_rag.core.protocols import Embedder, Vectors
    from local_rag.index.store.schema import IndexSettings, Passage
    from local_rag.index.store.store import Store
    from local_rag.index.store.vectors import Ids

Mode = Literal["hybrid", "dense", "words"]

SPARSE = 1.0
"""What BM25 as a share of the highest possible counts for, the cosine counting 1; docs/measurements.md has the figures
of others."""

NAMED = 2.0
"""The least score of a passage of a document that the query names: more than cosine and BM25 come to."""

_DEEP, _DEEP_ENOUGH = 50, 400
"""How many candidates of each kind are scored at least, four times k if that is more; and how many, after which
near-duplicates are taken rather than others looked for."""

_READ = 20
"""Passages whose texts are read at once, at least."""

FEW, MOST = 20_000, 20
"""Chunks of a filter whose ids FAISS and FTS5 are given; how many times as many of all are ranked by words, at most,
where a filter leaves more.
"""


@dataclass(frozen=True)
class Request:
    """What is searched for: the k best passages for a query, with its unit vector (d,).

    `exclude` are keys of passages. Identical texts come once, from the place that ranks first, and near-duplicates of
    better passages only where there are too few others, unless `repeats`.
    """

    query: str
    vector: Vectors
    k: int
    wanted: Narrowing
    exclude: Collection[str]
    mode: Mode
    repeats: bool


class Searcher:
    """The search of one index. Any thread may ask."""

    def __init__(self, store: Store, settings: IndexSettings, embedder: Embedder) -> None:
        self._store, self._settings, self._embedder = store, settings, embedder
        self._frequencies = Frequencies()
        self._last_filter: tuple[object, Selection | None] = (None, None)

    def search(self, request: Request) -> list[Document]:
        """The best passages, best first. Raises UsageError if the filter leaves nothing."""
        cancel.check()
        return self._store.search(self._passages, request)

    def _passages(self, db: Database, meta: dict[str, str], index: Candidates, request: Request) -> list[Document]:
        if meta.get("fingerprint") != self._settings.fingerprint:
            check_settings(db, self._store.folder, self._settings)
        words = partial(words_of, db, self._frequencies, meta["generation"])
        selected = self._selection(db, meta["generation"], request.wanted)
        return _Snapshot(db, index, request, selected, words, self._embedder).passages()

    def _selection(self, db: Database, generation: str, wanted: Narrowing) -> Selection | None:
        """What a filter leaves, None without one. That of the last filter is kept: the searches of a question have the
        same.
        """
        if not (wanted.of_documents or wanted.phrases):
            return None
        key = generation, wanted, Path.cwd() if wanted.within else ""  # what a relative pattern means
        known, selected = self._last_filter
        if known != key:
            selected = selection(db, self._store.folder, wanted)
            self._last_filter = key, selected
        return selected


@dataclass(frozen=True)
class _Snapshot:
    """One search in one snapshot of an index. `cosines` and `shares` (BM25 as a share of the highest possible) are
    those of the chunks that were scored so far.
    """

    db: Database
    index: Candidates
    request: Request
    selection: Selection | None
    words: Callable[[str], Words]
    embedder: Embedder
    cosines: dict[int, float] = field(default_factory=dict)
    shares: dict[int, float] = field(default_factory=dict)

    def passages(self) -> list[Document]:
        k = self.request.k
        preferred, named = self._preferred()
        deep = max(_DEEP, 4 * k)
        while True:
            scores, exhausted = self._scored(deep)
            scores |= preferred
            taken, distinct = self._taken(sorted(scores, key=lambda chunk: (-scores[chunk], chunk)))
            enough = len(taken) == k and (distinct or deep >= _DEEP_ENOUGH)
            if enough or exhausted or deep > vectors.DEEPEST:
                break
            deep *= 4
        cosines = self._cosines([passage.id for passage in taken], self.request.vector)
        cosines |= self._embedded([passage for passage in taken if passage.id not in cosines])
        return [
            document(
                passage,
                named=named.get(passage.id, ""),
                score=cosines[passage.id],
                sparse=self.shares.get(passage.id),
                rank_score=scores[passage.id],
            )
            for passage in taken
        ]

    def _embedded(self, waiting: Sequence[Passage]) -> dict[int, float]:
        """The cosines of those that are not embedded yet: a search embeds what it brings."""
        if not waiting:
            return {}
        stored = reads.headers(self.db, [passage.id for passage in waiting])
        texts = self.embedder.embed_documents([passage.text for passage in waiting])
        headers = self.embedder.embed_documents([stored.get(passage.id, "") for passage in waiting])
        headers[[row for row, passage in enumerate(waiting) if passage.id not in stored]] = 0
        products = vectors.with_headers(texts, headers) @ self.request.vector
        return {passage.id: float(product) for passage, product in zip(waiting, products, strict=True)}

    # --- candidates

    @cached_property
    def _left_out(self) -> Collection[int]:
        exclude = self.request.exclude
        return set(reads.chunks_by_key(self.db, exclude).values()) if exclude else set()

    @property
    def _few(self) -> Ids | None:
        """The chunks of a filter where they are few; of more of them the best of all chunks hold enough."""
        chunks = self.selection.chunks if self.selection else None
        return chunks if chunks is not None and len(chunks) <= FEW else None

    def _kept(self, chunks: Sequence[int]) -> list[int]:
        """Those of these chunks that are wanted."""
        left = self.selection.kept(self.db, chunks) if self.selection else chunks
        return [chunk for chunk in left if chunk not in self._left_out]

    def _scored(self, deep: int) -> tuple[dict[int, float], bool]:
        """The scores of the `deep` nearest chunks and of those that BM25 ranks first, as far as the mode wants them,
        and whether there are no others.
        """
        mode, vector = self.request.mode, self.request.vector
        nearest: list[tuple[int, float]] = []
        shares: dict[int, float] = {}
        exhausted = no_more = True
        if mode != "words":
            nearest, exhausted = vectors.nearest(self.db, self.index, vector, deep, self._few, self._kept)
            self.cosines.update(nearest)
        if mode != "dense":
            shares, no_more = self._matching(self.words(self.request.query), deep)
        return self._combined([*dict(nearest), *shares], shares, vector), exhausted and no_more

    def _matching(self, words: Words, deep: int) -> tuple[dict[int, float], bool]:
        """The shares of the `deep` chunks that BM25 ranks first of those that are wanted, and whether there are no
        others.
        """
        share = self.selection.share if self.selection and self._few is None else 1.5
        limit = len(self._left_out) + int(deep * min(MOST, 1.5 / share))
        ranking = words.best(limit) if self._few is None else words.among(self._few.tolist(), limit)
        kept = set(self._kept([chunk for chunk, _ in ranking]))
        return self._shares(words, [match for match in ranking if match[0] in kept][:deep]), len(ranking) < limit

    def _shares(self, words: Words, ranking: Ranking) -> dict[int, float]:
        highest = words.highest
        shares = {chunk: -score / highest for chunk, score in ranking}
        self.shares.update(shares)
        return shares

    def _combined(self, chunks: Sequence[int], shares: dict[int, float], vector: Vectors) -> dict[int, float]:
        return dict(shares) if self.request.mode == "words" else combined(self._cosines(chunks, vector), shares)

    def _cosines(self, chunks: Sequence[int], vector: Vectors) -> dict[int, float]:
        """The cosines of those of these chunks that have a vector."""
        known = self.cosines if vector is self.request.vector else {}
        if missing := [chunk for chunk in chunks if chunk not in known]:
            known.update(vectors.exact(self.db, vector, missing))
        return {chunk: known[chunk] for chunk in chunks if chunk in known}

    # --- documents that the query names

    def _preferred(self) -> tuple[dict[int, float], dict[int, str]]:
        """The scores of the passages of documents that the query names, and the words that name them. They come first,
        of several documents in turn, and nothing is left out: a document that was recognised wrongly must not hide the
        answer.

        What a document says of something is looked for by the words for that alone.
        """
        documents, form = named_documents(self.db, self.request.query)
        query, vector = self.request.query, self.request.vector
        if form and form.topic:
            query, vector = form.topic, self.embedder.embed_queries([form.topic])[0]
        preferred, said = dict[int, float](), dict[int, str]()
        for named in documents:
            passages = named.chunks(self.db)
            inside = self._inside([chunk for chunk, _ in passages], query, vector)
            ranked = sorted(inside, key=lambda chunk: (-inside[chunk], chunk))
            if form and form.asks != "topic":
                ranked = [*filter(inside.__contains__, front(passages, form.asks == "content")), *ranked]
            preferred |= {chunk: NAMED + 1 / place for place, chunk in enumerate(dict.fromkeys(ranked), start=1)}
            said |= dict.fromkeys(inside, " ".join(dict.fromkeys(named.said)))
        return preferred, said

    def _inside(self, chunks: Sequence[int], query: str, vector: Vectors) -> dict[int, float]:
        """The chunks of a document with their scores."""
        chunks = self._kept(chunks)
        shares = dict.fromkeys(chunks, 0.0)
        if chunks and self.request.mode != "dense":
            words = self.words(query)
            shares |= self._shares(words, words.within(chunks))
        return self._combined(chunks, {chunk: shares[chunk] for chunk in chunks}, vector)

    # --- passages

    def _taken(self, ranked: Sequence[int]) -> tuple[list[Passage], bool]:
        """The first k passages that hold what is wanted, with different texts, and whether there was no need of
        near-duplicates of better ones: where the others are fewer than k, the first of these come after them.
        """
        k, repeats, wanted = self.request.k, self.request.repeats, self.request.wanted
        taken: list[Passage] = []
        duplicates: list[Passage] = []
        distinct, seen = Distinct(), set[str]()
        step = max(_READ, 2 * k)
        for first in range(0, len(ranked), step):
            for passage in reads.passages(self.db, ranked[first : first + step]):
                text = passage.key if repeats else " ".join(passage.text.split())
                if text in seen or not obeys(passage, wanted):
                    continue
                seen.add(text)
                (taken if repeats or distinct.takes(passage.text) else duplicates).append(passage)
                if len(taken) == k:
                    return taken, True
        return [*taken, *duplicates][:k], False


def combined(cosines: Mapping[int, float], shares: Mapping[int, float]) -> dict[int, float]:
    """The score of each passage: its cosine plus SPARSE times its `shares`, BM25 as a share of the highest possible.

    A convex combination in the sense of Bruch, Gai and Ingber, An Analysis of Fusion Functions for Hybrid Retrieval,
    TOIS 42, 2023, section 4; BM25 is not divided by the best of the query but by its limit, so that a long question
    whose words no passage has together leaves the order to the vectors. A passage that is not embedded yet counts with
    the mean cosine of those that were found by words, and is neither punished nor preferred. Where none of them is
    embedded nothing says how near such passages are: the best by words counts as the nearest of all, the others less in
    proportion to their shares, so that neither kind buries the other.
    """
    known = [cosines[chunk] for chunk in shares if chunk in cosines]
    unembedded = [chunk for chunk in shares if chunk not in cosines]
    if known:
        assumed = dict.fromkeys(unembedded, sum(known) / len(known))
    else:
        nearest = max(0.0, max(cosines.values(), default=0.0))
        most = max((shares[chunk] for chunk in unembedded), default=0.0) or 1.0
        assumed = {chunk: nearest * shares[chunk] / most for chunk in unembedded}
    return {chunk: cosine + SPARSE * shares.get(chunk, 0.0) for chunk, cosine in {**cosines, **assumed}.items()}


def document(passage: Passage, named: str = "", **scores: float | None) -> Document:
    """A passage with the metadata that `protocols.Corpus` lists; a search adds `score`, `sparse` and `rank_score`."""
    from langchain_core.documents import Document

    told = ("source", "title", "author", "date", "modified", "page", "heading", "start", "end")
    metadata: dict[str, Any] = {name: getattr(passage, name) for name in told}
    metadata |= {"chunk_id": passage.key, "named": named, **scores, "origin": "files"}
    metadata["url"] = passage.source if is_page(passage.source) else ""
    if len(passage.sections) > 1 or any(first > passage.start for first, _ in passage.sections):
        metadata["sections"] = [list(section) for section in passage.sections]
    if passage.lines:
        metadata["ocr"] = [[line.start, line.end, line.confidence] for line in passage.lines]
    return Document(passage.text, metadata=metadata)
