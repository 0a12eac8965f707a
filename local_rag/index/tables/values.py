"""Cells as values: a number with its unit, a date (ISO 8601) or a text."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

from local_rag.text.lexicon import UNITS
from local_rag.text.words import fold

Kind = Literal["number", "year", "time", "date", "text"]
"""`year`: whole numbers that are years; `time`: h:mm or h:mm:ss, in seconds; both are numbers."""

Value = float | str | None
"""A number, a date as text, or None for a text."""

_LOOKED_AT = 200
"""Cells by which the kind of a column is found."""
MOST = 0.6
"""Share of the filled cells of a column that are of its kind; the others are named where they matter."""

CURRENCIES = frozenset("€ $ £ ¥ chf sek nok dkk pln czk cad aud inr cny".split())
"""As `same_unit` names them."""
_UNIT = r"[^\W\d_]{1,12}\.?[²³23]?|%|°[CF]?|[€$£¥]|[^\W\d_]{1,4}/[^\W\d_]{1,4}"
_NUMBER = re.compile(
    rf"(?P<before>[€$£¥]|[A-Z]{{3}})?\s?(?P<sign>[-+−–]?)\s?(?P<also>[€$£¥])?\s?"
    rf"(?P<digits>\d{{1,3}}(?:[,.'\u00a0\u202f ]\d{{3}})+(?:[.,]\d+)?|\d+(?:[.,]\d+)?|[.,]\d+)"
    rf"\s?(?P<after>{_UNIT})?"
)
_NAMED_UNIT = re.compile(
    rf"\s*[\[(]\s*({_UNIT})\s*[\])]$|\s+in ({_UNIT})$|\s+([€$£¥%]|°[CF]|(?:EUR|USD|GBP|CHF|kWh|km|kg))$"
)
_CODE = re.compile(r"0\d+")
"""Digits that stand for a name: postal codes, telephone numbers."""
_TIME = re.compile(r"(\d{1,3}):([0-5]\d)(?::([0-5]\d)(?:\.\d+)?)?")
_ISO = re.compile(r"(\d{4})-(\d\d)(?:-(\d\d))?(?:[T ](\d\d:\d\d)(?::\d\d)?(?:\.\d+)?Z?)?")
_SLASHED = re.compile(r"(\d{1,2})(/)(\d{1,2})/(?:\d{4}|\d\d)\b.*")
_DOTTED = re.compile(r"(\d{1,2})([./])(\d{1,2})\2(\d{4}|\d\d)(?:[, ]+(\d\d?:\d\d))?")
_MONTHS = (
    "jan january januar", "feb february februar", "mar march märz", "apr april", "may mai", "jun june juni",
    "jul july juli", "aug august", "sep september sept", "oct october okt oktober", "nov november", "dec december dez"
    " dezember",
)  # fmt: skip
MONTH = {word: number for number, words in enumerate(_MONTHS, 1) for word in words.split()}
_MONTH = "|".join(sorted(MONTH, key=len, reverse=True))
WRITTEN = re.compile(
    rf"(?:(?P<day>\d{{1,2}})(?:st|nd|rd|th|\.)? (?:of )?)?\b(?P<month>{_MONTH})\b\.?"
    rf"(?: (?P<late>\d{{1,2}})(?:st|nd|rd|th)?\b(?!\d))?,?(?: (?P<year>\d{{4}})\b)?",
    re.IGNORECASE,
)
"""A date in words; of its parts only the month is always there."""


class Column(NamedTuple):
    """A column: its name, kind, and unit ("" for none, or for several, which `units` lists); `decimals` at most."""

    name: str
    kind: Kind
    unit: str = ""
    units: tuple[str, ...] = ()
    decimals: int = 0


def typed(name: str, cells: Sequence[str]) -> tuple[Column, list[Value], list[str]]:
    """A column with the value of each of its cells; and the unit of each, where there are several."""
    filled = [cell for cell in cells if cell]
    sample = filled[:: len(filled) // _LOOKED_AT + 1]

    def mostly(read: Callable[[str], object]) -> bool:
        return bool(sample) and sum(read(cell) is not None for cell in sample) >= MOST * len(sample)

    if mostly(date_of):
        month_first = any(int(match[3]) > 12 for cell in filled if (match := _SLASHED.fullmatch(cell)))
        return Column(name, "date"), [date_of(cell, month_first=month_first) for cell in cells], []
    if mostly(_seconds):
        return Column(name, "time"), [_seconds(cell) for cell in cells], []
    if not mostly(_NUMBER.fullmatch) or any(map(_CODE.fullmatch, sample)):
        return Column(name, "text"), [None] * len(cells), []
    matches = [_NUMBER.fullmatch(cell) for cell in cells]
    comma = _decimal_comma([match for match in matches if match])
    values = [_number(match, comma) if match else None for match in matches]
    units = [_unit(match) if match else "" for match in matches]
    known, named = [*dict.fromkeys(filter(None, units))], unit_of(name)
    numbers = [value for value in values if value is not None]
    if not (known or named) and len(numbers) == len(filled) and all(_is_year(value) for value in numbers):
        return Column(name, "year"), [*values], []
    decimals = max(len(f"{value:.6f}".rstrip("0").partition(".")[2]) for value in numbers)
    if len(known) > 1 or (known and named and [named] != known):
        return Column(name, "number", "", tuple(known), decimals), [*values], units
    return Column(name, "number", next(iter(known), named), (), decimals), [*values], []


def _is_year(value: float) -> bool:
    return value == int(value) and 1000 <= value <= 2100


def date_of(cell: str, *, month_first: bool = False) -> str | None:
    """A date of a cell in ISO 8601, as far as it says: 2024-03-05, 2024-03, 2024-03-05 06:00; None for what is none."""
    if match := _ISO.fullmatch(cell):
        return _iso(match[1], match[2], match[3] or "", match[4] or "")
    if match := _DOTTED.fullmatch(cell):
        day, month = (match[3], match[1]) if month_first and match[2] == "/" else (match[1], match[3])
        return _iso(match[4] if len(match[4]) == 4 else f"20{match[4]}", month, day, match[5] or "")
    match = WRITTEN.fullmatch(cell)
    return written_date(match) if match and match["year"] else None


def written_date(match: re.Match[str]) -> str | None:
    """The date of a match of `WRITTEN`; without a year "-03", a month of any."""
    month, day = MONTH[match["month"].casefold()], match["day"] or match["late"] or ""
    return (
        _iso(match["year"], str(month), day) if match["year"] else f"-{month:02d}" + (f"-{int(day):02d}" if day else "")
    )


def _iso(year: str, month: str, day: str, time: str = "") -> str | None:
    if not (1 <= int(month) <= 12 and 1 <= int(day or 1) <= 31):
        return None
    return f"{year}-{int(month):02d}" + (f"-{int(day):02d}" if day else "") + (f" {time:0>5}" if time else "")


def _seconds(cell: str) -> float | None:
    match = _TIME.fullmatch(cell)
    return float(int(match[1]) * 3600 + int(match[2]) * 60 + int(match[3] or 0)) if match else None


def _decimal_comma(matches: Sequence[re.Match[str]]) -> bool:
    """Whether the comma is the decimal mark of a column; a dot before three digits is none then.

    Of money with nothing but such dots it is taken for that, too: 1.140 € is no price to a tenth of a cent.
    """
    digits = [match["digits"] for match in matches]
    if any(re.search(r"\.\d{3},|^\d+,\d{1,2}$|,\d{4,}$", each) for each in digits):
        return True
    dotted = [each for each in digits if "." in each]
    money = any(_unit(match) in CURRENCIES for match in matches)
    return money and bool(dotted) and all(re.fullmatch(r"\d{1,3}(\.\d{3})+", each) for each in dotted)


def _number(match: re.Match[str], comma: bool) -> float:
    digits = re.sub(r"['\s]", "", match["digits"])
    if comma:
        digits = digits.replace(".", "").replace(",", ".")
    elif re.fullmatch(r"\d{1,3}(\.\d{3}){2,}", digits):
        digits = digits.replace(".", "")
    else:
        digits = digits.replace(",", "")
    return float(digits) * (-1 if match["sign"] in ("-", "−", "–") else 1)


def number_of(text: str) -> tuple[float, str] | None:
    """A number as a person types it, with its unit."""
    match = _NUMBER.fullmatch(text.strip())
    return (_number(match, _decimal_comma([match])), _unit(match)) if match else None


def _unit(match: re.Match[str]) -> str:
    return same_unit(match["before"] or match["also"] or match["after"] or "")


def same_unit(written: str) -> str:
    """A unit by one name: EUR is €, kilometres are km."""
    return UNITS.get(fold(written), written) if fold(written) not in CURRENCIES else fold(written)


def unit_of(name: str) -> str:
    """The unit that a header names, "" for none: Price (EUR), Price in €, Amount EUR, Temperature °C."""
    match = _NAMED_UNIT.search(name)
    return same_unit(next(filter(None, match.groups()))) if match else ""


def without_unit(name: str) -> str:
    """A header without its unit."""
    return _NAMED_UNIT.sub("", name).strip() or name
