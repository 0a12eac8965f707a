"""How sure a figure is: means and percentiles, intervals, tests of paired differences, and agreement."""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum

RESAMPLES = 10_000
"""Enough that the second digit of a 95 % limit and of a p-value stands still."""

_AT_ONCE = 2_000_000
"""Values that are drawn at a time, to bound the memory: 16 MB of them."""


def mean(values: Sequence[float]) -> float | None:
    """The mean; None of nothing."""
    return fsum(values) / len(values) if values else None


def percentile(values: Sequence[float], share: float) -> float | None:
    """The value below which this share of the values lies, .5 being the median; None of nothing.

    Between two values it is interpolated: type 7 of Hyndman and Fan, Sample quantiles, The American Statistician 1996.
    """
    import numpy as np

    return float(np.quantile(values, share)) if values else None


def bootstrap_interval(
    differences: Sequence[float], seed: int, level: float = 0.95, resamples: int = RESAMPLES
) -> tuple[float, float] | None:
    """Where the mean of paired differences lies, by drawing as many of them anew, with replacement, many times.

    The percentile interval: Efron and Tibshirani, An introduction to the bootstrap, 1993, chapter 13. A single point
    where all differences are equal; None below two of them, which say nothing of how they vary.
    """
    import numpy as np
    from scipy.stats import bootstrap

    if len(differences) < 2:
        return None
    values = np.asarray(differences, dtype=float)
    if np.ptp(values) == 0:
        return float(values[0]), float(values[0])
    result = bootstrap(
        (values,),
        np.mean,
        n_resamples=resamples,
        batch=max(1, _AT_ONCE // len(values)),
        vectorized=True,
        confidence_level=level,
        method="percentile",
        rng=np.random.default_rng(seed),
    )
    low, high = result.confidence_interval
    return float(low), float(high)


def balanced_interval(
    groups: Sequence[Sequence[float]], seed: int, level: float = 0.95, resamples: int = RESAMPLES
) -> tuple[float, float] | None:
    """Where the mean of the groups' means lies, such as a balanced accuracy; each group is drawn anew for itself.

    The percentile interval of a stratified bootstrap (Davison and Hinkley, Bootstrap methods and their application,
    1997, section 3.2). None where a group has fewer than two values.
    """
    import numpy as np

    if min(map(len, groups), default=0) < 2:
        return None
    draw = np.random.default_rng(seed)
    drawn = np.zeros(resamples)
    for group in groups:
        values = np.asarray(group, dtype=float)
        step = max(1, _AT_ONCE // len(values))
        for first in range(0, resamples, step):
            part = drawn[first : first + step]
            part += values[draw.integers(0, len(values), (len(part), len(values)))].mean(axis=1) / len(groups)
    low, high = np.quantile(drawn, ((1 - level) / 2, (1 + level) / 2))
    return float(low), float(high)


def sign_flip(differences: Sequence[float], seed: int, resamples: int = RESAMPLES) -> float:
    """Two-sided p-value of a mean of paired differences, if each might as well have had the other sign.

    Fisher's randomisation test, which Smucker, Allan and Carterette, CIKM 2007, recommend for comparing rankings. Exact
    where few differ; else over drawn signs, counting the observed ones as one more draw.
    """
    import numpy as np
    from scipy.stats import permutation_test

    values = np.asarray([difference for difference in differences if difference], dtype=float)
    if len(values) < 2:
        return 1.0
    result = permutation_test(
        (values,),
        np.mean,
        permutation_type="samples",
        vectorized=True,
        n_resamples=resamples,
        batch=max(1, _AT_ONCE // len(values)),
        rng=np.random.default_rng(seed),
    )
    return float(result.pvalue)


def mcnemar(only_a: int, only_b: int) -> float:
    """Two-sided p-value of two counts: the cases that only A got right, and those that only B did.

    McNemar, Note on the sampling error of the difference between correlated proportions, Psychometrika 1947, in its
    exact form: if A and B were equally good, each of these cases would be a coin's toss.
    """
    from scipy.stats import binomtest

    return float(binomtest(only_a, only_a + only_b).pvalue) if only_a + only_b else 1.0


def holm(p_values: Sequence[float]) -> list[float]:
    """The p-values made larger for their number, in the same order.

    Holm, A simple sequentially rejective multiple test procedure, Scandinavian Journal of Statistics 1979: with all
    those below .05 called differences, the chance that one or more of them is none stays below .05.
    """
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    for done, position in enumerate(sorted(range(len(p_values)), key=lambda index: p_values[index])):
        largest = max(largest, min(1.0, (len(p_values) - done) * p_values[position]))
        adjusted[position] = largest
    return adjusted


def kappa(pairs: Sequence[tuple[object, object]]) -> float | None:
    """Agreement of two judges beyond what chance would bring: 1 is complete, 0 what chance brings.

    Cohen, A coefficient of agreement for nominal scales, Educational and Psychological Measurement 1960. None where it
    is not defined: no pairs, or both gave everything the same one label.
    """
    if not pairs:
        return None
    total = len(pairs)
    observed = sum(first == second for first, second in pairs) / total
    labels = {label for pair in pairs for label in pair}
    by_chance = sum(
        sum(first == label for first, _ in pairs) * sum(second == label for _, second in pairs) for label in labels
    ) / (total * total)
    return (observed - by_chance) / (1 - by_chance) if len(labels) > 1 else None
