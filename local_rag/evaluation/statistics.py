"""Compute means, percentiles, intervals, and tests of paired differences."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import comb, fsum

RESAMPLES = 10_000
"""The number of samples, at which the second digit of a 95 % limit and of a p-value is stable."""

_AT_ONCE = 2_000_000
"""The maximum number of values to draw at a time, which bounds the memory to 16 MB."""


def mean(values: Sequence[float]) -> float | None:
    """Return the mean, or None without values."""
    return fsum(values) / len(values) if values else None


def percentile(values: Sequence[float], share: float) -> float | None:
    """Return the value below which this share of the values lies (.5: the median), or None without values.

    Between two values it is interpolated: type 7 of Hyndman and Fan, Sample quantiles, The American Statistician 1996.
    """
    import numpy as np

    return float(np.quantile(values, share)) if values else None


def bootstrap_interval(
    values: Sequence[float], seed: int, level: float = 0.95, resamples: int = RESAMPLES
) -> tuple[float, float] | None:
    """Return the interval of the mean of the values, from many samples of the same size with replacement.

    The percentile interval: Efron and Tibshirani, An introduction to the bootstrap, 1993, chapter 13. Return None for
    fewer than two values, which show no variation.
    """
    import numpy as np

    if len(values) < 2:
        return None
    drawn, draw = np.asarray(values, dtype=float), np.random.default_rng(seed)
    step = max(1, _AT_ONCE // len(drawn))
    sizes = [(min(step, resamples - first), len(drawn)) for first in range(0, resamples, step)]
    means = np.concatenate([drawn[draw.integers(0, len(drawn), size)].mean(axis=1) for size in sizes])
    low, high = np.quantile(means, ((1 - level) / 2, (1 + level) / 2))
    return float(low), float(high)


def sign_flip(differences: Sequence[float], seed: int) -> float:
    """Return the two-sided p-value of a mean of paired differences, if each could as well have the other sign.

    Fisher's randomisation test, which Smucker, Allan and Carterette, CIKM 2007, recommend for comparing rankings. It is
    exact if few differ; otherwise signs are drawn, and the observed ones count as one more draw.
    """
    import numpy as np

    values = np.asarray([difference for difference in differences if difference], dtype=float)
    if len(values) < 2:
        return 1.0
    least = abs(values.sum()) * (1 - 1e-9)
    if 2 ** len(values) <= RESAMPLES:
        signs = np.array(list(product((-1.0, 1.0), repeat=len(values))))
        return float(np.mean(np.abs(signs @ values) >= least))
    draw, step = np.random.default_rng(seed), max(1, _AT_ONCE // len(values))
    sizes = [(min(step, RESAMPLES - first), len(values)) for first in range(0, RESAMPLES, step)]
    as_large = sum(int((np.abs(draw.choice((-1.0, 1.0), size) @ values) >= least).sum()) for size in sizes)
    return (as_large + 1) / (RESAMPLES + 1)


def mcnemar(only_a: int, only_b: int) -> float:
    """Return the two-sided p-value of two counts: the cases that only A got right, and those that only B did.

    McNemar, Note on the sampling error of the difference between correlated proportions, Psychometrika 1947, in its
    exact form: if A and B are equally good, each of these cases is a toss of a coin.
    """
    tosses = only_a + only_b
    tail = sum(comb(tosses, heads) for heads in range(min(only_a, only_b) + 1))
    return float(min(1.0, 2 * tail / 2**tosses))


def holm(p_values: Sequence[float]) -> list[float]:
    """Return the p-values corrected for their number, in the same order.

    Holm, A simple sequentially rejective multiple test procedure, Scandinavian Journal of Statistics 1979: if all
    differences below .05 are reported, the probability that one or more of them is chance stays below .05.
    """
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    for done, position in enumerate(sorted(range(len(p_values)), key=lambda index: p_values[index])):
        largest = max(largest, min(1.0, (len(p_values) - done) * p_values[position]))
        adjusted[position] = largest
    return adjusted
