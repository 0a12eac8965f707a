"""Intervals, tests and agreement, against scipy, numpy and worked examples of the sources."""

from __future__ import annotations

import random
from itertools import product

import numpy as np
import pytest

from local_rag.evaluation.statistics import (
    balanced_interval,
    bootstrap_interval,
    holm,
    kappa,
    mcnemar,
    mean,
    percentile,
    sign_flip,
)


@pytest.fixture(scope="module")
def stats():
    """Imported by what runs these tests, not by each process that collects them."""
    from scipy import stats

    return stats


def test_mean_and_percentile_are_numpys_and_nothing_has_none():
    draw = random.Random(1)
    for size in (1, 2, 3, 10, 101):
        values = [draw.uniform(-5, 100) for _ in range(size)]
        assert mean(values) == pytest.approx(np.mean(values))
        for share in (0, 0.05, 0.5, 0.95, 1):
            assert percentile(values, share) == pytest.approx(np.quantile(values, share))
    assert percentile([], 0.5) is None
    assert mean([]) is None


@pytest.mark.parametrize("size", [8, 40, 700])
def test_the_bootstrap_interval_is_scipys(stats, size):
    values = np.random.default_rng(3).gamma(1.0, size=size) - 0.8
    ours = bootstrap_interval(list(values), seed=5)
    theirs = stats.bootstrap((values,), np.mean, n_resamples=10_000, method="percentile", rng=6).confidence_interval
    spread = theirs.high - theirs.low
    assert ours == pytest.approx((theirs.low, theirs.high), abs=0.05 * spread)
    assert ours[0] < values.mean() < ours[1]


def test_the_bootstrap_interval_of_two_values_is_known_exactly():
    assert bootstrap_interval([0, 1], seed=0) == (0, 1)  # means 0, 1/2 and 1, with a quarter at either end


def test_the_bootstrap_draws_the_same_for_the_same_seed_and_widens_with_the_level():
    values = [0.1, -0.3, 0.7, 0.2, 0.0, 0.4]
    assert bootstrap_interval(values, seed=1) == bootstrap_interval(values, seed=1)
    narrow, wide = (bootstrap_interval(values, seed=1, level=level) for level in (0.8, 0.99))
    assert wide[0] < narrow[0] < narrow[1] < wide[1]


def test_degenerate_differences():
    assert bootstrap_interval([], seed=0) is None
    assert bootstrap_interval([0.4], seed=0) is None
    assert bootstrap_interval([0.25] * 5, seed=0) == (0.25, 0.25)


def test_the_interval_holds_the_truth_as_often_as_it_says():
    draw = np.random.default_rng(11)
    hits = 0
    for number in range(300):
        low, high = bootstrap_interval(list(draw.normal(0.2, 1, 60)), seed=number, resamples=1000)
        hits += low <= 0.2 <= high
    assert 0.91 <= hits / 300 <= 0.98


def test_mcnemar_is_the_exact_binomial_test(stats):
    for only_a, only_b in product((0, 1, 2, 7, 30), repeat=2):
        expected = stats.binomtest(only_a, only_a + only_b).pvalue if only_a + only_b else 1.0
        assert mcnemar(only_a, only_b) == pytest.approx(expected)
    assert mcnemar(3, 7) == pytest.approx(352 / 1024)  # 2 (1 + 10 + 45 + 120) / 2^10
    assert mcnemar(4_900, 5_100) == pytest.approx(stats.binomtest(4_900, 10_000).pvalue)
    assert 0 <= mcnemar(0, 5_000) < 1e-300


def test_sign_flip_is_exact_for_few_and_ignores_what_does_not_differ(stats):
    assert sign_flip([1, 1, 1], seed=0) == 2 / 8
    # the sum is 5 or more with all signs alike, or with one of the two ones turned; and the mirrors of these
    assert sign_flip([1, 2, 3, -1, 0, 0], seed=0) == 6 / 16
    assert sign_flip([0, 0], seed=0) == sign_flip([], seed=0) == 1
    values = [0.3, -0.1, 0.25, 0.4, 0.05, -0.02, 0.3, 0.11]
    theirs = stats.permutation_test(
        (values,), np.mean, permutation_type="samples", n_resamples=np.inf, vectorized=False
    )
    assert sign_flip(values, seed=0) == pytest.approx(theirs.pvalue)


def test_sign_flip_on_many_is_near_the_t_test_and_mcnemar(stats):
    values = list(np.random.default_rng(2).normal(0.15, 1, 200))
    assert sign_flip(values, seed=0) == pytest.approx(stats.ttest_1samp(values, 0).pvalue, abs=0.01)
    assert sign_flip([1] * 30 + [-1] * 18, seed=0) == pytest.approx(mcnemar(30, 18), abs=0.01)
    assert 0 < sign_flip([1] * 60, seed=0) <= 2 / 10_001


def test_holm_against_a_worked_example():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.6, 0.5]) == [1.0, 1.0]
    assert holm([]) == []


def test_kappa_against_worked_examples():
    # 20 yes-yes, 5 yes-no, 10 no-yes, 15 no-no: observed .7, by chance .5
    pairs = [(1, 1)] * 20 + [(1, 0)] * 5 + [(0, 1)] * 10 + [(0, 0)] * 15
    assert kappa(pairs) == pytest.approx(0.4)
    assert kappa([("a", "a"), ("b", "b"), ("c", "c")]) == 1
    assert kappa([(1, 0), (0, 1)]) == -1
    assert kappa([(1, 0), (1, 0)]) == 0
    assert kappa([]) is None
    assert kappa([(1, 1), (1, 1)]) is None


def test_a_balanced_accuracy_lies_in_the_interval_of_both_its_shares():
    low, high = balanced_interval([[1.0] * 80 + [0.0] * 20, [1.0] * 30 + [0.0] * 70], 0)
    assert low == pytest.approx(0.55 - 0.059, abs=0.012) and high == pytest.approx(0.55 + 0.059, abs=0.012)
    assert balanced_interval([[1.0] * 10, [1.0] * 10], 0) == (1.0, 1.0)
    assert balanced_interval([[1.0, 0.0], [1.0]], 0) is None
