"""Cells as values: a number with its unit, a time in seconds, a date (ISO 8601) or a text."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

from local_rag.index.parse.properties import iso_date
from local_rag.text.lexicon import UNITS
from local_rag.text.words import fold

Kind = Literal["number", "time", "date", "text"]

MEASURES: Sequence[Kind] = ("number", "time")
"""The kinds of what can be added."""
NO_VALUE = "(a formula without a value)"
"""The text of a cell whose formula was never computed."""
OF_ONE_KIND = 0.6
"""Share of the filled cells of a column that are of its kind; the others are named where they matter."""
LOOKED_AT = 200
"""Cells by which the kind of a column is found."""
CURRENCIES = frozenset("€ $ £ ¥ chf sek nok dkk pln czk cad aud inr cny".split())
"""Currencies as `same_unit` names them."""

_UNIT = r"[^\W\d_]{1,12}\.?[²³]?|%|°[CF]?|[€$£¥]|[^\W\d_]{1,4}/[^\W\d_]{1,4}"
_NUMBER = re.compile(
    r"(?P<before>[€$£¥]|(?:EUR|USD|GBP|CHF|JPY|SEK|NOK|DKK|PLN|CZK|CAD|AUD|INR|CNY))?\s?(?P<sign>[-+−–]?)\s?"
    r"(?P<digits>\d{1,3}(?:[,.'\u00a0\u202f ]\d{3})+(?:[.,]\d+)?|\d+(?:[.,]\d+)?)"
    rf"\s?(?P<after>{_UNIT})?"
)
_UNIT_OF_NAME = re.compile(rf"\s*[\[(]\s*({_UNIT})\s*[\])]$|\s+in ({_UNIT})$|\s+([€$£¥%]|°[CF]|[A-Z]{{3}}|kWh|km|kg)$")
_CODE = re.compile(r"0\d+")
"""Digits that stand for a name: postal codes, telephone numbers."""
_TIME = re.compile(r"(\d{1,3}):([0-5]\d)(?::([0-5]\d))?")
_NUMBERS = r"[\d\s./:,-]*(?:st|nd|rd|th)?[\s,]*"
_DATE = re.compile(rf"(?=.*(?:1[89]|2[01])\d\d){_NUMBERS}(?:of )?(?:[^\W\d_]{{1,9}}\.?)?{_NUMBERS}[\d\s:,]*Z?")


class Column(NamedTuple):
    """A column: its name, kind, and unit, "" for none, or for several, which `units` lists.

    Numbers have at most so many `decimals`, texts are that many `different` ones.
    """

    name: str
    kind: Kind
    unit: str = ""
    units: Sequence[str] = ()
    decimals: int = 0
    different: int = 0


def typed(name: str, cells: Sequence[str]) -> tuple[Column, list[Any], list[str]]:
    """Return a column with the value of each of its cells, None for a text; and the units, where there are several."""
    filled = [cell for cell in cells if cell]
    sample = filled[:: len(filled) // LOOKED_AT + 1]

    def mostly(read: Callable[[str], object]) -> bool:
        return bool(sample) and sum(read(cell) is not None for cell in sample) >= OF_ONE_KIND * len(sample)

    if mostly(date_of):
        return Column(name, "date"), [date_of(cell) for cell in cells], []
    if mostly(_seconds):
        return Column(name, "time"), [_seconds(cell) for cell in cells], []
    if not mostly(_NUMBER.fullmatch) or any(map(_CODE.fullmatch, sample)):
        return Column(name, "text", different=len({*filled})), [None] * len(cells), []
    matches = [_NUMBER.fullmatch(cell) for cell in cells]
    comma = _has_decimal_comma([match for match in matches if match])
    values = [_number(match, comma) if match else None for match in matches]
    units = [_unit(match) if match else "" for match in matches]
    known, named = [*dict.fromkeys(filter(None, units))], unit_of(name)
    decimals = max(len(f"{value:.6f}".rstrip("0").partition(".")[2]) for value in values if value is not None)
    if len(known) > 1 or (known and named and [named] != known):
        return Column(name, "number", "", known, decimals), values, units
    return Column(name, "number", next(iter(known), named), (), decimals), values, []


def date_of(text: str) -> str | None:
    """Return the date that a text is, as far as it says: 2024, 2024-03, 2024-03-05; None for what is none."""
    return (iso_date(text) or None) if _DATE.fullmatch(text) else None


def number_of(text: str) -> tuple[float, str] | None:
    """Return the number that a text is, and its unit; None for what is none."""
    match = _NUMBER.fullmatch(text.strip())
    return (_number(match, _has_decimal_comma([match])), _unit(match)) if match else None


def _seconds(cell: str) -> float | None:
    match = _TIME.fullmatch(cell)
    return float(int(match[1]) * 3600 + int(match[2]) * 60 + int(match[3] or 0)) if match else None


def _has_decimal_comma(matches: Sequence[re.Match[str]]) -> bool:
    """Return whether the comma is the decimal mark of a column.

    It is also where all dots of money stand before three digits: 1.140 € is no price to a tenth of a cent.
    """
    digits = [match["digits"] for match in matches]
    if any(re.search(r"\.\d{3},|^\d+,\d{1,2}$|,\d{4,}$", each) for each in digits):
        return True
    dotted = [each for each in digits if "." in each]
    is_money = any(_unit(match) in CURRENCIES for match in matches)
    return is_money and bool(dotted) and all(re.fullmatch(r"\d{1,3}(\.\d{3})+", each) for each in dotted)


def _number(match: re.Match[str], comma: bool) -> float:
    digits = re.sub(r"['\s.]" if comma else r"['\s,]", "", match["digits"]).replace(",", ".")
    number = float(digits if digits.count(".") < 2 else digits.replace(".", ""))
    return -number if match["sign"] in tuple("-−–") else number


def _unit(match: re.Match[str]) -> str:
    return same_unit(match["before"] or match["after"] or "")


def same_unit(written: str) -> str:
    """Return a unit by one name: EUR is €, kilometres are km."""
    return UNITS.get(fold(written), fold(written) if fold(written) in CURRENCIES else written)


def unit_of(name: str) -> str:
    """Return the unit that a header names, "" for none: Price (EUR), Price in €, Amount EUR, Temperature °C."""
    match = _UNIT_OF_NAME.search(name)
    return same_unit(next(filter(None, match.groups()))) if match else ""


def without_unit(name: str) -> str:
    """Return a header without its unit."""
    return _UNIT_OF_NAME.sub("", name) or name
