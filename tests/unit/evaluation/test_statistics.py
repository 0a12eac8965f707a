"""Test intervals and p-values against numpy, worked examples of the sources, and scipy's figures for them."""

import random
from itertools import product

import numpy as np
import pytest

from local_rag.evaluation.statistics import (
    bootstrap_interval,
    holm,
    mcnemar,
    mean,
    percentile,
    sign_flip,
)


def test_mean_and_percentile_are_numpys_and_nothing_has_none():
    draw = random.Random(1)
    for size in (1, 2, 3, 10, 101):
        values = [draw.uniform(-5, 100) for _ in range(size)]
        assert mean(values) == pytest.approx(np.mean(values))
        for share in (0, 0.05, 0.5, 0.95, 1):
            assert percentile(values, share) == pytest.approx(np.quantile(values, share))
    assert percentile([], 0.5) is None
    assert mean([]) is None


def test_the_bootstrap_interval_of_two_values_is_known_exactly():
    assert bootstrap_interval([0, 1], seed=0) == (0, 1)  # means 0, 1/2 and 1, with a quarter at either end


def test_the_bootstrap_draws_the_same_for_the_same_seed_and_widens_with_the_level():
    values = [0.1, -0.3, 0.7, 0.2, 0.0, 0.4]
    assert bootstrap_interval(values, seed=1) == bootstrap_interval(values, seed=1)
    narrow, wide = (bootstrap_interval(values, seed=1, level=level) for level in (0.8, 0.99))
    assert wide[0] < narrow[0] < narrow[1] < wide[1]


def test_an_interval_needs_two_values_and_is_a_point_for_equal_ones():
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


@pytest.mark.parametrize(
    ("only_a", "only_b", "p"),
    [(0, 0, 1), (1, 1, 1), (3, 7, 352 / 1024), (0, 7, 2 / 2**7), (30, 7, 1.9108e-4), (490, 510, 0.5479727)],
)  # scipy.stats.binomtest
def test_mcnemar_is_the_exact_binomial_test(only_a, only_b, p):
    assert mcnemar(only_a, only_b) == mcnemar(only_b, only_a) == pytest.approx(p, rel=1e-3)


def test_sign_flip_is_exact_for_few_and_ignores_what_does_not_differ():
    assert sign_flip([1, 1, 1], seed=0) == 2 / 8
    # the sum is 5 or more with all signs alike, or with one of the two ones turned; and the mirrors of these
    assert sign_flip([1, 2, 3, -1, 0, 0], seed=0) == 6 / 16
    assert sign_flip([0, 0], seed=0) == sign_flip([], seed=0) == 1
    values = [0.3, -0.1, 0.25, 0.4, 0.05, -0.02, 0.3, 0.11]
    every = [abs(sum(sign * value for sign, value in zip(signs, values, strict=True))) for signs in
             product((-1, 1), repeat=8)]  # fmt: skip
    assert sign_flip(values, seed=0) == sum(each >= sum(values) - 1e-9 for each in every) / 256


def test_sign_flip_on_many_is_near_mcnemar():
    assert sign_flip([1] * 30 + [-1] * 18, seed=0) == pytest.approx(mcnemar(30, 18), abs=0.01)
    assert 0 < sign_flip([1] * 60, seed=0) <= 2 / 10_001


def test_holm_against_a_worked_example():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.6, 0.5]) == [1.0, 1.0]
    assert holm([]) == []
