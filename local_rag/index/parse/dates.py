"""Dates as files write them -> ISO 8601, as precise as they are."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, date, datetime

from local_rag.index.names import MONTHS

OLDEST_YEAR = 1000
"""A year before it is a number that means something else."""

_LONGEST = 200
"""Characters of a date that are looked at."""

_MONTHS = {"sept": 9} | {
    name: number for number, names in enumerate(MONTHS, 1) for full in names for name in (full, full[:3])
}
_MONTH = rf"(?P<name>{'|'.join(sorted(_MONTHS, reverse=True))})(?![^\W\d_])\.?"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_FORMS = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        r"(?<!\d)(?P<year>\d{4})[-/.](?P<month>\d{1,2})(?:[-/.](?P<day>\d{1,2}))?(?!\d)",
        r"^(?:D:)?(?P<year>\d{4})(?P<month>\d\d)(?:(?P<day>\d\d)(?:T?(?:\d\d){1,3}(?!\d).*)?)?$",
        rf"(?<![^\W_]){_DAY}[ .-]*(?:of )?{_MONTH}[ ,-]*(?P<year>\d{{4}})(?!\d)",
        rf"(?<![^\W\d_]){_MONTH} *{_DAY},? +(?P<year>\d{{4}})(?!\d)",
        rf"(?<![^\W\d_]){_MONTH}[ ,-]*(?P<year>\d{{4}})(?!\d)",
        r"(?<!\d)(?P<day>\d{1,2})\.(?P<month>\d{1,2})\.(?P<year>\d{4})(?!\d)",
        r"(?<!\d)(?P<first>\d{1,2})/(?P<second>\d{1,2})/(?P<year>\d{4})(?!\d)",
        r"(?<!\d)(?:D:)?(?P<year>[12]\d{3})(?!\d)",
    )
)
_WITH_TIME = re.compile(r"(\d{4}-\d\d-\d\d)T\d\d:\d\dZ")


def iso_date(text: str) -> str:
    """The date in a text that is one: "28-Feb-2018" is "2018-02-28", "March 2018" is "2018-03", "c. 1890" is "1890".

    A time is left out, but for one that `iso_time` wrote. Of 3/4/2018 only the year is certain. Empty for what is no
    date, for years before OLDEST_YEAR and after next year.
    """
    text = text[:_LONGEST].strip()
    if _WITH_TIME.fullmatch(text):
        return text if _written(text[:4], text[5:7], text[8:10]) else ""
    return next((written for form in _FORMS if (match := form.search(text)) and (written := _of(match))), "")


def iso_time(when: datetime) -> str:
    """A moment in UTC, to the minute: "2023-03-31T09:30Z"; one without a zone is taken for UTC. Empty as `iso_date`."""
    with suppress(OverflowError, ValueError):
        when = when.astimezone(UTC) if when.tzinfo else when
        return iso_date(f"{when:%Y-%m-%dT%H:%M}Z".rjust(17, "0"))
    return ""


def _of(match: re.Match[str]) -> str:
    groups = match.groupdict()
    year, month, day = (groups.get(name) or "" for name in ("year", "month", "day"))
    if name := groups.get("name"):
        month = str(_MONTHS[name.lower()])
    if first := groups.get("first"):
        day, month = _day_and_month(first, groups["second"])
    return _written(year, month, day)


def _day_and_month(first: str, second: str) -> tuple[str, str]:
    """3/31 and 31/3 are clear, 3/4 is not."""
    if int(first) > 12:
        return first, second
    return (second, first) if int(second) > 12 else ("", "")


def _written(year: str, month: str, day: str) -> str:
    """The date, if there is such a day."""
    if not OLDEST_YEAR <= int(year) <= date.today().year + 1:
        return ""
    try:
        date(int(year), int(month or 1), int(day or 1))
    except ValueError:
        return ""
    return "-".join(_digits(year, month, day))


def _digits(year: str, month: str, day: str) -> Iterator[str]:
    yield year
    if month:
        yield month.zfill(2)
        if day:
            yield day.zfill(2)
