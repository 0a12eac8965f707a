"""The numbers of a text with their value, sign and unit, and its names: read once for every comparison."""

from __future__ import annotations

import re
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple

from local_rag.text.lexicon import MAGNITUDES, NUMBER_WORDS, ONES, STOP_WORDS, TENS, UNITS
from local_rag.text.marks import without_marks
from local_rag.text.sentences import sentences
from local_rag.text.words import WORD, fold, tidy, words

TOKEN = re.compile(
    r"(?<![\d.])\d{4}-\d\d-\d\d(?!\d)"
    r"|\d{1,3}(?:(?P<thousands>[,.' ])\d{3})(?:(?P=thousands)\d{3})*(?:[.,]\d{1,2})?(?![\d:/]|[.,]\d)|\d+(?:[.,:/]\d+)*"
    r"|(?<![\w)\]])-(?=[$€£¥]?\d)|[$€£¥%]|[^\W\d_]+(?:'[^\W\d_]+)*|[^\W_]"
)
"""A date, a number, a minus, a sign of a currency or a word of a tidied text."""


class Quantity(NamedTuple):
    """Its position among the tokens, what it may be ("-5", "4000000", "2024-05-12"; "1.200" may be two), and its unit
    as `UNITS` names it, empty where it has none.
    """

    position: int
    values: tuple[str, ...]
    unit: str


def numbers(text: str) -> set[str]:
    """The numbers of a text as digits: "1,200" is 1200, "two" is 2. Marks like [3] and the word "one" do not count."""
    return {quantity.values[-1].lstrip("-") for quantity in quantities(without_marks(text))}


def is_number(token: str) -> bool:
    return token[:1].isdigit() or token in NUMBER_WORDS


@lru_cache(maxsize=4096)
def quantities(text: str) -> tuple[Quantity, ...]:
    """The numbers of a text in order, those in English and German words, too: twenty-five, two dozen, 4 million.

    "one" counts nothing.
    """
    tokens = [match.group().casefold() for match in TOKEN.finditer(tidy(text))]
    found: list[Quantity] = []
    end = 0
    for position, token in enumerate(tokens):
        if position < end or not is_number(token):
            continue
        end = position + 1
        values = [NUMBER_WORDS[token]] if token in NUMBER_WORDS else _readings(token)
        if token in TENS and tokens[end : end + 1] and tokens[end] in ONES:
            values, end = [str(int(values[0]) + int(NUMBER_WORDS[tokens[end]]))], end + 1
        while end < len(tokens) and tokens[end] in MAGNITUDES and _PLAIN.fullmatch(values[0]):
            scale, end = Decimal(NUMBER_WORDS[tokens[end]]), end + 1
            values = [f"{(Decimal(value) * scale).normalize():f}" for value in values]
        if values != ["1"] or token[0].isdigit():
            before, after = tokens[max(0, position - 2) : position], tokens[end : end + 1]
            units = [UNITS[token] for token in (*before[-1:], *after) if token in UNITS]
            sign = "-" if "-" in (before if units else before[-1:]) else ""
            found.append(Quantity(position, tuple(sign + value for value in values), next(iter(units), "")))
    return tuple(found)


_PLAIN = re.compile(r"\d+(?:\.\d+)?")
_AMBIGUOUS = re.compile(r"\d{1,3}\.\d{3}")
_GROUPED = re.compile(
    r"(\d{1,3}(?:,\d{3})+|\d{1,3}(?:\.\d{3}){2,}|\d{1,3}(?:\.\d{3})+(?=,)|\d+)(?:[.,](\d+))?"
)  # fmt: skip


def _readings(number: str) -> list[str]:
    """A number in digits with a decimal point: 1,200 and 1.200,50; "1.200" may be two, "1.2.3" stays as it is."""
    number = re.sub("[' ]", "", number)
    if _AMBIGUOUS.fullmatch(number):
        return [number, number.replace(".", "")]
    parts = _GROUPED.fullmatch(number)
    if parts is None:
        return [number]
    fraction = f".{parts[2]}" if (parts[2] or "").strip("0") else ""
    return [re.sub("[.,]", "", parts[1]) + fraction]


def names(text: str) -> set[str]:
    """The words of the names, folded; no function words."""
    plain = without_marks(text)
    return {word for name in written_names(plain) for word in words(name)} - STOP_WORDS


@lru_cache(maxsize=4096)
def written_names(text: str) -> tuple[str, ...]:
    """The names as they are written, in order.

    A function word is a name only after another word: US, May, not the first word of what somebody said.
    """
    written: list[str] = []
    for span in sentences(text):
        sentence = span.of(text)
        for match in WORD.finditer(sentence):
            word = match.group()
            inside = match.start() > 0 and word[0].isupper() and len(word) > 1
            if inside and not _mixed(word) and fold(word) in STOP_WORDS:
                inside = bool(re.search(r"[\w,] $", sentence[: match.start()]))
            if inside or _mixed(word):
                written.append(word.removesuffix("'s"))
    return tuple(written)


def _mixed(word: str) -> bool:
    """Whether a word has capitals inside, or both digits and letters."""
    return any(ch.isupper() for ch in word[1:]) or (any(map(str.isdigit, word)) and any(map(str.isalpha, word)))
