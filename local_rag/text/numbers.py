"""Find the numbers of a text with their value, sign and unit, and its names; each text is read once for all
comparisons.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple

from local_rag.text.lexicon import MAGNITUDES, NUMBER_WORDS, STOP_WORDS, UNITS
from local_rag.text.marks import without_marks
from local_rag.text.sentences import sentences
from local_rag.text.words import WORD, fold, tidy, words

TOKEN = re.compile(
    r"(?<![\d.])\d{4}-\d\d-\d\d(?!\d)"
    r"|\d{1,3}(?:(?P<thousands>[,.' ])\d{3})(?:(?P=thousands)\d{3})*(?:[.,]\d{1,2})?(?![\d:/]|[.,]\d)|\d+(?:[.,:/]\d+)*"
    r"|(?<![\w)\]])-(?=[$€£¥]?\d)|[$€£¥%]|[^\W\d_]+(?:'[^\W\d_]+)*|[^\W_]"
)
"""A date, a number, a minus, a currency sign or a word of a tidied text."""


class Quantity(NamedTuple):
    """Hold a number: its position among the tokens, its possible values ("-5", "4000000", "2024-05-12"; "1.200" has
    two), and its unit as in `UNITS`, empty if it has none.
    """

    position: int
    values: tuple[str, ...]
    unit: str


def numbers(text: str) -> set[str]:
    """Return the numbers of a text as digits: "1,200" is 1200, "two" is 2. Marks like [3] and the word "one" do not
    count.
    """
    return {quantity.values[-1].lstrip("-") for quantity in quantities(without_marks(text))}


def is_number(token: str) -> bool:
    """Return whether a token is a number in digits or in words."""
    return token[:1].isdigit() or token in NUMBER_WORDS


@lru_cache(maxsize=4096)
def quantities(text: str) -> tuple[Quantity, ...]:
    """Return the numbers of a text in order, including English and German number words; "one" does not count."""
    tokens = [match.group().casefold() for match in TOKEN.finditer(tidy(text))]
    found: list[Quantity] = []
    position = 0
    while position < len(tokens):
        values, end = _digits(tokens, position) if tokens[position][0].isdigit() else _spelled(tokens, position)
        if values:
            before, after = tokens[max(0, position - 2) : position], tokens[end : end + 1]
            units = [UNITS[token] for token in (*before[-1:], *after) if token in UNITS]
            sign = "-" if "-" in (before if units else before[-1:]) else ""
            found.append(Quantity(position, tuple(sign + value for value in values), next(iter(units), "")))
        position = end
    return tuple(found)


def _digits(tokens: Sequence[str], start: int) -> tuple[list[str], int]:
    """Return the possible values of a number in digits, and the position behind it: "4 million", "1.200"."""
    values, end, scale = _readings(tokens[start]), start + 1, 1
    while end < len(tokens) and tokens[end] in MAGNITUDES:
        scale, end = scale * int(NUMBER_WORDS[tokens[end]]), end + 1
    if scale > 1:
        values = [
            f"{(Decimal(value) * scale).normalize():f}" for value in values if re.fullmatch(r"\d+(?:\.\d+)?", value)
        ] or values
    return values, end


def _readings(number: str) -> list[str]:
    """Return the possible values of a number in digits, with a decimal point: "1.200" has two; "1.2.3"
    stays as it is.
    """
    number = re.sub("[' ]", "", number)
    whole = re.sub(r"[.,]", "", number)
    if re.fullmatch(r"\d{1,3}(?:,\d{3})+|\d{1,3}(?:\.\d{3}){2,}", number):
        return [whole]
    if re.fullmatch(r"\d{1,3}\.\d{3}", number):
        return [number, whole]
    parts = re.fullmatch(r"(\d+|\d{1,3}(?:,\d{3})+|\d{1,3}(?:\.\d{3})+(?=,))(?:[.,](\d+))?", number)
    if parts is None:
        return [number]
    return [re.sub(r"[.,]", "", parts[1]) + (f".{parts[2]}" if (parts[2] or "").strip("0") else "")]


def _spelled(tokens: Sequence[str], start: int) -> tuple[list[str], int]:
    """Return the value of a number in words (twenty-five, three hundred and fifty, two dozen), and the position behind
    it.
    """
    total, group, end = 0, 0, start
    last = 1
    while end < len(tokens) and (value := int(NUMBER_WORDS.get(tokens[end], -1))) >= 0:
        if tokens[end] in MAGNITUDES:
            group = max(group, 1) * value
            total, group = (total + group, 0) if value >= 1000 else (total, group)
        elif end > start and not (last >= 100 or (last >= 20 and value < 10)):
            break
        else:
            group += value
        last, end = value, end + 1
        if last >= 100 and tokens[end : end + 1] == ["and"] and is_number((*tokens, "", "")[end + 1]):
            end += 1
    value = total + group
    if end == start + 1 and value == 1:
        return [], end
    return ([str(value)], end) if end > start else ([], start + 1)


def names(text: str) -> set[str]:
    """Return the words of the names in a text, folded, without function words."""
    plain = without_marks(text)
    return {word for name in written_names(plain) for word in words(name)} - STOP_WORDS


@lru_cache(maxsize=4096)
def written_names(text: str) -> tuple[str, ...]:
    """Return the names in a text as they are written, in order.

    A capitalised function word is a name only after another word: US, May, but not the first word of quoted speech.
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
    """Return whether a word has capitals inside, or both digits and letters."""
    return any(ch.isupper() for ch in word[1:]) or (any(map(str.isdigit, word)) and any(map(str.isalpha, word)))
