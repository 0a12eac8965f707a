"""What several indexes bring for one query, in one ranking.

Cosines of one embedder are comparable, BM25 of different indexes is not: what a word is worth depends on how many
passages hold it. So BM25 is computed for what the indexes bring with the frequencies of all of them together, and the
passages are ranked by the same combined score as within one index. The fused score of a passage in its own index is
then multiplied by what its rank among all is worth beside its rank in its own index: whatever else a search prefers
keeps its weight.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from local_rag.index.candidates import Mode
from local_rag.index.fusion import RRF, combined
from local_rag.text.words import content_stems, stem, words

if TYPE_CHECKING:
    from langchain_core.documents import Document

K1, B = 1.2, 0.75
"""The constants of BM25 as FTS5 has them (https://sqlite.org/fts5.html#the_bm25_function)."""

LEAST_IDF = 1e-6
"""The idf that FTS5 gives a term of more than half of the rows."""


def ranked(
    brought: Sequence[Sequence[Document]], query: str, mode: Mode, frequencies: Mapping[str, int], passages: int
) -> list[tuple[Document, float]]:
    """The passages of all indexes with their scores, best first; `brought` has those of each, best first.

    `frequencies` say in how many of all `passages` a term of the query occurs.
    """
    every = [document for documents in brought for document in documents]
    cosines = {key: float(score) for key, score in map(_cosine, every) if score is not None}
    scores = {_key(document): cosines.get(_key(document), 0.0) for document in every}
    if mode != "dense":
        shares = _shares(every, query, frequencies, passages)
        matching = {key: share for key, share in shares.items() if share}
        unembedded = [key for key in scores if key not in cosines]
        scores = shares if mode == "words" else combined(cosines, matching, unembedded)
    joint = _worth(every, scores)
    scored: list[tuple[Document, float]] = []
    for documents in brought:
        own = _worth(documents, scores)
        for document in documents:
            key = _key(document)
            scored.append((document, float(document.metadata["rank_score"]) * joint[key] / own[key]))
    return sorted(scored, key=lambda scored: (-scored[1], -scores[_key(scored[0])]))


def _worth(documents: Sequence[Document], scores: Mapping[str, float]) -> dict[str, float]:
    """What the rank of each passage among these is worth in reciprocal rank fusion."""
    in_order = sorted(map(_key, documents), key=lambda key: -scores[key])
    return {key: 1 / (RRF + rank) for rank, key in enumerate(in_order, start=1)}


def _shares(
    documents: Sequence[Document], query: str, frequencies: Mapping[str, int], passages: int
) -> dict[str, float]:
    """BM25 for each passage (Robertson and Zaragoza 2009, section 3.5) as a share of the highest possible."""
    terms = content_stems(query)
    idf = {
        term: max(LEAST_IDF, math.log((passages - count + 0.5) / (count + 0.5)))
        for term in terms
        if (count := frequencies.get(term, 0))
    }
    texts = {_key(document): Counter(map(stem, words(_text(document)))) for document in documents}
    lengths = {key: counts.total() for key, counts in texts.items()}
    usual = sum(lengths.values()) / max(1, len(lengths)) or 1.0
    highest = sum(idf.values()) or 1.0
    shares = {}
    for key, counts in texts.items():
        norm = K1 * (1 - B + B * lengths[key] / usual)
        bm25 = sum(weight * counts[term] / (counts[term] + norm) for term, weight in idf.items() if counts[term])
        shares[key] = bm25 / highest
    return shares


def _text(document: Document) -> str:
    metadata = document.metadata
    return f"{metadata.get('title', '')} {metadata.get('heading', '')} {document.page_content}"


def _key(document: Document) -> str:
    return str(document.metadata["chunk_id"])


def _cosine(document: Document) -> tuple[str, float | None]:
    return _key(document), document.metadata["score"]
