"""Whether scores are probabilities: bins of scores with the share that was right, and the error over all of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import fsum
from typing import Any

from local_rag.evaluation.statistics import mean

BINS = 10
"""Bins of scores, equally wide in [0, 1] (Guo et al., On calibration of modern neural networks, ICML 2017)."""


def bins_of(scored: Iterable[tuple[float, bool]]) -> list[dict[str, Any]]:
    """The bins that hold anything, of (score, label): mean score and share with the label. 1 is in the last one."""
    bins: dict[int, list[tuple[float, bool]]] = {}
    for score, label in scored:
        bins.setdefault(min(max(int(score * BINS), 0), BINS - 1), []).append((score, label))
    return [
        {
            "from": number / BINS,
            "to": (number + 1) / BINS,
            "verdicts": len(held),
            "score": mean([score for score, _ in held]),
            "relevant": mean([label for _, label in held]),
        }
        for number, held in sorted(bins.items())
    ]


def calibration_error(bins: Sequence[Mapping[str, Any]]) -> float | None:
    """Expected calibration error (ECE), in [0, 1]: how far score and share lie apart, mean over all that is scored.

    Naeini et al., Obtaining well calibrated probabilities using Bayesian binning, AAAI 2015, with equally wide bins as
    in Guo et al. 2017, equation 3. None of nothing.
    """
    total = sum(entry["verdicts"] for entry in bins)
    if not total:
        return None
    return fsum(float(entry["verdicts"] * abs(entry["score"] - entry["relevant"])) for entry in bins) / int(total)
