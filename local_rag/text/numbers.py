"""The numbers of a text, compared by value."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import NamedTuple

from local_rag.text.lexicon import MAGNITUDES, NUMBER_WORDS
from local_rag.text.marks import without_marks
from local_rag.text.words import content_stems, words

TOKEN = re.compile(
    r"(?<![\w)\]])-(?=[$€£]?\d)|[$€£%]|(?<![\d.])\d{4}-\d\d-\d\d(?!\d)|\d+(?:[.,:/]\d+)*|[^\W_]+(?:'[^\W_]+)*"
)
"""A word, a number, a date, a sign of a currency or a minus."""
_NUMBER = re.compile(r"\d+(?:[.,:/]\d+)*")
_CURRENCIES = {"$", "€", "£"}
_UNITS = {
    "percent": "%", "euro": "€", "euros": "€", "eur": "€", "dollar": "$", "dollars": "$", "usd": "$",
    "pound": "£", "pounds": "£", "gbp": "£",
}  # fmt: skip


def numbers(text: str) -> set[str]:
    """The numbers of a text as digits: "1,200" is 1200, "two" is 2. Marks like [3] and the word "one" do not count."""
    plain = without_marks(text)
    digits = {_without_thousands(match.group()) for match in _NUMBER.finditer(plain)}
    return digits | {NUMBER_WORDS[word] for word in words(plain) if word in NUMBER_WORDS and word != "one"}


def _without_thousands(number: str) -> str:
    return number.replace(",", "") if re.fullmatch(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?", number) else number


def is_number(token: str) -> bool:
    return token[0].isdigit() or token.casefold() in NUMBER_WORDS


def stems_without_numbers(text: str) -> tuple[str, ...]:
    """The content stems but for numbers, which are compared by value."""
    return tuple(stem for stem in content_stems(text) if not is_number(stem))


class Quantity(NamedTuple):
    """Its position among the tokens, its value ("-5", "4000000", "2024-05-12") and $, €, £, % or nothing."""

    position: int
    value: str
    unit: str


def quantities(text: str) -> list[Quantity]:
    """The numbers of a text (tidied, see `alignment.tidy`) in order, with sign and unit."""
    tokens = [*TOKEN.findall(text), "", ""]
    result: list[Quantity] = []
    for position, token in enumerate(tokens):
        word = token.casefold()
        if not token or not is_number(token) or word in {"one", "once"}:
            continue
        value = word if token[0].isdigit() else NUMBER_WORDS[word]
        before, after = tokens[position - 1] if position else "", tokens[position + 1].casefold()
        if word in MAGNITUDES and result and result[-1].position == position - 1:
            value, before = _times(result.pop().value, value), tokens[position - 2]
        unit = before if before in _CURRENCIES else _UNITS.get(after, after if after in {"%", *_CURRENCIES} else "")
        minus = "-" in (before, tokens[position - 2] if position > 1 and before in _CURRENCIES else "")
        result.append(Quantity(position, f"-{value}" if minus else value, unit))
    return result


def _times(count: str, magnitude: str) -> str:
    if not re.fullmatch(r"-?\d+(?:\.\d+)?", count):
        return f"{count} {magnitude}"
    return f"{(Decimal(count) * Decimal(magnitude)).normalize():f}"


def holds_quantities(quote: str, sentence: str) -> bool:
    """Whether a quote has every number of a sentence with its unit; a currency may be left out or stand elsewhere."""
    units = {_UNITS.get(token.casefold(), token) for token in TOKEN.findall(quote)}
    held = quantities(quote)
    return all(any(_same_quantity(wanted, other, units) for other in held) for wanted in quantities(sentence))


def _same_quantity(wanted: Quantity, other: Quantity, units: set[str]) -> bool:
    if wanted.value != other.value or (not wanted.unit and other.unit == "%"):
        return False
    return wanted.unit in ("", other.unit) or (not other.unit and wanted.unit in units)
