"""The dates and times that a short answer gives, as precisely as it gives them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from local_rag.text.words import fold

_MONTHS = {
    name: number
    for number, names in enumerate(
        "january jan januar,february feb februar,march mar marz maerz,april apr,may mai,june jun juni,july jul juli,"
        "august aug,september sept sep,october oct oktober okt,november nov,december dec dezember dez".split(","),
        start=1,
    )
    for name in names.split()
}
_MONTH = r"(?P<month>" + "|".join(sorted(_MONTHS, key=len, reverse=True)) + r")\b\.?"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th|\.)?"
_YEAR = r"(?P<year>\d{4})(?!\d)"
_WEEKDAYS = {
    name: number
    for number, names in enumerate(
        "monday mon montag,tuesday tue tues dienstag,wednesday wed mittwoch,thursday thu thurs donnerstag,"
        "friday fri freitag,saturday sat samstag,sunday sun sonntag".split(","),
    )
    for name in names.split()
}
_FORMS = tuple(
    re.compile(rf"\b{form}")
    for form in (
        r"(?P<year>\d{4})-(?P<month>\d{1,2})(?:-(?P<day>\d{1,2}))?(?!\d|-\d)",
        rf"{_DAY} (?:of )?{_MONTH}(?:,? (?:of )?{_YEAR})?",
        rf"{_MONTH} {_DAY}(?!\d|:)(?:,? {_YEAR})?",
        rf"{_MONTH},? (?:of )?{_YEAR}",
        r"(?P<year>\d{4})/(?P<month>\d{1,2})/(?P<day>\d{1,2})(?!\d)",
    )
)
_NUMERIC = re.compile(r"\b(\d{1,2})[./](\d{1,2})[./](\d{4}|\d{2})(?!\d)")
_DECADE = re.compile(r"\b(\d{3}0)'?s\b")
_CENTURY = re.compile(r"\b(\d{1,2})(?:st|nd|rd|th) century\b")
_YEAR_ALONE = re.compile(r"(?<![\d.,:/-])\b(1\d{3}|20\d\d)\b(?!\d|[.,:]\d|\s?(?:%|percent|euros?|dollars?))")
_CLOCK = re.compile(r"\b(\d{1,2})(?:[:.](\d\d))? ?(a\.?m\b|p\.?m\b|o'clock|uhr\b)?")
_MONTH_ALONE = re.compile(rf"\b{_MONTH}")


@dataclass(frozen=True, slots=True)
class Moment:
    """A date or a time of day; what is not said is None.

    `years` is the first and the last year that it may be in: the same one twice, or a decade or a century. `minute` is
    that of the day, `weekday` 0 for a Monday.
    """

    years: tuple[int, int] | None = None
    month: int | None = None
    day: int | None = None
    weekday: int | None = None
    minute: int | None = None

    def agrees(self, other: Moment) -> bool | None:
        """Whether both can be the same moment; None where they have nothing in common that could be compared."""
        compared = [
            mine == theirs
            for mine, theirs in (
                (self.month, other.month),
                (self.day, other.day),
                (self.weekday, other.weekday),
                (self.minute, other.minute),
            )
            if mine is not None and theirs is not None
        ]
        if self.years and other.years:
            compared.append(self.years[0] <= other.years[1] and other.years[0] <= self.years[1])
        return all(compared) if compared else None


def moments(text: str) -> tuple[Moment, ...]:
    """The moments that a short text may mean: several where day and month could be either. Empty where it names none.

    Of a text with several dates, such as "from 3 to 5 May 2021", the first whole one counts.
    """
    plain = " ".join(fold(text).replace(",", ", ").split())
    days = (word if word in _WEEKDAYS else word.removesuffix("s") for word in re.findall(r"[a-z]+", plain))
    weekday = next((_WEEKDAYS[day] for day in days if day in _WEEKDAYS), None)
    dates = _dates(plain)
    minute = _minute(plain) if not dates or ":" in plain else None
    if dates:
        return tuple(Moment(date.years, date.month, date.day, weekday, minute) for date in dates)
    if weekday is None and minute is None:
        return ()
    return (Moment(weekday=weekday, minute=minute),)


def _dates(plain: str) -> list[Moment]:
    for form in _FORMS:
        if match := form.search(plain):
            parts = match.groupdict()
            year, day = parts.get("year"), parts.get("day")
            month = parts["month"]
            number = int(month) if month.isdigit() else _MONTHS[month]
            if 1 <= number <= 12 and (day is None or 1 <= int(day) <= 31):
                return [Moment((int(year), int(year)) if year else None, number, int(day) if day else None)]
    if match := _NUMERIC.search(plain):
        first, second, written = (int(part) for part in match.groups())
        year = written + (2000 if written < 50 else 1900) * (written < 100)
        pairs = {(first, second), (second, first)} if "/" in match.group() else {(first, second)}
        return [Moment((year, year), month, day) for day, month in sorted(pairs) if month <= 12 and day <= 31]
    for pattern, years in ((_DECADE, 10), (_CENTURY, 100)):
        if match := pattern.search(plain):
            begin = int(match.group(1)) if years == 10 else (int(match.group(1)) - 1) * 100 + 1
            return [Moment((begin, begin + years - 1))]
    if match := _YEAR_ALONE.search(plain):
        return [Moment((int(match.group(1)),) * 2)]
    if (match := _MONTH_ALONE.search(plain)) and match.group("month") not in ("may", "mar", "sep", "dec"):
        return [Moment(None, _MONTHS[match.group("month")])]
    return [Moment(None, 5)] if re.fullmatch(r"(?:in |early |late |mid-)?may", plain) else []


def _minute(plain: str) -> int | None:
    if "noon" in plain.split() or "midnight" in plain.split():
        return 720 if "noon" in plain else 0
    for match in _CLOCK.finditer(plain):
        hour, minutes, half = int(match.group(1)), match.group(2), match.group(3)
        if ((minutes and ":" in match.group()) or half) and hour <= 24 and int(minutes or 0) < 60:
            afternoon = half is not None and half.startswith("p") and hour < 12
            midnight = half is not None and half.startswith("a") and hour == 12
            return (hour + 12 * afternoon - 12 * midnight) * 60 + int(minutes or 0)
    return None
