"""Amounts in a short text: numbers with their unit or currency, and how precisely they are given."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import ROUND_HALF_DOWN, ROUND_HALF_UP, Decimal
from typing import NamedTuple

from local_rag.text.lexicon import NUMBER_WORDS, STOP_WORDS
from local_rag.text.words import fold, stem

_MAGNITUDES = {
    "hundred": 10**2, "thousand": 10**3, "k": 10**3, "million": 10**6, "mn": 10**6, "mio": 10**6, "billion": 10**9,
    "bn": 10**9, "trillion": 10**12, "dozen": 12,
}  # fmt: skip
_CURRENCIES = {
    "$": "usd", "usd": "usd", "dollar": "usd", "dollars": "usd", "€": "eur", "eur": "eur", "euro": "eur",
    "euros": "eur", "£": "gbp", "gbp": "gbp", "pound": "gbp", "pounds": "gbp", "chf": "chf", "francs": "chf",
    "franc": "chf", "¥": "jpy", "jpy": "jpy", "yen": "jpy",
}  # fmt: skip
_UNITS: dict[str, tuple[str, Decimal]] = {
    name: (dimension, Decimal(factor))
    for dimension, units in {
        "percent": "%:percent:percentage=1",
        "time": "second:seconds:sec:s=1 minute:minutes:min:mins=60 hour:hours:hr:hrs:h=3600 day:days=86400"
        " week:weeks=604800 fortnight=1209600 month:months=2629746 year:years:yr:yrs=31556952",
        "length": "mm=0.001 cm:centimetre:centimetres:centimeter:centimeters=0.01 inch:inches=0.0254"
        " foot:feet:ft=0.3048 yard:yards=0.9144 metre:metres:meter:meters:m=1"
        " km:kilometre:kilometres:kilometer:kilometers=1000 mile:miles:mi=1609.344",
        "mass": "mg:milligram:milligrams=0.001 g:gram:grams=1 ounce:ounces:oz=28.349523 lb:lbs=453.59237"
        " kg:kilo:kilos:kilogram:kilograms=1000 tonne:tonnes:ton:tons=1000000",
        "volume": "ml:millilitre:millilitres=0.001 litre:litres:liter:liters:l=1 gallon:gallons=3.785412",
        "data": "kb:kilobytes=1e3 mb:megabyte:megabytes=1e6 gb:gigabyte:gigabytes=1e9 tb:terabyte:terabytes=1e12",
    }.items()
    for unit in units.split()
    for names, factor in [unit.split("=")]
    for name in names.split(":")
}
_ORDINALS = {
    name: number
    for number, name in enumerate(
        "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth".split(), start=1
    )
}
_HEDGES = frozenset("about around approximately roughly nearly almost some circa ca approx over under".split())
_NUMBER = r"\d{1,3}(?:[,.'’ ]\d{3})+(?:[.,]\d+)?(?![\d])|\d+(?:[.,]\d+)?"
_TOKEN = re.compile(rf"(?P<number>(?:(?<![\w)])[-−])?(?:{_NUMBER}))(?:st|nd|rd|th)?(?![\d])|[$€£¥%]|[^\W\d_]+|[~±–-]")
_CONVERTED = Decimal("0.02")
"""Share by which an amount may differ after it is converted from another unit: a month has 30 or 31 days."""
_HEDGED = Decimal("0.06")
"""Share by which "about" may be off."""


class Amount(NamedTuple):
    """A number, in the basic unit of its dimension where it has one.

    `readings` are its values: "1.200" has two. `step` is the unit of its last digit, `unit` the measure as it is
    written and `dimension` what that measures (a currency, "time", "length" …), both "" where there is none; `things`
    are the stems of what is counted. `hedged`: it says of itself that it is rounded.
    """

    readings: tuple[Decimal, ...]
    step: Decimal
    unit: str
    dimension: str
    things: frozenset[str]
    hedged: bool


class _Number(NamedTuple):
    readings: tuple[Decimal, ...]
    step: Decimal
    end: int
    """The place of the token behind it."""


def amounts(text: str) -> list[Amount]:
    """The amounts of a short text in their order, those that are written as words, too."""
    return list(_amounts([match.group() for match in _TOKEN.finditer(_prepared(text))]))


def _prepared(text: str) -> str:
    """Folded, with plain blanks and signs, and a blank between a number and its unit."""
    plain = re.sub(r"[\u00a0\u202f\u2009]", " ", text).replace("\u2212", "-").replace("\u2019", "'")
    plain = re.sub(r"(?<=\d)(?=[^\W\d_])(?!(?:st|nd|rd|th)\b)", " ", fold(plain))
    plain = re.sub(r"\b(\d+|one|two|three|four|five|six|seven|eight|nine|ten) and a half\b", _and_a_half, plain)
    return re.sub(r"\bper cent\b", "percent", plain)


def _and_a_half(match: re.Match[str]) -> str:
    number = match.group(1)
    return f"{number if number.isdecimal() else NUMBER_WORDS[number]}.5"


def _amounts(tokens: list[str]) -> Iterator[Amount]:
    place = 0
    while place < len(tokens):
        number = _in_digits(tokens, place) or _in_words(tokens, place)
        if number is None:
            place += 1
            continue
        before = tokens[max(0, place - 3) : place]
        money = _CURRENCIES.get(before[-1], "") if before else ""
        end, scale = number.end, Decimal(1)
        while end < len(tokens) and (tokens[end] in _MAGNITUDES or (money and tokens[end] == "m")):
            scale *= _MAGNITUDES.get(tokens[end], 10**6)
            end += 1
        unit, dimension, factor = _unit(tokens[end : end + 2], money)
        things = () if dimension else (stem(word) for word in tokens[end : end + 3] if _is_thing(word))
        yield Amount(
            tuple(dict.fromkeys(value * scale * factor for value in number.readings)),
            number.step * scale * factor,
            unit,
            dimension,
            frozenset(things),
            any(token in _HEDGES or token == "~" for token in before),
        )
        place = end


def _in_digits(tokens: list[str], place: int) -> _Number | None:
    """A number in digits: 1,200 and 1.200,50; "1.200" may be two."""
    if not re.match(r"-?\d", tokens[place]):
        return None
    digits = re.sub(r"(?:st|nd|rd|th)$|[' ]", "", tokens[place])
    separators = re.findall(r"[.,]", digits)
    whole = Decimal(re.sub(r"[.,]", "", digits))
    if not separators:
        return _Number((whole,), Decimal(1), place + 1)
    last = digits.rfind(separators[-1])
    decimals = len(digits) - last - 1
    broken = Decimal(re.sub(r"[.,]", "", digits[:last]) + "." + digits[last + 1 :])
    if len(set(separators)) == 2 or (len(separators) == 1 and decimals != 3):
        return _Number((broken,), Decimal(1).scaleb(-decimals), place + 1)
    readings = (broken, whole) if separators == ["."] else (whole,)
    return _Number(readings, Decimal(1), place + 1)


def _in_words(tokens: list[str], place: int) -> _Number | None:
    """A number in words: twenty-five, three hundred and fifty, second."""
    if tokens[place] in _ORDINALS:
        return _Number((Decimal(_ORDINALS[tokens[place]]),), Decimal(1), place + 1)
    total, group, end, begun = 0, 0, place, False
    while end < len(tokens):
        token = tokens[end]
        if token in _MAGNITUDES and begun:
            group *= _MAGNITUDES[token]
            total, group = (total, group) if token in ("hundred", "dozen") else (total + group, 0)
        elif token in NUMBER_WORDS and token not in {"once", "twice", *_MAGNITUDES}:
            group, begun = group + int(NUMBER_WORDS[token]), True
        elif not (begun and token in ("and", "-") and tokens[end + 1 : end + 2] and tokens[end + 1] in NUMBER_WORDS):
            break
        end += 1
    value = Decimal(total + group)
    step = next((Decimal(10) ** power for power in (9, 6) if begun and value % 10**power == 0 and value), Decimal(1))
    return _Number((value,), step, end) if begun else None


def _unit(behind: list[str], money: str) -> tuple[str, str, Decimal]:
    """The measure behind a number, what it measures, and how much of the basic unit it is."""
    token = behind[1] if behind[:1] == ["-"] and len(behind) > 1 else next(iter(behind), "")
    if money or token in _CURRENCIES:
        return "money", money or _CURRENCIES[token], Decimal(1)
    return (token, *_UNITS[token]) if token in _UNITS else ("", "", Decimal(1))


def _is_thing(word: str) -> bool:
    return len(word) > 2 and word.isalpha() and word not in STOP_WORDS


def agree(first: Amount, second: Amount) -> bool | None:
    """Whether both can be the same amount, one of them rounded or in another unit.

    None where they cannot be compared: they measure or count different things, or are other amounts of money in another
    currency.
    """
    equal = not set(first.readings).isdisjoint(second.readings)
    if first.dimension and second.dimension and first.dimension != second.dimension:
        return False if equal and first.unit == second.unit == "money" else None
    if first.things and second.things and not first.things & second.things:
        return None
    return equal or _is_rounded(first, second) or _is_near(first, second)


def _is_rounded(first: Amount, second: Amount) -> bool:
    """Whether the one that is given less precisely is the other one, rounded to its last digit."""
    coarse, fine = (first, second) if first.step > second.step else (second, first)
    if coarse.step == fine.step:
        return False
    rounded = {
        (value / coarse.step).quantize(Decimal(1), how)
        for value in fine.readings
        for how in (ROUND_HALF_UP, ROUND_HALF_DOWN)
    }
    return any(value / coarse.step in rounded for value in coarse.readings)


def _is_near(first: Amount, second: Amount) -> bool:
    """Whether they differ by no more than "about" or another unit allows."""
    converted = first.unit.rstrip("s") != second.unit.rstrip("s") and bool(first.dimension and second.dimension)
    share = _HEDGED if first.hedged or second.hedged else _CONVERTED if converted else Decimal(0)
    return any(
        abs(mine - theirs) <= share * max(abs(mine), abs(theirs))
        for mine in first.readings
        for theirs in second.readings
    )
