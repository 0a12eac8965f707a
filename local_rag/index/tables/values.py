"""Cells as values: a number with its unit, of a time in seconds, a date (ISO 8601) or a text."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

from local_rag.index.parse.properties import MONTH, iso_date
from local_rag.text.lexicon import UNITS
from local_rag.text.words import fold

Kind = Literal["number", "date", "text"]

TIME = "time"
"""The unit of hours, minutes and seconds, 2:08:14, whose number is seconds."""
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
_PLACE = re.compile(r"(?<=\d)\.$")
"""The full stop behind the number of a place: 1., 2."""
_BELOW_ZERO = re.compile(r"([€$£¥]? ?)\(([\d.,']+)\)")
"""A number below 0 as accounts write it: (3,547)."""
_UNIT_OF_NAME = re.compile(rf"\s*[\[(]\s*({_UNIT})\s*[\])]$|\s+in ({_UNIT})$|\s+([€$£¥%]|°[CF]|[A-Z]{{3}}|kWh|km|kg)$")
_PER = re.compile(r"([€$£¥]|[A-Z]{3})\s?/\s?[^\W\d_]+\.?")
"""A header that is a price of something: EUR/btl."""
_CODE = re.compile(r"0\d+")
"""Digits that stand for a name: postal codes, telephone numbers."""
_TIME = re.compile(r"(\d{1,3}):([0-5]\d)(?::([0-5]\d))?")
_SLASHED = re.compile(r"(\d{1,2})/(\d{1,2})/(\d{4})")
_POINT, _COMMA = re.compile(r"^[^.]*\d\.(\d+)[^.\d]*$"), re.compile(r"^[^,]*\d,(\d+)[^,\d]*$")
"""Numbers with their decimals, behind a point or a comma."""
LEAP = "2000"
"""A year that has every day."""
_DAY_OF_YEAR = re.compile(rf"\d{{1,2}}(?:st|nd|rd|th|\.)? (?:{MONTH})\.?|(?:{MONTH})\.? \d{{1,2}}", re.IGNORECASE)
"""A day without its year, which is 0000."""
_SHORT_DAY = re.compile(r"(\d{1,2}(?:/\d{1,2}/|\.\d{1,2}\.|-\d{1,2}-))(\d\d)")
_SHORT_MONTH = re.compile(rf"((?:{MONTH})\.?[ -])'?(\d\d)", re.IGNORECASE)
MONTHS = 12
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
    cells = _of_race(_by_day(_with_century(cells)))
    filled = [cell for cell in cells if cell]
    sample, different = filled[:: len(filled) // LOOKED_AT + 1], len({*filled})

    def mostly(read: Callable[[str], object]) -> bool:
        return bool(sample) and sum(read(cell) is not None for cell in sample) >= OF_ONE_KIND * len(sample)

    if filled and all(map(_DAY_OF_YEAR.fullmatch, filled)):
        days = [date_of(f"{cell} {LEAP}") if cell else None for cell in cells]
        return Column(name, "date", different=different), [day and f"0000{day[4:]}" for day in days], []
    if mostly(date_of):
        return Column(name, "date", different=different), [date_of(cell) for cell in cells], []
    if not mostly(number_of) or any(map(_CODE.fullmatch, sample)):
        return Column(name, "text", different=different), [None] * len(cells), []
    comma = _has_decimal_comma(filled)
    read = [number_of(cell, comma) or (None, "") for cell in cells]
    values, units = [value for value, _ in read], [unit for _, unit in read]
    known = [*dict.fromkeys(filter(None, [unit_of(name), *units]))]
    exact = max((len(match[1]) for match in map((_COMMA if comma else _POINT).search, filled) if match), default=0)
    decimals = max(exact, 2) if exact and CURRENCIES.intersection(known) else exact  # 57.40 €
    if len(known) > 1 and not {*known} <= {*UNITS.values(), *CURRENCIES, unit_of(name)}:  # 5A and 5B
        return Column(name, "text", different=different), [None] * len(cells), []
    if len(known) > 1:
        return Column(name, "number", "", known, decimals, different), values, units
    return Column(name, "number", next(iter(known), ""), (), decimals, different), values, []


def _by_day(cells: Sequence[str]) -> Sequence[str]:
    """Return cells whose dates with slashes have dots if the first number of one is no month: 08/07/2023 beside
    18/06/2023.
    """
    slashed = [*filter(None, map(_SLASHED.fullmatch, cells))]
    if any(int(match[1]) > MONTHS for match in slashed) and all(int(match[2]) <= MONTHS for match in slashed):
        return [_SLASHED.sub(r"\1.\2.\3", cell) for cell in cells]
    return cells


def _with_century(cells: Sequence[str]) -> Sequence[str]:
    """Return cells of days or months with two digits of a year, 06/05/24 or Apr 24, with all four: 1940 to 2039."""

    def whole(match: re.Match[str]) -> str:
        return f"{match[1]}{'20' if match[2] < '40' else '19'}{match[2]}"

    filled = [*filter(None, cells)]
    if all(map(_SHORT_DAY.fullmatch, filled)):
        return [_SHORT_DAY.sub(whole, cell) for cell in cells]
    found = [*filter(None, map(_SHORT_MONTH.fullmatch, filled))]
    is_year = len({match[2] for match in found}) <= len({match[1] for match in found})  # days of months are more
    if len(found) == len(filled) and is_year:
        return [_SHORT_MONTH.sub(whole, cell) for cell in cells]
    return cells


def _of_race(cells: Sequence[str]) -> Sequence[str]:
    """Return cells with 36:47 as 0:36:47 if others of the column have hours, minutes and seconds."""
    if any(re.fullmatch(r"\d:[0-5]\d:[0-5]\d", cell) for cell in cells):
        return [f"0:{cell}" if re.fullmatch(r"[0-5]?\d:[0-5]\d", cell) else cell for cell in cells]
    return cells


def date_of(text: str) -> str | None:
    """Return the date that a text is, as far as it says: 2024, 2024-03, 2024-03-05; None for what is none."""
    return (iso_date(text) or None) if _DATE.fullmatch(text) else None


def number_of(text: str, comma: bool | None = None) -> tuple[float, str] | None:
    """Return the number that a text is, and its unit; None for what is none."""
    if match := _TIME.fullmatch(text):
        return int(match[1]) * 3600.0 + int(match[2]) * 60 + int(match[3] or 0), TIME
    match = _NUMBER.fullmatch(_BELOW_ZERO.sub(r"\1-\2", _PLACE.sub("", text.strip())))
    return (_number(match, _has_decimal_comma([text]) if comma is None else comma), _unit(match)) if match else None


def _has_decimal_comma(cells: Sequence[str]) -> bool:
    """Return whether the comma is the decimal mark of a column.

    It is also where all dots of money stand before three digits: 1.140 € is no price to a tenth of a cent.
    """
    matches = [*filter(None, map(_NUMBER.fullmatch, cells))]
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
    match = _UNIT_OF_NAME.search(name) or _PER.fullmatch(name)
    return same_unit(next(filter(None, match.groups()))) if match else ""


def without_unit(name: str) -> str:
    """Return a header without its unit."""
    return _UNIT_OF_NAME.sub("", name) or name
