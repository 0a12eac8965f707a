"""Parts of the Ollama engine that need no server: tokens, windows, thoughts, names, durations."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_rag.config.values import Ollama
from local_rag.core.errors import EngineError
from local_rag.engines.calls import without_thoughts
from local_rag.engines.language_model.task import first_line
from local_rag.engines.language_model.window import (
    FittedPrompt,
    ModelSetup,
    PromptTooLong,
    estimate,
)
from local_rag.engines.ollama.server import is_cloud_name, same_model

SETUP = ModelSetup("tiny", 1024)
CAP = 100


def cap(passages):
    return CAP


def said(text):
    return [("user", text)]


# --- tokens -----------------------------------------------------------------------------------------------------------


def test_an_estimate_is_on_the_careful_side():
    english = "The quick brown fox jumps over the lazy dog. "
    assert estimate(said(english * 10)) > 10 * len(english.split())
    for text in ("我们在公司工作了三年", "ぁあぃいぅう", "\U0001f600\U0001f601"):
        assert estimate(said(text * 10)) >= 10 * len(text)


# --- what fits --------------------------------------------------------------------------------------------------------


def prompt_of(sizes):
    """A prompt with one passage of each size, in characters."""
    return lambda numbers: said("q " + " ".join(f"<{number}>" + "x" * sizes[number] for number in numbers))


sizes = st.lists(st.integers(10, 1500), min_size=1, max_size=12)


@given(sizes, st.randoms(use_true_random=False))
def test_the_least_wanted_are_given_up_first(sizes, random):
    order = list(range(len(sizes)))
    random.shuffle(order)
    try:
        fit = FittedPrompt(prompt_of(sizes), order, SETUP, cap)
    except EngineError as error:
        assert estimate(prompt_of(sizes)(order[:1])) > 1024 - CAP
        assert "even with one passage" in str(error)
        return
    assert estimate(fit.messages) <= 1024 - CAP
    assert fit.kept == sorted(order[: len(fit.kept)])
    if len(fit.kept) < len(order):
        assert estimate(prompt_of(sizes)(order[: len(fit.kept) + 1])) > 1024 - CAP
        assert str(len(order) - len(fit.kept)) in fit.note
    else:
        assert fit.note == ""
    assert [int(number) for number in re.findall(r"<(\d+)>", fit.messages[0][1])] == fit.kept


@given(
    sizes,
    st.sampled_from(
        [
            PromptTooLong(),
            PromptTooLong(3000, 1024),
            PromptTooLong(1025, 1024),
            PromptTooLong(90_000, 1024),
            PromptTooLong(1025),
        ]
    ),
)
def test_shrinking_ends(sizes, said):
    setup = ModelSetup("tiny", 100_000)
    fit = FittedPrompt(prompt_of(sizes), range(len(sizes)), setup, cap)
    left = len(sizes)
    while left > 1:
        fit.shrink(said)
        assert 1 <= len(fit.kept) < left
        left = len(fit.kept)
        assert fit.kept == list(range(left))
    with pytest.raises(EngineError, match=r"does not fit the window of 100,000 tokens of tiny") as met:
        fit.shrink(said)
    assert "num_ctx" in met.value.hint


def test_room_for_the_reply_and_for_thoughts_is_kept():
    sizes = [700] * 8
    plain = FittedPrompt(prompt_of(sizes), range(8), ModelSetup("tiny", 2048), cap)
    thinking = FittedPrompt(prompt_of(sizes), range(8), ModelSetup("tiny", 2048, "low"), cap)
    assert len(thinking.kept) < len(plain.kept)
    assert (ModelSetup("tiny", 2048).thoughts, ModelSetup("tiny", 2048, "low").thoughts) == (0, 1024)


# --- thoughts ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        ("It is so.", "It is so."),
        ("<think>Is it?</think>It is so.", "It is so."),
        ("\n <think>Is it?</think>\n\n It is so.", "It is so."),
        ("<think></think>It is so.", "It is so."),
        ("<think>a <think> b</think>It is so.", "It is so."),
        ("<think>Is it", ""),
        ("<think>Is it</think", ""),
        ("<think>Is it</think>  ", ""),
        ("Is it so? Yes [2].\n</think>\n\nIt is so [1].", "It is so [1]."),
        ("</think>It is so.", "It is so."),
        ("<thinker> said so.", "<thinker> said so."),
        ("It is <think>so</think>.", "It is <think>so</think>."),
        ("", ""),
    ],
)
def test_thoughts_stand_at_the_beginning(reply, text):
    assert without_thoughts(reply).strip() == text


# --- lines, names, durations -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("names", "cloud"),
    [
        (["x:cloud", "gpt-oss:120b-cloud", "maker/x:cloud", "hub.test:5000/x:1b-cloud", "x:1b-CLOUD "], True),
        (["cloud", "x", "x:latest", "cloud:latest", "my-cloud", "x-cloud:7b", "x:cloudy", "x:1bcloud"], False),
    ],
)
def test_names_of_cloud_models(names, cloud):
    assert {is_cloud_name(name) for name in names} == {cloud}


def test_a_name_without_a_tag_is_the_latest():
    assert same_model("tiny", "tiny:latest")
    assert same_model("hub.test:5000/tiny", "hub.test:5000/tiny:latest")
    assert not same_model("tiny:1b", "tiny")


@pytest.mark.parametrize(
    ("reply", "line"),
    [
        ("lease end date", "lease end date"),
        ("Here is a new query:\n\nprice of the plan", "price of the plan"),
        ("Query: lease end date", "lease end date"),
        ("**Query:** lease end", "lease end"),
        ("New search query: lease", "lease"),
        ("- lease end", "lease end"),
        ("1. lease end", "lease end"),
        ('"lease end"', "lease end"),
        ('"lease" AND "end"', '"lease" AND "end"'),
        ("```\nlease end\n```", "lease end"),
        ("Why: the lease", "Why: the lease"),
        ("", ""),
    ],
)
def test_the_line_that_is_meant(reply, line):
    assert first_line(reply) == line


@pytest.mark.parametrize(
    ("keep_alive", "sent"), [("5m", "5m"), (-1, "-1s"), ("-1", "-1s"), (0, "0s"), ("1h30m", "1h30m"), (300, "300s")]
)
def test_keep_alive_as_people_write_it(keep_alive, sent):
    assert Ollama(keep_alive=keep_alive).keep_alive == sent


@pytest.mark.parametrize("wrong", ["soon", "5 minutes", "", "m5", 1.5])
def test_keep_alive_as_ollama_would_refuse_it(wrong):
    with pytest.raises(ValueError, match="keep_alive"):
        Ollama(keep_alive=wrong)
