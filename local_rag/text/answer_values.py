"""Compare short answers to one question: find their places in texts, and their values: a date, a number with its unit,
or a name.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Literal, NamedTuple

from local_rag.core.answer import Conflict, Highlight
from local_rag.core.readings import Reading, ReadSpan, log_odds
from local_rag.text.lexicon import STOP_WORDS
from local_rag.text.marks import without_marks
from local_rag.text.numbers import Quantity, quantities
from local_rag.text.words import WORD, fold, words

LIKE = 70.0
"""The similarity (0 to 100, rapidfuzz's ratio) from which two names may be two spellings of one name."""

_MONTHS = {
    name: number
    for number, names in enumerate(
        "january jan januar,february feb februar,march mar marz,april apr,may mai,june jun juni,july jul juli,"
        "august aug,september sept sep,october oct oktober okt,november nov,december dec dezember dez".split(","),
        start=1,
    )
    for name in names.split()
}
_MONTH = rf"(?P<month>{'|'.join(sorted(_MONTHS, key=len, reverse=True))})\b\.?"
_DATES = [
    re.compile(rf"\b{form}")
    for form in (
        r"(?P<year>\d{4})-(?P<month>\d\d)(?:-(?P<day>\d\d))?\b",
        r"(?P<day>\d{1,2})\.(?P<month>\d{1,2})\.(?P<year>\d{4})\b",
        rf"(?P<day>\d{{1,2}})(?:st|nd|rd|th|\.)? (?:of )?{_MONTH}(?:,? (?P<year>\d{{4}}))?",
        rf"{_MONTH} (?P<day>\d{{1,2}})(?!\d|:)(?:st|nd|rd|th)?(?:,? (?P<year>\d{{4}}))?",
        rf"{_MONTH},? (?P<year>\d{{4}})\b",
        r"(?P<year>1\d{3}|20\d\d)\b(?![.,:%]?\d| ?%)",
    )
]
DATED = re.compile("|".join(re.sub(r"\?P<\w+>", "?:", form.pattern) for form in _DATES[:-1]), re.IGNORECASE)
"""A date that is more than a year."""
_MONTH_ALONE = re.compile(rf"(?:(?i:every|each|in|in late|in early) )?(?=[A-Z])(?i:{_MONTH})")
_CLOCK = re.compile(r"\b(\d{1,2})(?:[:.](\d\d))? ?([ap])\.?m\b", re.IGNORECASE)
_CURRENCIES = ("$", "€", "£", "¥", "chf")
_BEFORE = re.compile(r"(?:(?:[$€£¥]|\b[A-Z]{3}) ?)?[\d.,]*$")
_BEHIND = re.compile(r" ?[ap]\.?m\b|(?:[ -]?[^\W\d_]+){0,2}| ?%")
_DECIMAL = re.compile(r"-?\d+(?:\.\d+)?")


class Value(NamedTuple):
    """Hold the value of a short answer: year, month and day (0 where not given), a number, or the words of a name."""

    kind: Literal["date", "number", "name"]
    date: tuple[int, int, int] = (0, 0, 0)
    number: Quantity = Quantity(0, (), "")
    name: tuple[str, ...] = ()


def value_of(passage: str, start: int, end: int) -> Value | None:
    """Return the value of code points [start, end) of a passage, with the unit around them, or None if they have no
    value.
    """
    text = passage[start:end]
    plain = fold(text)
    if date := next(filter(None, (form.search(plain) for form in _DATES)), None):
        return Value("date", _as_date(date))
    if month := _MONTH_ALONE.fullmatch(text):
        return Value("date", (0, _MONTHS[fold(month["month"])], 0))
    before, behind = _BEFORE.search(passage[:start]), _BEHIND.match(passage[end:])
    wide = f"{before.group() if before else ''}{text}{behind.group() if behind else ''}"
    if found := quantities(_CLOCK.sub(_of_24_hours, wide)):
        return Value("number", number=found[0]) if len(found) == 1 else None
    names = [word for word in WORD.findall(text) if fold(word) not in STOP_WORDS]
    is_name = bool(names) and all(name[0].isupper() for name in names)
    return Value("name", name=tuple(map(fold, names))) if is_name else None


def values_in(text: str) -> list[Value]:
    """Return the dates and numbers of a text."""
    plain = fold(text)
    dates = [Value("date", _as_date(match)) for form in _DATES for match in form.finditer(plain)]
    return dates + [Value("number", number=found) for found in quantities(_CLOCK.sub(_of_24_hours, text))]


def _as_date(match: re.Match[str]) -> tuple[int, int, int]:
    given = match.groupdict()
    month = given.get("month") or "0"
    number = int(month) if month.isdigit() else _MONTHS[month]
    return int(given.get("year") or 0), number, int(given.get("day") or 0)


def _of_24_hours(match: re.Match[str]) -> str:
    """Convert a time to 24 hours: 9:40 pm to 21:40."""
    hour, minutes, half = match.groups()
    return f"{int(hour) % 12 + 12 * (half in 'pP')}:{minutes or '00'}"


def same(first: Value, second: Value) -> bool | None:
    """Return whether two answers say the same, or None if they cannot be compared or it is not certain."""
    if first.kind != second.kind:
        return None
    if first.kind == "date":
        both = [pair for pair in zip(first.date, second.date, strict=True) if all(pair)]
        return all(mine == theirs for mine, theirs in both) if both else None
    return _same_number(first.number, second.number) if first.kind == "number" else _same_name(first.name, second.name)


def _same_number(first: Quantity, second: Quantity) -> bool | None:
    if first.unit != second.unit and ((first.unit and second.unit) or "%" in (first.unit, second.unit)):
        return None
    if not set(first.values).isdisjoint(second.values):
        return True
    mine, theirs = first.values[0], second.values[0]
    if not (_DECIMAL.fullmatch(mine) and _DECIMAL.fullmatch(theirs)):  # 10:30, or a version
        return None if mine.startswith(f"{theirs}.") or theirs.startswith(f"{mine}.") else False
    rounded, exact = sorted((mine, theirs), key=_digits)
    if first.unit == second.unit and first.unit in _CURRENCIES and _digits(rounded) < 2:
        return False  # 2,000 euros are not 1,780
    return None if float(f"{float(exact):.{_digits(rounded) - 1}e}") == float(rounded) else False


def _digits(number: str) -> int:
    """Count the significant digits of a number: 12,480 rounded to two of them is 12,000."""
    return len(number.strip("-0.").replace(".", "")) or 1


def _same_name(first: Sequence[str], second: Sequence[str]) -> bool | None:
    """Return whether two names are the same, or None if they share a word, one abbreviates the other, or their
    spellings are close.
    """
    from rapidfuzz import fuzz

    mine, theirs = set(first), set(second)
    if mine <= theirs or theirs <= mine:
        return True
    initials = {"".join(word[0] for word in name) for name in (first, second)}
    alike = fuzz.partial_ratio(" ".join(first), " ".join(second)) >= LIKE
    return None if mine & theirs or alike or initials & (mine | theirs) else False


SPAN = 0.5
"""The log odds that a span loses per logit behind the best span of its passage (measured on SQuAD v2 dev)."""
CONTEXT = 8
"""The words on each side of a phrase that tell it from equal phrases."""


class RankedSpan(NamedTuple):
    """Hold a span of the `passage`-th passage (counted from 0), and the log odds that it is the answer."""

    passage: int
    span: ReadSpan
    logit: float


def ranked(readings: Sequence[Reading]) -> list[RankedSpan]:
    """Return the spans of all passages, best first; passages are compared by their calibrated probability, never by a
    softmax.
    """
    every = [
        RankedSpan(number, span, log_odds(reading.answerable) + SPAN * (span.logit - reading.spans[0].logit))
        for number, reading in enumerate(readings)
        for span in reading.spans
    ]
    return sorted(every, key=lambda answer: (-round(answer.logit, 3), answer.passage, answer.span.start))


def highlights(text: str, passages: Sequence[str], readings: Sequence[Reading]) -> tuple[Highlight, ...]:
    """Return the place of the best short answer that a text holds; empty if it holds none."""
    places = (place_of(answer.span, passages[answer.passage], text) for answer in ranked(readings))
    return next(((place,) for place in places if place), ())


def highlights_of(text: str, conflicts: Sequence[Conflict]) -> tuple[Highlight, ...]:
    """Return the places in a text of the answers of all sides of a disagreement, the newest first.

    A text that holds only the older side has that side highlighted: highlights show the text's own answer, conflicts
    show what else the files hold.
    """
    places = []
    for position in (position for conflict in conflicts for position in conflict.positions):
        quote = position.citations[0].quote
        start = max(0, quote.find(position.text))
        places.append(place_of(ReadSpan(start, start + len(position.text), position.text, 0.0), quote, text))
    return tuple(dict.fromkeys(place for place in places if place))


def place_of(span: ReadSpan, passage: str, text: str) -> Highlight | None:
    """Return the place of a span's words in a text, or None; of several places, the one that shares most words around
    the span.
    """
    written = without_marks(span.text).split()
    if not written:
        return None
    phrase = re.compile(r"(?<![\w\[])" + r"\s+".join(map(re.escape, written)) + r"(?![\w\]])", re.IGNORECASE)
    around = _around(passage, span.start, span.end)
    places = [match.span() for match in phrase.finditer(text)]
    best = max(places, key=lambda place: (around & _around(text, *place)).total(), default=None)
    return Highlight(*best) if best else None


def _around(text: str, start: int, end: int) -> Counter[str]:
    """Count the words before and after a place, CONTEXT of them on each side."""
    return Counter(words(text[:start])[-CONTEXT:] + words(text[end:])[:CONTEXT])
