"""Dense and sparse scores of passages as one score; several rankings as one."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import TypeVar

T = TypeVar("T", bound=Hashable)

SPARSE = 0.5
"""What BM25 as a share of the highest possible counts for, the cosine counting 1. Cranfield, SciFact and questions
about PEPs would take more (.6 to 1), FinanceBench less (.2 to .4); docs/measurements.md has the figures."""

RRF = 60
"""The constant k of reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009, section 2)."""


def combined(cosines: Mapping[T, float], shares: Mapping[T, float], unembedded: Collection[T] = ()) -> dict[T, float]:
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
        nearest, most = (
            max(cosines.values(), default=0.0),
            max((shares.get(chunk, 0.0) for chunk in unembedded), default=0.0),
        )
        assumed = {chunk: max(0.0, nearest) * shares.get(chunk, 0.0) / (most or 1.0) for chunk in unembedded}
    dense = {**cosines, **assumed}
    return {chunk: cosine + SPARSE * shares.get(chunk, 0.0) for chunk, cosine in dense.items()}


def fuse(rankings: Sequence[Sequence[T]], weights: Sequence[float] | None = None) -> dict[T, float]:
    """Reciprocal rank fusion: the sum of weight / (60 + rank), ranks from 1; best first, ties by the first ranking.

    The weights are 1 where none are given.
    """
    scores: dict[T, float] = {}
    for ranking, weight in zip(rankings, weights or [1.0] * len(rankings), strict=True):
        for rank, chunk in enumerate(ranking, start=1):
            scores[chunk] = scores.get(chunk, 0.0) + weight / (RRF + rank)
    return dict(sorted(scores.items(), key=lambda item: -item[1]))
