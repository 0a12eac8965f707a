"""Hybrid search: the passages nearest in meaning and those with the words of the query, in one order.

All of it reads one snapshot of the index.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from local_rag.core import cancel
from local_rag.core.documents import Narrowing
from local_rag.index.exact_words import obeys
from local_rag.index.filters import conditions
from local_rag.index.named_documents import named_documents
from local_rag.index.store.cache import Cache
from local_rag.index.store.matrices import with_headers
from local_rag.index.store.opening import check_settings
from local_rag.index.store.values import Filter, IndexSettings, Passage
from local_rag.text.display import is_page
from local_rag.text.near_duplicates import Distinct

if TYPE_CHECKING:
    from langchain_core.documents import Document

    from local_rag.core.protocols import Embedder, Vectors
    from local_rag.index.store.protocol import Store

Mode = Literal["hybrid", "dense", "words"]

SPARSE = 1.0
"""The weight of BM25 as a share of the highest possible, the cosine having 1; docs/measurements.md has the figures of
others.
"""

NAMED = 2.0
"""The least score of a passage of a document that the query names: more than cosine and BM25 come to."""

_DEEP, _DEEP_ENOUGH = 50, 400
"""The least number of candidates of each kind that are scored, four times k if that is more; and the number after which
near-duplicates are taken rather than others looked for.
"""

_TEXTS_AT_ONCE = 20
"""The least number of passages whose texts are read at once."""

_DEEPEST = 20_000
"""Candidates among which passages are looked for that obey the query."""


@dataclass(frozen=True)
class Request:
    """A search for the k best passages for a query, with its unit vector (d,).

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


def search(store: Store, settings: IndexSettings, embedder: Embedder, cache: Cache, request: Request) -> list[Document]:
    """Return the best passages, best first. Raises UsageError if the filter leaves nothing."""

    def found() -> list[Document]:
        if store.meta().get("fingerprint") != settings.fingerprint:
            check_settings(store, settings)
        return _Search(store, _filter(store, cache, request), request, embedder).passages()

    cancel.check()
    return store.snapshot(found)


def _filter(store: Store, cache: Cache, request: Request) -> Filter:
    """Return the filter of a request. What its narrowing means is kept: the searches of a question have the same."""
    wanted, asked = request.wanted, None
    if wanted.of_documents or wanted.phrases:
        key = store.generation(), wanted, Path.cwd() if wanted.within else ""  # what a relative pattern means
        asked = cache.get("conditions", key, lambda: conditions(store, wanted))
    return Filter(asked, frozenset(request.exclude))


