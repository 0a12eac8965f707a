"""Short answers: which of several passages' spans comes first, and where it stands in a text."""

from __future__ import annotations

import pytest

from local_rag.core.answer import Highlight
from local_rag.core.readings import Reading, ReadSpan
from local_rag.text.answer_values import highlights, place_of, ranked

PASSAGE = "In 1902 the mill burned down. A new mill, of stone, was built in 1902 by Ada Quill [3] and her sons."


def span(text, phrase, logit=5.0, after=""):
    start = text.index(phrase, text.index(after))
    return ReadSpan(start, start + len(phrase), phrase, logit)


def reading(answerable, *spans):
    return Reading(1 - answerable, 0.0, answerable, spans, answerable)


def test_passages_compare_by_their_probability_and_spans_of_one_by_their_logits():
    sure = reading(0.8, ReadSpan(0, 4, "1902", 3.0), ReadSpan(8, 12, "mill", 2.0), ReadSpan(20, 24, "1911", -9.0))
    unsure = reading(0.3, ReadSpan(0, 4, "1877", 9.0))
    order = [(answer.passage, answer.span.text) for answer in ranked([unsure, sure, reading(0.0)])]
    assert order == [(1, "1902"), (1, "mill"), (0, "1877"), (1, "1911")]


@pytest.mark.parametrize(
    ("quoted", "after", "expected"),
    [
        ("A new mill, of stone, was built in 1902 by Ada Quill and her sons. [1]", "stone", 35),
        ("It was 1902 [1]. A new mill, of stone,\nwas built in 1902 by Ada Quill and her sons. [1]", "stone", 52),
        ("In 1902 the mill burned down. [1] A new mill, of stone, was built in 1902 by Ada Quill. [2]", "In", 3),
        ("The new mill is of 1911 [1902].", "stone", None),
        ("The mill has 21902 stones.", "stone", None),
    ],
)
def test_the_words_around_tell_which_of_equal_phrases_is_meant(quoted, after, expected):
    place = place_of(span(PASSAGE, "1902", after=after), PASSAGE, quoted)
    assert (place and place.start) == expected
    assert place is None or quoted[place.start : place.end] == "1902"


def test_a_phrase_is_recognised_over_a_line_break():
    assert place_of(ReadSpan(0, 9, "Ada\nQuill", 1.0), "Ada\nQuill came.", "It was Ada Quill.") == Highlight(7, 16)


def test_the_best_short_answer_that_a_text_holds_is_the_highlight():
    readings = [reading(0.2, span(PASSAGE, "stone")), reading(0.9, span(PASSAGE, "Ada Quill"), span(PASSAGE, "1902"))]
    text = "In 1902 the mill burned down. [2]"
    assert highlights(text, [PASSAGE, PASSAGE], readings) == (Highlight(3, 7),)
    assert highlights("Nothing of it. [1]", [PASSAGE, PASSAGE], readings) == ()
    assert highlights(text, [], []) == ()


def test_a_phrase_is_recognised_without_the_numbers_in_brackets_that_a_quote_leaves_out():
    with_mark = span(PASSAGE, "Ada Quill [3] and her sons")
    assert place_of(with_mark, PASSAGE, "It was built by Ada Quill and her sons. [1]") == Highlight(16, 38)
