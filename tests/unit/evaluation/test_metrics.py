"""Test exact match, token F1 and containment by the rules of SQuAD's script, and rankings against trec_eval."""

import random

import ir_measures
import pytest
from ir_measures import RR, Qrel, R, ScoredDoc, nDCG

from local_rag.evaluation.metrics import (
    containment,
    exact_match,
    ndcg,
    normalized,
    recall,
    reciprocal_rank,
    token_f1,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The Cat", "cat"),
        ("a cat, an owl and the dog!", "cat owl and dog"),
        ("  two \t words\n", "two words"),
        ("Don't", "dont"),
        ("well-known", "wellknown"),
        ("$1,200.50", "120050"),
        ("U.S.A.", "usa"),
        ("A.", ""),  # "a" is an article once the full stop has gone
        ("The The", ""),
        ("theatre of another", "theatre of another"),
        ("the-cat", "thecat"),  # punctuation goes before articles do
        ("l’été – à Zürich", "l’été – à zürich"),  # only ASCII punctuation is taken out
        ("don’t the’s", "don’t ’s"),  # a typographic apostrophe ends a word
        ("café\u00a0noir", "café noir"),
        ("ÀÉ", "àé"),
        ("à la an", "à la"),
        ("", ""),
    ],
)
def test_text_is_normalised_as_by_the_script_of_squad(text, expected):
    assert normalized(text) == expected


@pytest.mark.parametrize(
    ("text", "answers", "em", "f1", "held"),
    [
        ("The Eiffel Tower.", ["eiffel tower"], 1, 1, 1),
        ("It is the Eiffel Tower.", ["Eiffel Tower"], 0, 2 * 2 / (4 + 2), 1),
        ("the tower of Eiffel", ["Eiffel Tower"], 0, 2 * 2 / (3 + 2), 0),  # a bag of words has no order, a run has
        ("in 1920", ["9", "192"], 0, 0, 0),  # whole words only
        ("42", ["41", "42", "43"], 1, 1, 1),  # the best answer counts
        ("red red blue", ["red blue blue"], 0, 2 * 2 / 6, 0),  # words count as often as they stand in both
        ("green", ["red"], 0, 0, 0),
        ("", ["red"], 0, 0, 0),
        ("the", ["red"], 0, 0, 0),
        ("red", ["The", "red"], 1, 1, 1),  # an answer of which nothing is left is left out
        ("red", ["the"], 0, 0, 0),  # …unless it is the only one: then nothing matches but nothing
        ("an", ["The", "?"], 1, 1, 1),
        ("x, y", ["x y"], 1, 1, 1),
        ("new york city", ["york"], 0, 2 * 1 / (3 + 1), 1),
        ("it costs £168", ["168"], 0, 0, 1),  # a currency counts as the script's $ does
    ],
)
def test_worked_examples_get_their_figures(text, answers, em, f1, held):
    assert exact_match(text, answers) == em
    assert token_f1(text, answers) == pytest.approx(f1)
    assert containment(text, answers) == held


def test_without_reference_answers_there_is_no_figure():
    for figure in (exact_match, token_f1, containment):
        with pytest.raises(ValueError, match="at least one reference answer"):
            figure("text", [])


# --- rankings

CUTS = (1, 3, 5, 10, 20, 100)


def trec_eval(rankings):
    """Return trec_eval's values by (query, measure).

    `rankings` maps a query to (units, gains); a gain of 0 means judged irrelevant.
    """
    qrels = [Qrel(query, unit, gain) for query, (_, gains) in rankings.items() for unit, gain in gains.items()]
    run = [
        ScoredDoc(query, unit, float(-rank))
        for query, (units, _) in rankings.items()
        for rank, unit in enumerate(units)
    ]
    measures = [nDCG @ 10, nDCG @ 3, RR, *(R @ k for k in CUTS)]
    return {(one.query_id, str(one.measure)): one.value for one in ir_measures.iter_calc(measures, qrels, run)}


def random_ranking(draw):
    """Draw a ranking of any length with graded gains, many or few relevant units, and some judged irrelevant."""
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
        }
        found |= {f"R@{k}": recall(units, gains, k) for k in CUTS}
        for name, value in found.items():
            assert value == pytest.approx(expected[query, name], abs=1e-9), (query, name)


@pytest.mark.parametrize("gains", [{}, {"a": 0.0}])
def test_without_anything_relevant_there_is_no_figure(gains):
    for figure in (reciprocal_rank, ndcg):
        with pytest.raises(ValueError, match="expected something relevant"):
            figure(["a"], gains)
    with pytest.raises(ValueError, match="expected something relevant"):
        recall(["a"], gains, 5)
