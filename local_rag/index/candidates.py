"""The passages of an index that come into question for a query, with one score each."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from local_rag.index.fusion import combined
from local_rag.index.store.bm25 import terms_of

if TYPE_CHECKING:
    from local_rag.core.protocols import Vectors
    from local_rag.index.store.selection import Selection
    from local_rag.index.store.store import Store

Mode = Literal["hybrid", "dense", "words"]


@dataclass(frozen=True, slots=True)
class Candidates:
    """`scores` by chunk; `complete`: the index has no others. Scores of several indexes can be compared.

    `shares` are what of them comes from words: BM25 as a share of the highest possible.
    """

    scores: Mapping[int, float]
    complete: bool
    shares: Mapping[int, float]

    @property
    def ranked(self) -> list[int]:
        """The chunks, best first."""
        return sorted(self.scores, key=lambda chunk: (-self.scores[chunk], chunk))


def candidates(
    store: Store,
    query: str,
    vector: Vectors,
    deep: int,
    mode: Mode,
    chosen: Selection | None,
    exclude: Collection[int],
) -> Candidates:
    """The `deep` nearest chunks and those that BM25 ranks first, as far as `mode` wants them.

    `vector` (d,) is the query as a unit vector. The score is the cosine, BM25 as a share of the highest possible, or
    both `combined`.
    """
    terms = terms_of(query) if mode != "dense" else []
    dense = store.nearest(vector, deep, chosen, exclude) if mode != "words" else []
    sparse = store.matching(terms, deep, chosen, exclude) if terms else []
    complete = len(dense) < deep and len(sparse) < deep
    highest = (store.highest(terms) if sparse else 0.0) or 1.0
    shares = {chunk: -score / highest for chunk, score in sparse}
    if mode == "words":
        return Candidates(shares, complete, shares)
    cosines = dict(dense)
    lacking = [chunk for chunk in shares if chunk not in cosines]
    cosines |= store.cosines(vector, lacking) if lacking else {}
    unembedded = [chunk for chunk in lacking if chunk not in cosines]
    return Candidates(combined(cosines, shares, unembedded), complete, shares)