@dataclass(frozen=True)
class _Search:
    """One search in one snapshot of an index. `cosines` and `shares` (BM25 as a share of the highest possible) are
    those of the chunks that were scored so far.
    """

    store: Store
    filter: Filter
    request: Request
    embedder: Embedder
    cosines: dict[int, float] = field(default_factory=dict)
    shares: dict[int, float] = field(default_factory=dict)

    def passages(self) -> list[Document]:
        """Return the passages found. Where too few are left that differ and obey the query, more candidates are
        scored.
        """
        k = self.request.k
        preferred, named = self._preferred()
        deep = max(_DEEP, 4 * k)
        while True:
            scores, exhausted = self._scored(deep)
            scores |= preferred
            taken, distinct = self._taken(sorted(scores, key=lambda chunk: (-scores[chunk], chunk)))
            enough = len(taken) == k and (distinct or deep >= _DEEP_ENOUGH)
            if enough or exhausted or deep > _DEEPEST:
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
        """Return the cosines of passages without a stored vector: a search embeds what it brings."""
        if not waiting:
            return {}
        stored = self.store.headers([passage.id for passage in waiting])
        texts = self.embedder.embed_documents([passage.text for passage in waiting])
        headers = self.embedder.embed_documents([stored.get(passage.id, "") for passage in waiting])
        headers[[row for row, passage in enumerate(waiting) if passage.id not in stored]] = 0
        products = with_headers(texts, headers) @ self.request.vector
        return {passage.id: float(product) for passage, product in zip(waiting, products, strict=True)}

    # --- candidates

    def _scored(self, deep: int) -> tuple[dict[int, float], bool]:
        """Return the scores of the `deep` nearest chunks and of those that BM25 ranks first, as far as the mode wants
        them, and whether there are no others.
        """
        mode, vector = self.request.mode, self.request.vector
        nearest: list[tuple[int, float]] = []
        shares: dict[int, float] = {}
        if mode != "words":
            nearest = self.store.nearest(vector, deep, self.filter)
            self.cosines.update(nearest)
        if mode != "dense":
            shares = self.store.match(self.request.query, deep, self.filter)
            self.shares.update(shares)
        return self._combined([*dict(nearest), *shares], shares, vector), max(len(nearest), len(shares)) < deep

    def _combined(self, chunks: Sequence[int], shares: dict[int, float], vector: Vectors) -> dict[int, float]:
        return dict(shares) if self.request.mode == "words" else combined(self._cosines(chunks, vector), shares)

    def _cosines(self, chunks: Sequence[int], vector: Vectors) -> dict[int, float]:
        """Return the cosines of those of these chunks that have a vector."""
        known = self.cosines if vector is self.request.vector else {}
        if missing := [chunk for chunk in chunks if chunk not in known]:
            known.update(self.store.cosines(vector, missing))
        return {chunk: known[chunk] for chunk in chunks if chunk in known}

    # --- documents that the query names

    def _preferred(self) -> tuple[dict[int, float], dict[int, str]]:
        """Return the scores of the passages of documents that the query names, and the words that name them.

        They come first, of several documents in turn, and nothing is left out: a document that was recognised wrongly
        must not hide the answer. Where a question asks what a document says of a topic, the words of the topic alone
        are looked for.
        """
        documents, form = named_documents(self.store, self.request.query)
        query, vector = self.request.query, self.request.vector
        if form and form.topic:
            query, vector = form.topic, self.embedder.embed_queries([form.topic])[0]
        preferred, said = dict[int, float](), dict[int, str]()
        for named in documents:
            passages = self.store.title_chunks(named.file, named.title)
            inside = self._inside([chunk for chunk, _ in passages], query, vector)
            ranked = sorted(inside, key=lambda chunk: (-inside[chunk], chunk))
            if form and form.asks != "topic":
                ranked = [*filter(inside.__contains__, [chunk for chunk, _ in passages[:1]]), *ranked]
            preferred |= {chunk: NAMED + 1 / place for place, chunk in enumerate(dict.fromkeys(ranked), start=1)}
            said |= dict.fromkeys(inside, " ".join(dict.fromkeys(named.said)))
        return preferred, said

    def _inside(self, chunks: Sequence[int], query: str, vector: Vectors) -> dict[int, float]:
        """Return the chunks of a document with their scores."""
        chunks = self.store.passing(self.filter, chunks)
        shares = dict.fromkeys(chunks, 0.0)
        if chunks and self.request.mode != "dense":
            found = self.store.match_among(query, chunks)
            self.shares.update(found)
            shares |= found
        return self._combined(chunks, shares, vector)

    # --- passages

    def _taken(self, ranked: Sequence[int]) -> tuple[list[Passage], bool]:
        """Return the first k passages that hold what is wanted, with different texts, and whether there was no need of
        near-duplicates of better ones: where the others are fewer than k, the first of these come after them.
        """
        k, repeats, wanted = self.request.k, self.request.repeats, self.request.wanted
        taken: list[Passage] = []
        duplicates: list[Passage] = []
        distinct, seen = Distinct(), set[str]()
        step = max(_TEXTS_AT_ONCE, 2 * k)
        for first in range(0, len(ranked), step):
            for passage in self.store.passages(ranked[first : first + step]):
                text = passage.key if repeats else " ".join(passage.text.split())
                if text in seen or not obeys(passage, wanted):
                    continue
                seen.add(text)
                (taken if repeats or distinct.takes(passage.text) else duplicates).append(passage)
                if len(taken) == k:
                    return taken, True
        return [*taken, *duplicates][:k], False


def combined(cosines: Mapping[int, float], shares: Mapping[int, float]) -> dict[int, float]:
    """Return the score of each passage: its cosine plus SPARSE times its `shares`, BM25 as a share of the highest
    possible.

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
    """Return a passage with the metadata that `protocols.Corpus` lists; a search adds `score`, `sparse` and
    `rank_score`.
    """
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
