"""Hybrid search: the passages nearest in meaning and those with the words of the query, in one order.

All of it reads one snapshot of the index.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import zip_longest
from sqlite3 import Connection
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from local_rag.core import cancel
from local_rag.core.narrowing import Narrowing
from local_rag.index.exact_words import ExactWords
from local_rag.index.filters import Filters, Selection
from local_rag.index.named_documents import Naming, front, named_documents
from local_rag.index.store import reads, vectors
from local_rag.index.store.checks import check_settings
from local_rag.index.store.full_text import Frequencies, Ranking, Words
from local_rag.index.store.vectors import VectorIndex
from local_rag.text.near_duplicates import Distinct
from local_rag.text.urls import is_page

if TYPE_CHECKING:
    from langchain_core.documents import Document

    from local_rag.core.protocols import Embedder, Vectors
    from local_rag.index.store.schema import IndexSettings, Passage
    from local_rag.index.store.store import Store

Mode = Literal["hybrid", "dense", "words"]

SPARSE = 0.5
"""What BM25 as a share of the highest possible counts for, the cosine counting 1. Cranfield, SciFact and questions
about PEPs would take more (.6 to 1), FinanceBench less (.2 to .4); docs/measurements.md has the figures."""

NAMED, FRONT = 1.0, 2.0
"""What is added to the score of a passage of a document that the query names for certain, and of one that says what
that document is, where that is asked."""

_DEEP, _DEEP_ENOUGH = 50, 400
"""How many candidates of each kind are scored at least, four times k if that is more; and how many, after which
near-duplicates are taken rather than others looked for."""

_READ = 100
"""Passages whose texts are read at once."""

LEAST_SHARE = 0.02
"""Share of the passages that a filter leaves, from which more candidates than for this are not looked at."""

_FEW = 20_000
"""Chunks of a filter whose ids FTS5 is given; of more of them the ranking of all chunks holds enough."""


@dataclass(frozen=True)
class Request:
    """What is searched for: the k best passages for a query, with its unit vector (d,).

    `exclude` are keys of passages. Identical texts come once, from the place that ranks first, and near-duplicates of
    better passages only where there are too few others, unless `repeats`.
    """

    query: str
    vector: Vectors
    k: int
    wanted: Narrowing = field(default_factory=Narrowing)
    exclude: Collection[str] = ()
    mode: Mode = "hybrid"
    repeats: bool = False


class Found(NamedTuple):
    """A passage with its scores: `cosine` is None where it has no vector yet, and `header` is what would be
    embedded.
    """

    passage: Passage
    score: float
    cosine: float | None
    share: float | None
    said: str
    header: str


@dataclass
class Scores:
    """Chunks with their scores; `shares` are BM25 as a share of the highest possible, `said` the words that name a
    chunk's document. `complete`: the index has no other candidates.
    """

    scores: dict[int, float]
    cosines: dict[int, float]
    shares: dict[int, float]
    said: dict[int, str] = field(default_factory=dict)
    complete: bool = True

    @property
    def ranked(self) -> list[int]:
        """The chunks, best first."""
        return sorted(self.scores, key=lambda chunk: (-self.scores[chunk], chunk))

    def add(self, others: Scores) -> None:
        """Take the scores of others over."""
        self.scores |= others.scores
        self.shares |= others.shares


class Searcher:
    """The search of one index. Any thread may ask."""

    def __init__(self, store: Store, settings: IndexSettings, embedder: Embedder) -> None:
        self._store, self._settings, self._embedder = store, settings, embedder
        self._frequencies, self._filters = Frequencies(), Filters()

    def search(self, request: Request) -> list[Document]:
        """The best passages, best first. Raises UsageError if the filter leaves nothing."""
        cancel.check()
        found = self._store.search(self._found, request)
        cosines = {one.passage.id: one.cosine for one in found} | self._embedded(found, request.vector)
        return [
            document(one.passage, named=one.said, score=cosines[one.passage.id], sparse=one.share, rank_score=one.score)
            for one in found
        ]

    def _found(self, db: Connection, meta: dict[str, str], index: VectorIndex, request: Request) -> list[Found]:
        check_settings(db, self._store.folder, self._settings)
        if reads.is_empty(db):
            return []
        selection = self._filters.selection(db, meta["generation"], self._store.folder, request.wanted)
        return _Snapshot(db, meta["generation"], index, request, selection, self._frequencies, self._embedder).found()

    def _embedded(self, found: Sequence[Found], vector: Vectors) -> dict[int, float]:
        """The cosines of those that are not embedded yet: a search embeds what it brings."""
        waiting = [one for one in found if one.cosine is None]
        if not waiting:
            return {}
        texts = self._embedder.embed_documents([one.passage.text for one in waiting])
        headers = self._embedder.embed_documents([one.header for one in waiting])
        headers[[row for row, one in enumerate(waiting) if not one.header]] = 0
        products = vectors.with_headers(texts, headers) @ vector
        return {one.passage.id: float(product) for one, product in zip(waiting, products, strict=True)}


@dataclass(frozen=True)
class _Snapshot:
    """One search in one snapshot of an index."""

    db: Connection
    generation: str
    index: VectorIndex
    request: Request
    selection: Selection | None
    frequencies: Frequencies
    embedder: Embedder

    def found(self) -> list[Found]:
        request, words = self.request, self._words(self.request.query)
        preferred = self._preferred(named_documents(self.db, request.query), words)
        deep, wanted = max(_DEEP, 4 * request.k), ExactWords.of(request.wanted)
        while True:
            scored = self._scored(words, request.vector, deep)
            scored.add(preferred)
            taken, distinct = self._taken(scored.ranked, wanted)
            enough = len(taken) == request.k and (distinct or deep >= _DEEP_ENOUGH)
            if enough or scored.complete or deep > vectors.DEEPEST:
                break
            deep *= 4
        lacking = [passage.id for passage in taken if passage.id not in scored.cosines]
        cosines = scored.cosines | dict(vectors.exact(self.db, request.vector, lacking))
        headers = reads.headers(self.db, [chunk for chunk in lacking if chunk not in cosines])
        return [
            Found(
                passage,
                scored.scores[passage.id],
                cosines.get(passage.id),
                scored.shares.get(passage.id),
                preferred.said.get(passage.id, ""),
                headers.get(passage.id, ""),
            )
            for passage in taken
        ]

    # --- candidates

    @cached_property
    def _left_out(self) -> Collection[int]:
        exclude = self.request.exclude
        return set(reads.chunks_by_key(self.db, exclude).values()) if exclude else set()

    def _words(self, query: str) -> Words | None:
        return None if self.request.mode == "dense" else Words(self.db, self.frequencies, self.generation, query)

    def _kept(self, chunks: Sequence[int]) -> list[int]:
        """Those of these chunks that are wanted."""
        kept = [chunk for chunk in chunks if chunk not in self._left_out]
        return self.selection.kept(self.db, kept) if self.selection else kept

    def _scored(self, words: Words | None, vector: Vectors, deep: int) -> Scores:
        """The `deep` nearest chunks and those that BM25 ranks first, as far as the mode wants them, with one score."""
        nearest: list[tuple[int, float]] = []
        exhausted = no_more = True
        if self.request.mode != "words":
            among = self.selection.ids if self.selection else None
            nearest, exhausted = vectors.nearest(self.db, self.index, vector, deep, among, self._kept)
        sparse: Ranking = []
        if words:
            sparse, no_more = self._matching(words, deep)
        scored = self._combined(dict(nearest), sparse, words, vector)
        scored.complete = exhausted and no_more
        return scored

    def _matching(self, words: Words, deep: int) -> tuple[Ranking, bool]:
        """The `deep` chunks that BM25 ranks first of those that are wanted, and whether there are no others."""
        selection = self.selection
        if selection is not None and selection.ids is not None and len(selection.ids) <= _FEW:
            ranking = words.among(self._kept(selection.ids.tolist()), deep)
            return ranking, len(ranking) < deep
        share = selection.share if selection else 1.0
        limit = len(self._left_out) + int(deep * (1.5 / max(share, LEAST_SHARE) if selection else 1))
        ranking = words.best(limit)
        kept = set(self._kept([chunk for chunk, _ in ranking]))
        return [match for match in ranking if match[0] in kept][:deep], len(ranking) < limit

    def _combined(self, cosines: dict[int, float], sparse: Ranking, words: Words | None, vector: Vectors) -> Scores:
        shares = {chunk: -score / words.highest for chunk, score in sparse} if words else {}
        if self.request.mode == "words":
            return Scores(dict(shares), {}, shares)
        cosines |= dict(vectors.exact(self.db, vector, [chunk for chunk in shares if chunk not in cosines]))
        unembedded = [chunk for chunk in shares if chunk not in cosines]
        return Scores(combined(cosines, shares, unembedded), cosines, shares)

    # --- documents that the query names

    def _preferred(self, naming: Naming, words: Words | None) -> Scores:
        """The passages of documents that the query names. They come first, and nothing is left out: a document that was
        recognised wrongly must not hide the answer.

        What a document says of something is looked for by the words for that alone.
        """
        form, vector, preferred = naming.form, self.request.vector, Scores({}, {}, {})
        if form is not None and form.topic:
            words, vector = self._words(form.topic), self.embedder.embed_queries([form.topic])[0]
        each: list[list[tuple[int, float]]] = []
        for named in naming.documents:
            opening = named.chunks(self.db)
            inside = self._inside([chunk for chunk, _ in opening], words, vector)
            scores = {chunk: score + NAMED * named.sure for chunk, score in inside.scores.items()}
            if form is not None and form.asks != "topic":
                first = [chunk for chunk in front(opening, form.asks == "content") if chunk in scores]
                scores |= {chunk: FRONT * named.sure + NAMED - place / 100 for place, chunk in enumerate(first)}
            each.append(sorted(scores.items(), key=lambda item: (-item[1], item[0])))
            preferred.add(inside)
            preferred.said |= dict.fromkeys(scores, named.said)
        for row in zip_longest(*each):  # of several documents the best of each, then the second of each
            best = max(item[1] for item in row if item)
            preferred.scores |= {item[0]: best for item in row if item}
        return preferred

    def _inside(self, chunks: Sequence[int], words: Words | None, vector: Vectors) -> Scores:
        """The chunks of a document with their scores."""
        chunks = self._kept(chunks)
        if not chunks:
            return Scores({}, {}, {})
        cosines = dict(vectors.exact(self.db, vector, chunks)) if self.request.mode != "words" else {}
        sparse = words.within(chunks[0], chunks[-1], len(chunks)) if words else []
        own = set(chunks)
        scored = self._combined(cosines, [match for match in sparse if match[0] in own], words, vector)
        scored.scores = dict.fromkeys(chunks, 0.0) | scored.scores
        return scored

    # --- passages

    def _taken(self, ranked: Sequence[int], wanted: ExactWords | None) -> tuple[list[Passage], bool]:
        """The first k passages that hold what is wanted, with different texts, and whether there was no need of
        near-duplicates of better ones: where the others are fewer than k, the first of these come after them.
        """
        k, repeats = self.request.k, self.request.repeats
        taken: list[Passage] = []
        spare: list[Passage] = []
        distinct, seen = Distinct(), set[str]()
        for first in range(0, len(ranked), _READ):
            for passage in reads.passages(self.db, ranked[first : first + _READ]):
                text = passage.key if repeats else " ".join(passage.text.split())
                if text in seen or not (wanted is None or wanted.are_in(passage)):
                    continue
                seen.add(text)
                (taken if repeats or distinct.takes(passage.text) else spare).append(passage)
                if len(taken) == k:
                    return taken, True
        return [*taken, *spare][:k], False


def combined(
    cosines: Mapping[int, float], shares: Mapping[int, float], unembedded: Collection[int]
) -> dict[int, float]:
    """The score of each passage: its cosine plus SPARSE times its `shares`, BM25 as a share of the highest possible.

    A convex combination in the sense of Bruch, Gai and Ingber, An Analysis of Fusion Functions for Hybrid Retrieval,
    TOIS 42, 2023, section 4; BM25 is not divided by the best of the query but by its limit, so that a long question
    whose words no passage has together leaves the order to the vectors. A passage that is not embedded yet counts with
    the mean cosine of those that were found by words, and is neither punished nor preferred. Where none of them is
    embedded nothing says how near such passages are: the best by words counts as the nearest of all, the others less in
    proportion to their shares, so that neither kind buries the other.
    """
    known = [cosines[chunk] for chunk in shares if chunk in cosines]
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

    metadata: dict[str, Any] = {
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
    if len(passage.sections) > 1:
        metadata["sections"] = [list(section) for section in passage.sections]
    return Document(passage.text, metadata=metadata)
