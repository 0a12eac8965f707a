"""The best spans among logits, against the search of all pairs."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_rag.core.readings import Calibration, ReadSpan
from local_rag.engines.evaluator import spans
from local_rag.engines.evaluator.calibration import read_calibration
from local_rag.engines.evaluator.inputs import Window

WORDS = "the lamp is lit by the keeper at dusk".split()
TEXT = " ".join(WORDS)


def window_of(words, heads=None, tails=None):
    """A window with one token per word; its text begins at the fourth token."""
    starts = np.cumsum([0, *(len(word) + 1 for word in words[:-1])])
    offsets = tuple((int(start), int(start) + len(word)) for start, word in zip(starts, words, strict=True))
    every = (True,) * len(words)
    ids = (0,) * (len(words) + 4)
    return Window(ids, ids, 3, offsets, heads or every, tails or every)


def logits_of(window, **marks):
    """-9 everywhere; `marks` are (start, end) logits of words."""
    logits = np.full((len(window.ids), 2), -9.0, dtype=np.float32)
    logits[0] = (1, 2)
    for word, values in marks.items():
        logits[window.first + WORDS.index(word)] = values
    return logits


def test_the_best_span_comes_first_and_its_logit_is_over_that_of_no_answer():
    window = window_of(WORDS)
    best, second, *_ = spans.best_spans(window, logits_of(window, keeper=(6, 7), dusk=(5, 3)), TEXT)
    assert (best.text, best.logit) == ("keeper", 10.0) and TEXT[best.start : best.end] == "keeper"
    assert (second.text, second.logit) == ("dusk", 5.0)


@pytest.mark.parametrize(
    ("between", "goes_on"), [(" ", True), ("\n", True), ("\n\n", False), ("\n \n", False), ("\n5. ", False)]
)
def test_a_span_ends_where_a_paragraph_or_a_numbered_clause_begins(between, goes_on):
    words = ["45", "per", "cent.", "Termination"]
    text = f"45 per cent.{between}Termination"
    offsets = tuple((text.index(word), text.index(word) + len(word)) for word in words)
    window = replace(window_of(words), offsets=offsets)
    logits = np.full((len(window.ids), 2), -9.0, dtype=np.float32)
    logits[3, 0], logits[5, 1], logits[6, 1] = 7, 6, 7
    best = spans.best_spans(window, logits, text)[0]
    assert best.text == (text if goes_on else "45 per cent.")


@given(st.data())
def test_it_is_what_a_search_of_all_spans_gives(data):
    count = data.draw(st.integers(1, 40))
    words = ["w" * data.draw(st.integers(1, 3)) for _ in range(count)]
    heads = tuple(data.draw(st.lists(st.booleans(), min_size=count, max_size=count)))
    tails = tuple(data.draw(st.lists(st.booleans(), min_size=count, max_size=count)))
    window = window_of(words, heads, tails)
    logits = np.array(data.draw(st.lists(st.tuples(*[st.integers(-9, 9)] * 2), min_size=count + 4, max_size=count + 4)))
    got = spans.best_spans(window, logits.astype(np.float32), " ".join(words))
    every = [
        (int(logits[3 + first, 0] + logits[3 + last, 1] - logits[0].sum()), first, last)
        for first in range(count)
        for last in range(first, min(count, first + spans.LENGTH))
        if heads[first] and tails[last]
    ]
    kept = []
    while every and len(kept) < spans.MOST:
        best = max(score for score, *_ in every)
        assert len(got) > len(kept) and got[len(kept)].logit == best
        span = got[len(kept)]
        kept.append(span)
        every = [
            entry
            for entry in every
            if window.offsets[entry[2]][1] <= span.start or window.offsets[entry[1]][0] >= span.end
        ]
    assert len(got) == len(kept)


def test_spans_of_several_windows_do_not_overlap():
    overlapping = [ReadSpan(0, 4, "abcd", 1.0), ReadSpan(2, 6, "cdef", 3.0), ReadSpan(6, 9, "ghi", 2.0)]
    assert [span.text for span in spans.apart(overlapping)] == ["cdef", "ghi"]


@pytest.mark.parametrize("span", [-500.0, -20.0, 0.0, 20.0, 500.0])
@pytest.mark.parametrize("present", [0.0, 1e-9, 0.5, 1.0])
def test_an_answerability_is_a_probability_and_grows(span, present):
    known = Calibration(bias=0.3)
    value = known.answerable(span, present)
    assert 0 <= value <= 1
    assert known.answerable(span + 1, present) >= value and known.answerable(span, min(1.0, present + 0.1)) >= value


SHIPPED = asdict(Calibration())


@pytest.mark.parametrize(
    ("changed", "match"),
    [
        ({"bias": "much"}, "bias"),
        ({"bias": float("nan")}, "finite"),
        ({"answers": 1.2}, "less than or equal to 1"),
        ({"relevant": -0.1}, "greater than or equal to 0"),
        ({"slope": 1.0}, "slope"),
        ({"reads": ...}, "reads"),
    ],
)
def test_a_calibration_of_another_form_is_refused(tmp_path, changed, match):
    file = tmp_path / "calibration.json"
    file.write_text(json.dumps(SHIPPED))
    assert read_calibration(tmp_path) == Calibration()
    file.write_text(json.dumps({key: value for key, value in {**SHIPPED, **changed}.items() if value is not ...}))
    with pytest.raises(ValueError, match=match):
        read_calibration(tmp_path)
