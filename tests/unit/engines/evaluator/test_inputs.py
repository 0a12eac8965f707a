"""How question, header and passage become tokens of windows."""

from __future__ import annotations

from itertools import pairwise

import pytest
from support.shipped_evaluator import document, files_of
from tokenizers import Tokenizer

from local_rag.engines.evaluator.inputs import Inputs, header_of


@pytest.fixture(scope="module")
def tokenizer():
    return Tokenizer.from_file(str(files_of("minilm").tokenizer))


@pytest.fixture(scope="module")
def inputs(tokenizer):
    return Inputs(tokenizer)


def tokens(tokenizer, window):
    return [tokenizer.id_to_token(number) for number in window.ids]


def test_the_order_of_a_window_and_its_token_types(inputs, tokenizer):
    (window,) = inputs.windows("Who lights it?", "lighthouse log", "The keeper lights it.")
    assert tokens(tokenizer, window) == [
        *("[CLS]", "who", "lights", "it", "?", "[SEP]"),
        *("lighthouse", "log", ".", "the", "keeper", "lights", "it", ".", "[SEP]"),
    ]
    assert window.types == (0,) * 6 + (1,) * 9
    assert window.first == 9 and window.offsets == ((0, 3), (4, 10), (11, 17), (18, 20), (20, 21))


def test_a_header_is_made_of_file_name_title_and_heading(inputs, tokenizer):
    passage = document("…", source="/home/a/lease-2024.pdf", title="Lease of the mill", heading="Terms > Notice")
    assert header_of(passage) == "lease 2024. Lease of the mill. Terms > Notice"
    assert header_of(document("…")) == ""
    (window,) = inputs.windows("Why?", "", "Because.")
    assert tokens(tokenizer, window) == ["[CLS]", "why", "?", "[SEP]", "because", ".", "[SEP]"]


def test_offsets_are_code_points_of_the_text_in_any_script(inputs):
    text = "😀 Größe  naïveté\n\nДоговор 日本語 «x»"
    (window,) = inputs.windows("?", "Über", text)
    words = [text[start:end] for start, end in window.offsets]
    assert "".join(words) == "".join(text.split()) and "Größe" in text


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


@pytest.mark.parametrize("length", [1, 100, 319, 320, 321, 5000])
def test_a_long_question_and_a_long_header_leave_room_for_the_passage(inputs, length):
    for window in inputs.windows("what " * length, "header " * length, "text " * 400):
        assert len(window.ids) <= 320 and len(window.offsets) >= 40


def test_marks_of_the_tokenizer_in_a_file_are_letters(inputs):
    (window,) = inputs.windows("What?", "", "[SEP] [CLS] [MASK]")
    assert window.ids.count(inputs.sep) == 2 and window.ids.count(inputs.cls) == 1


@pytest.mark.parametrize("text", ["", " \n\t ", "\u200b"])
def test_nothing_is_no_window(inputs, text):
    assert inputs.windows("What?", "title", text) == []


def test_a_batch_is_filled_up(inputs):
    windows = [*inputs.windows("a", "", "b"), *inputs.windows("a", "", "b c d")]
    batch = inputs.batch(windows)
    assert {name: values.shape for name, values in batch.items()} == dict.fromkeys(batch, (2, 7))
    assert batch["attention_mask"].sum(axis=1).tolist() == [5, 7]
    assert batch["input_ids"][0, 5:].tolist() == [inputs.pad, inputs.pad]
