"""Exact match, token F1 and containment, by the rules of SQuAD's official script worked out by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_rag.evaluation.answer_metrics import containment, exact_match, normalized, token_f1


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
def test_normalisation(text, expected):
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
    ],
)
def test_worked_examples(text, answers, em, f1, held):
    assert exact_match(text, answers) == em
    assert token_f1(text, answers) == pytest.approx(f1)
    assert containment(text, answers) == held


def test_without_reference_answers_there_is_no_figure():
    for figure in (exact_match, token_f1, containment):
        with pytest.raises(ValueError, match="at least one reference answer"):
            figure("text", [])


WORDS = st.lists(st.sampled_from("the a red blue Blue, x-y 42 ’ é 9".split()), max_size=6).map(" ".join)
TEXTS = st.one_of(WORDS, st.text(max_size=30))


@given(TEXTS, st.lists(TEXTS, min_size=1, max_size=4))
def test_figures_are_shares_and_in_order(text, answers):
    em, f1, held = exact_match(text, answers), token_f1(text, answers), containment(text, answers)
    assert em in (0, 1) and held in (0, 1) and 0 <= f1 <= 1
    assert em <= f1 and em <= held


@given(TEXTS, TEXTS)
def test_f1_is_symmetric(one, other):
    assert token_f1(one, [other]) == token_f1(other, [one])


@given(TEXTS, st.lists(TEXTS, min_size=1, max_size=3), TEXTS)
def test_another_answer_that_is_not_empty_never_makes_a_figure_worse(text, answers, more):
    if any(map(normalized, answers)):
        for figure in (exact_match, token_f1, containment):
            assert figure(text, [*answers, more]) >= figure(text, answers)


@given(TEXTS)
def test_normalising_twice_is_normalising_once(text):
    assert normalized(normalized(text)) == normalized(text)
