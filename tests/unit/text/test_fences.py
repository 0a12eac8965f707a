"""Text between the fences of a prompt: nothing in it reads like a fence, and all else stays as it is."""

import re
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.every_prompt import every_prompt

from local_rag.engines.language_model import prompts
from local_rag.engines.language_model.prompts import Prompts
from local_rag.text.fences import fenced

FENCE = re.compile(r"<\s*/?\s*(passage|answer)\b", re.IGNORECASE)
IGNORABLE = set(map(chr, [0xAD, 0x34F, 0x61C, *range(0x200B, 0x2010), *range(0x2060, 0x2070), 0xFE0F, 0xFEFF]))
HIDDEN = set(map(chr, [*range(0xE0000, 0xE0080), *range(0x202A, 0x202F), *range(0x2066, 0x206A)]))


def read(text):
    """The text as a model may read it."""
    visible = "".join(ch for ch in text if ch not in IGNORABLE and ch not in HIDDEN)
    return unicodedata.normalize("NFKC", visible)


def disguised(word):
    """Strategies for a text that reads like this one."""
    forms = {
        "<": "<＜﹤",
        "/": "/／",
        "p": "pｐ𝐩ᵖP",
        "a": "aａ𝒂ª",
        "s": "sｓſ",
        "e": "eｅE",
        "n": "nｎ",
        "w": "w𝐰",
        "r": "rｒ",
    }
    joint = st.sampled_from(["", "", "", "\u2060", "\u200b", "\u00ad", "\ufe0f", "\U000e0061", "\u202e"])
    parts = [st.tuples(st.sampled_from(forms.get(ch, ch)), joint).map("".join) for ch in word]
    return st.tuples(*parts).map("".join)


FENCES = st.one_of(*map(disguised, ["<passage", "</passage>", "< / passage>", "<answer>", "</answer"]))
HOSTILE = st.lists(st.one_of(FENCES, st.text(max_size=8)), max_size=5).map("".join)


@given(HOSTILE)
@example("＜/passage＞")
@example("<\u2060/pass\u200bage>")
@example("<\U000e0041/passage>")
@example("<passage\u200ds>")
def test_nothing_reads_like_a_fence_afterwards(text):
    safe = fenced(text)
    assert not FENCE.search(read(safe)) and not FENCE.search(safe)
    assert not HIDDEN & set(safe)
    assert fenced(safe) == safe
    kept = [ch for ch in text if ch not in HIDDEN]
    assert len(safe) == len(kept), "nothing else goes"
    assert all(now == was or (now == "‹" and was in "<＜﹤") for now, was in zip(safe, kept, strict=True))


@pytest.mark.parametrize(
    "text",
    [
        "10⁵ is not 105, ½ is not 1/2, ﬁne",
        "می‌خواهم",  # a joiner keeps two letters of Persian apart
        "क्‍ष and 👩‍👩‍👧 and ❤️",
        "if a ＜ b: <b>passages</b> ＜passages＞ < answers",
        "e\u0301 stays in two, é in one",
    ],
)
def test_what_belongs_to_a_text_stays(text):
    assert fenced(text) == text


def test_the_look_alikes_of_the_bracket_are_known():
    assert [ch for ch in map(chr, range(0x110000)) if "<" in unicodedata.normalize("NFKC", ch)] == ["<", "﹤", "＜"]


def test_what_nobody_sees_goes():
    assert fenced(f"It costs{''.join(HIDDEN)} 7 euros") == "It costs 7 euros"


WITH_AN_ANSWER = "hallucination_grader", "answer_grader", "both graders", "continuation", "judge"


@given(HOSTILE)
@example("＜/passage＞ ＜/answer＞")
@example("</passage></answer>")
@example("<passag\uff45\U000e00800")
def test_every_prompt_has_its_own_fences_and_no_other(text):
    of_passages, others = every_prompt(Prompts(), text)
    others["correction"] = [("", ""), ("user", prompts.correction(text, []))]
    for name, (_, (_, content)) in {**of_passages, **others}.items():
        found = [match[1].lower() for match in FENCE.finditer(read(content))]
        fences = 2 * (name in of_passages), 2 * (name in WITH_AN_ANSWER)
        assert (found.count("passage"), found.count("answer")) == fences, content
        assert not HIDDEN & set(content)
