"""How good a ranking is: recall, precision, reciprocal rank, nDCG and average precision, as trec_eval has them.

Everywhere `units` are the names of what was found, best first and each once; `gains` has the gain of everything that
is relevant, found or not, and what is not in it, or has no gain above 0, is irrelevant. All are in [0, 1], and raise
ValueError where nothing is relevant: then there is nothing to measure, and 0 would be a lie. Means over cases of
`reciprocal_rank` and `average_precision` are known as MRR and MAP.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log2


def recall(units: Sequence[str], gains: Mapping[str, float], k: int) -> float:
    """Share of all that is relevant that stands among the first k (trec_eval: recall_k)."""
    relevant = _relevant(gains)
    return len(relevant.intersection(units[:k])) / len(relevant)


def precision(units: Sequence[str], gains: Mapping[str, float], k: int) -> float:
    """Share of the first k places with something relevant on them; an empty place counts (trec_eval: P_k)."""
    return len(_relevant(gains).intersection(units[:k])) / k


def reciprocal_rank(units: Sequence[str], gains: Mapping[str, float]) -> float:
    """1 / rank of the first relevant thing, 0 if none was found (Voorhees, TREC-8 question answering track, 1999)."""
    relevant = _relevant(gains)
    return next((1 / rank for rank, unit in enumerate(units, start=1) if unit in relevant), 0.0)


def ndcg(units: Sequence[str], gains: Mapping[str, float], k: int = 10) -> float:
    """Discounted gain of the first k, as a share of what the best order of all that is relevant would have.

    Järvelin and Kekäläinen, Cumulated gain-based evaluation of IR techniques, TOIS 2002; with trec_eval's form of the
    discount (ndcg_cut_k): gain / log2(rank + 1), the gain itself and not 2^gain - 1.
    """
    relevant = _relevant(gains)
    ranked = [gains[unit] if unit in relevant else 0.0 for unit in units[:k]]
    ideal = sorted((gains[unit] for unit in relevant), reverse=True)[:k]
    return _discounted(ranked) / _discounted(ideal)


def average_precision(units: Sequence[str], gains: Mapping[str, float]) -> float:
    """Mean of the precision at the rank of each relevant thing, 0 for those not found (trec_eval: map).

    Buckley and Voorhees, Evaluating evaluation measure stability, SIGIR 2000. It divides by all that is relevant.
    """
    relevant = _relevant(gains)
    ranks = [rank for rank, unit in enumerate(units, start=1) if unit in relevant]
    return sum(seen / rank for seen, rank in enumerate(ranks, start=1)) / len(relevant)


def _discounted(gains: Sequence[float]) -> float:
    return sum(gain / log2(rank + 1) for rank, gain in enumerate(gains, start=1))


def _relevant(gains: Mapping[str, float]) -> set[str]:
    relevant = {unit for unit, gain in gains.items() if gain > 0}
    if not relevant:
        raise ValueError("expected something relevant to look for, found no gain above 0")
    return relevant
