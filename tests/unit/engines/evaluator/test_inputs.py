"""How question, header and passage become tokens of windows, and logits of tokens the best spans of a text."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.shipped_evaluator import document, files_of
from tokenizers import Tokenizer

from local_rag.core.readings import Calibration, ReadSpan
from local_rag.engines.evaluator.inputs import LENGTH, MOST_SPANS, Inputs, Window, best_spans, without_overlap
from local_rag.text.names import header_of


@pytest.fixture(scope="module")
def inputs():
    return Inputs(Tokenizer.from_file(str(files_of("minilm").folder / "tokenizer.json")))


def test_a_header_is_made_of_file_name_title_and_heading():
    passage = document("…", source="/home/a/lease-2024.pdf", title="Lease of the mill", heading="Terms > Notice")
    assert header_of(passage) == "lease 2024. Lease of the mill. Terms > Notice"
    assert header_of(document("…")) == ""


def test_a_word_is_never_cut(inputs):
    (window,) = inputs.windows("?", "", "unquestionably tokenized")
    words = list(zip(window.offsets, window.heads, window.tails, strict=True))
    assert len(words) > 2
    assert [offsets[0] for offsets, head, _ in words if head] == [0, 15]
    assert [offsets[1] for offsets, _, tail in words if tail] == [14, 24]


def test_a_long_passage_is_read_in_windows_that_overlap_and_leave_nothing_out(inputs):
    text = " ".join(f"word{number}" for number in range(600))
    windows = inputs.windows("What is word 7?", "a title", text)
    assert len(windows) > 3 and all(len(window.ids) <= inputs.window for window in windows)
    assert windows[0].offsets[0][0] == 0 and windows[-1].offsets[-1][1] == len(text)
    for before, after in pairwise(windows):
        shared = set(before.offsets) & set(after.offsets)
        assert 40 <= len(shared) <= inputs.window // 3


def test_marks_of_the_tokenizer_in_a_file_are_letters(inputs):
    (window,) = inputs.windows("What?", "", "[SEP] [CLS] [MASK]")
    assert window.ids.count(inputs.sep) == 2 and window.ids.count(inputs.cls) == 1


def test_a_batch_is_filled_up(inputs):
    windows = [*inputs.windows("a", "", "b"), *inputs.windows("a", "", "b c d")]
    assert windows[0].types == (0, 0, 0, 1, 1) and windows[0].ids[::2] == (inputs.cls, inputs.sep, inputs.sep)
    batch = inputs.batch(windows)
    assert {name: values.shape for name, values in batch.items()} == dict.fromkeys(batch, (2, 7))
    assert batch["attention_mask"].sum(axis=1).tolist() == [5, 7]
    assert batch["input_ids"][0, 5:].tolist() == [inputs.pad, inputs.pad]


# --- spans ------------------------------------------------------------------------------------------------------------


def window_of(words, heads=None, tails=None):
    """A window with one token per word; its text begins at the fourth token."""
    starts = np.cumsum([0, *(len(word) + 1 for word in words[:-1])])
    offsets = tuple((int(start), int(start) + len(word)) for start, word in zip(starts, words, strict=True))
    every = (True,) * len(words)
    ids = (0,) * (len(words) + 4)
    return Window(ids, ids, 3, offsets, heads or every, tails or every)


@pytest.mark.parametrize(
    ("between", "goes_on"), [(" ", True), ("\n", True), ("\n\n", False), ("\n \n", False), ("\n5. ", False)]
)
def test_a_span_ends_where_a_paragraph_or_a_numbered_clause_begins(between, goes_on):
    words = ["45", "per", "cent.", "Termination"]
    text = f"45 per cent.{between}Termination"
    offsets = tuple((text.index(word), text.index(word) + len(word)) for word in words)
    window = window_of(words)._replace(offsets=offsets)
    logits = np.full((len(window.ids), 2), -9.0, dtype=np.float32)
    logits[3, 0], logits[5, 1], logits[6, 1] = 7, 6, 7
    best = best_spans(window, logits, text)[0]
    assert best.text == (text if goes_on else "45 per cent.")


@given(st.integers(0, 2**32), st.integers(1, 40))
def test_it_is_what_a_search_of_all_spans_gives(seed, count):
    random = np.random.default_rng(seed)
    words = ["w" * length for length in random.integers(1, 4, count)]
    heads, tails = (tuple(map(bool, random.integers(0, 2, count))) for _ in range(2))
    window, logits = window_of(words, heads, tails), random.normal(size=(count + 4, 2))
    every = [
        (logits[3 + first, 0] + logits[3 + last, 1], window.offsets[first][0], window.offsets[last][1])
        for first in range(count)
        for last in range(first, min(count, first + LENGTH))
        if heads[first] and tails[last]
    ]
    kept = []
    for _, start, end in sorted(every, reverse=True):
        if len(kept) < MOST_SPANS and all(end <= other[0] or other[1] <= start for other in kept):
            kept.append((start, end))
    got = best_spans(window, logits, " ".join(words))
    assert [(span.start, span.end) for span in got] == kept
    assert not got or got[0].logit == pytest.approx(max(every)[0] - logits[0].sum())


def test_spans_of_several_windows_do_not_overlap():
    overlapping = [ReadSpan(0, 4, "abcd", 1.0), ReadSpan(2, 6, "cdef", 3.0), ReadSpan(6, 9, "ghi", 2.0)]
    assert [span.text for span in without_overlap(overlapping)] == ["cdef", "ghi"]


@pytest.mark.parametrize("span", [-500.0, -20.0, 0.0, 20.0, 500.0])
@pytest.mark.parametrize("present", [0.0, 1e-9, 0.5, 1.0])
def test_an_answerability_is_a_probability_and_grows(span, present):
    known = Calibration(bias=0.3)
    value = known.answerable(span, present)
    assert 0 <= value <= 1
    assert known.answerable(span + 1, present) >= value and known.answerable(span, min(1.0, present + 0.1)) >= value
