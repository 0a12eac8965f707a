"""The figures of a ranking, against trec_eval (through ir-measures) and by hand."""

from __future__ import annotations

import random
from math import log2

import ir_measures
import pytest
from ir_measures import AP, RR, P, Qrel, R, ScoredDoc, nDCG

from local_rag.evaluation.ranking_metrics import average_precision, ndcg, precision, recall, reciprocal_rank

CUTS = (1, 3, 5, 10, 20, 100)


def trec_eval(rankings):
    """(query, measure) -> value, of {query: (units, gains)}; gains of 0 are judged irrelevant."""
    qrels = [Qrel(query, unit, gain) for query, (_, gains) in rankings.items() for unit, gain in gains.items()]
    run = [
        ScoredDoc(query, unit, float(-rank))
        for query, (units, _) in rankings.items()
        for rank, unit in enumerate(units)
    ]
    measures = [nDCG @ 10, nDCG @ 3, RR, AP, *(P @ k for k in CUTS), *(R @ k for k in CUTS)]
    return {(one.query_id, str(one.measure)): one.value for one in ir_measures.iter_calc(measures, qrels, run)}


def random_ranking(draw):
    """Any length, from nothing found to everything; graded gains; many or few relevant; some judged irrelevant."""
    pool = [f"unit {number}" for number in range(draw.choice((5, 12, 40, 150)))]
    relevant = draw.sample(pool, draw.randint(1, min(len(pool), 30)))
    gains = {unit: draw.choice((1, 1, 2, 3)) for unit in relevant}
    gains |= {unit: 0 for unit in draw.sample(pool, 3) if unit not in gains}
    return draw.sample(pool, draw.randint(0, len(pool))), gains


def test_all_agree_with_trec_eval_on_random_rankings():
    draw = random.Random(7)
    rankings = {f"query {number}": random_ranking(draw) for number in range(400)}
    expected = trec_eval(rankings)
    assert any(not units for units, _ in rankings.values())
    for query, (units, gains) in rankings.items():
        found = {
            "nDCG@10": ndcg(units, gains),
            "nDCG@3": ndcg(units, gains, 3),
            "RR": reciprocal_rank(units, gains),
            "AP": average_precision(units, gains),
        }
        found |= {f"P@{k}": precision(units, gains, k) for k in CUTS}
        found |= {f"R@{k}": recall(units, gains, k) for k in CUTS}
        for name, value in found.items():
            assert value == pytest.approx(expected[query, name], abs=1e-9), (query, name)


def test_by_hand():
    units, gains = ["x", "b", "y", "a"], {"a": 3.0, "b": 1.0, "c": 1.0}
    assert recall(units, gains, 2) == 1 / 3
    assert precision(units, gains, 5) == 2 / 5
    assert reciprocal_rank(units, gains) == 1 / 2
    assert average_precision(units, gains) == pytest.approx((1 / 2 + 2 / 4) / 3)
    best = 3 + 1 / log2(3) + 1 / log2(4)
    assert ndcg(units, gains) == pytest.approx((1 / log2(3) + 3 / log2(5)) / best)


def test_gains_may_be_fractions_and_the_best_order_is_1():
    assert ndcg(["a", "b"], {"b": 0.5, "a": 0.75}) == 1


@pytest.mark.parametrize("gains", [{}, {"a": 0.0}])
def test_without_anything_relevant_there_is_no_figure(gains):
    for figure in (reciprocal_rank, average_precision, ndcg):
        with pytest.raises(ValueError, match="expected something relevant"):
            figure(["a"], gains)
    for figure in (recall, precision):
        with pytest.raises(ValueError, match="expected something relevant"):
            figure(["a"], gains, 5)
