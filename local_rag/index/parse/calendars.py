"""Calendars (.ics) as text that can be quoted: each event, with the days on which one that repeats takes place."""

from __future__ import annotations

import calendar
import re
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from datetime import date, datetime, timedelta, tzinfo
from itertools import islice
from pathlib import Path
from typing import Any

from local_rag.index.parse.parsed_file import ParsedFile, document, joined
from local_rag.index.parse.properties import stated
from local_rag.index.parse.prose import read

_RULE_SECONDS = 10.0
"""Seconds after which the days of further events are not listed: following a rule that never comes true takes
seconds.
"""

_LATE = "the days of some events that repeat were not listed: their rules took too long"

_MOST_DAYS = 50_000
"""Days of an event that are looked at, the earliest first."""

_LISTED_DAYS = 800
_OLDEST = 1900

_LISTED = ("DAILY", "WEEKLY", "MONTHLY", "YEARLY")
_UNITS = dict(zip(_LISTED, ("day", "week", "month", "year"), strict=True)) | {
    "HOURLY": "hour",
    "MINUTELY": "minute",
    "SECONDLY": "second",
}
_WEEKDAYS = dict(zip("MO TU WE TH FR SA SU".split(), calendar.day_name, strict=True))
_ORDER = {"1": "first", "2": "second", "3": "third", "4": "fourth", "5": "fifth", "-1": "last", "-2": "second last"}

_ENTRIES = {"VEVENT": "Event", "VTODO": "Task", "VJOURNAL": "Note"}
_LINES = {
    "LOCATION": "Where",
    "ORGANIZER": "Organizer",
    "ATTENDEE": "With",
    "STATUS": "Status",
    "CATEGORIES": "Categories",
    "URL": "Link",
}


def load_ics(path: Path) -> ParsedFile:
    """Read a calendar: each event, task or note by its title, with when, where, who and what."""
    from icalendar import Calendar, Component

    Component.ignore_exceptions = True  # a malformed property does not make the calendar unreadable
    calendars: Any = Calendar.from_ical(read(path), multiple=True)
    entries = [entry for calendar in calendars for entry in calendar.walk() if entry.name in _ENTRIES]
    moved = defaultdict[str, list[Any]](list)
    for entry in entries:
        moved[str(entry.get("UID"))] += _moments(entry, "RECURRENCE-ID")
    until = time.monotonic() + _RULE_SECONDS
    blocks = ((*_details(entry), *_dates(entry, moved[str(entry.get("UID"))], until)) for entry in entries)
    text, headings = joined((1, lines[0], "\n".join(lines)) for lines in blocks)
    name = next((str(calendar["X-WR-CALNAME"]) for calendar in calendars if "X-WR-CALNAME" in calendar), "")
    title, date = (_summary(entries[0]), _when(entries[0])) if len(entries) == 1 else ("", "")
    found = document(text, title, headings=headings, properties=stated(name, date=date))
    return ParsedFile((found,), (_LATE,) if time.monotonic() > until else ())


def _summary(entry: Any) -> str:
    return " ".join(_shown(entry.get("SUMMARY", "")).split()) or _ENTRIES[entry.name]


def _details(entry: Any) -> Iterator[str]:
    """Yield the title of an event, lines "Name: value", and its description."""
    yield _summary(entry)
    lines = {"Due" if entry.name == "VTODO" else "When": _when(entry)}
    lines["Instead of"] = ", ".join(map(_day, _moments(entry, "RECURRENCE-ID")))
    lines["Repeats"] = _repeats(entry["RRULE"]) if isinstance(entry.get("RRULE"), dict) else ""
    lines["Not on"] = ", ".join(map(_day, _moments(entry, "EXDATE")))
    lines |= {shown: " ".join(_shown(entry.get(name, "")).split()) for name, shown in _LINES.items()}
    yield from (f"{name}: {value}" for name, value in lines.items() if value)
    yield _shown(entry.get("DESCRIPTION", ""))


def _repeats(rule: Any) -> str:
    """Return a rule (RFC 5545, section 3.3.10) in words: "every 2 weeks on Monday, until 2026-06-30"."""
    said = {name: values if isinstance(values, list) else [values] for name, values in rule.items()}
    unit, times = _UNITS.get(str(said.get("FREQ", [""])[0]), ""), said.get("INTERVAL", [1])[0]
    words = [f"every {unit}" if times == 1 else f"every {times} {unit}s"]
    for name, form in (("BYDAY", "on {}"), ("BYMONTHDAY", "on day {}"), ("BYMONTH", "in {}")):
        if values := said.get(name):
            words.append(form.format(", ".join(map(_weekday if name == "BYDAY" else str, values))))
    words += [f"on {_ORDER.get(str(place), f'{place}.')} of them" for place in said.get("BYSETPOS", ())]
    words += [f"{count} times" for count in said.get("COUNT", ())]
    words += [f"until {_shown(until)}" for until in said.get("UNTIL", ())]
    return ", ".join(words) if unit else ""


def _weekday(day: str) -> str:
    """Return a day such as TU, 2TU or -1FR in words."""
    order, name = day[:-2].lstrip("+"), _WEEKDAYS.get(day[-2:], day)
    return f"the {_ORDER.get(order, f'{order}.')} {name}" if order else name


def _moments(entry: Any, name: str) -> list[Any]:
    """Return the moments of a property, of a period its start; none that is malformed."""
    found = entry.get(name, [])
    known = [getattr(each, "__dict__", {}) for each in (found if isinstance(found, list) else [found])]
    dates = [vars(one).get("dt") for each in known for one in each.get("dts", ())]
    moments = [each[0] if isinstance(each, tuple) else each for each in [*dates, *(each.get("dt") for each in known)]]
    return [each for each in moments if isinstance(each, date)][:_MOST_DAYS]


def _dates(entry: Any, moved: list[Any], deadline: float) -> Iterator[str]:
    """Yield a line for each day on which an event takes place, in the year behind and the year ahead, or in its first
    year where it does in neither.

    What was moved has an entry of its own.
    """
    from dateutil.rrule import rrulestr

    if time.monotonic() > deadline or not {"RRULE", "RDATE", "RECURRENCE-ID"} & set(entry):
        return
    with suppress(AttributeError, KeyError, ValueError, TypeError, OverflowError):
        start, zone = _local(entry.start, None), getattr(entry.start, "tzinfo", None)
        now = datetime.now()
        year = timedelta(days=366)
        last = max(now, start) + year
        days = {start, *(_local(each, zone) for each in _moments(entry, "RDATE"))}
        rule, count = dict(entry.get("RRULE") or {}), _MOST_DAYS
        if rule and rule["FREQ"][0] in _LISTED and start.year >= _OLDEST:
            count = min([count, *rule.pop("COUNT", ())])
            until = min([last, *(_local(each, zone) for each in rule.pop("UNTIL", ()))])
            text = type(entry["RRULE"])(rule).to_ical().decode()
            days |= set(islice(rrulestr(text, dtstart=start).replace(until=until), count))
        days -= {
            _local(each, zone) for each in (*_moments(entry, "EXDATE"), *(() if "RECURRENCE-ID" in entry else moved))
        }
        near = [day for day in days if now - year <= day <= now + year]
        for day in sorted(near or [day for day in days if day <= start + year])[:_LISTED_DAYS]:
            clock = f", {day:%H:%M}" if isinstance(entry.start, datetime) else ""
            yield f"{_day(day)}{clock}: {_summary(entry)}."


def _local(moment: Any, zone: tzinfo | None) -> datetime:
    """Return a moment as a clock of the event shows it."""
    if not isinstance(moment, datetime):
        return datetime.combine(moment, datetime.min.time())
    return (moment.astimezone(zone) if zone and moment.tzinfo else moment).replace(tzinfo=None)


def _day(day: date) -> str:
    """Return a day as people ask for it: "Tuesday 17 March 2026"."""
    return f"{day:%A} {day.day} {day:%B} {day.year}"


def _when(entry: Any) -> str:
    """Return beginning and end in words; the end of whole days is the day after them (RFC 5545, section 3.6.1)."""
    moments = []
    for name in ("start", "end"):
        with suppress(AttributeError, ValueError):
            moments.append(getattr(entry, name))
    if moments and not isinstance(moments[-1], datetime) and moments[-1] > moments[0]:
        moments[-1] -= timedelta(days=1)
    return " to ".join(dict.fromkeys(map(_shown, moments)))


def _shown(value: Any) -> str:
    """Return a value as a person reads it: "2023-03-31 09:30 Europe/Berlin", "Ada <ada@example.org>"."""
    if isinstance(value, list):
        return ", ".join(map(_shown, value))
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M} {value.tzinfo or ''}".strip()
    if isinstance(value, date):
        return str(value)
    if not isinstance(value, str):
        return str(value.to_ical().decode())
    address, name = re.sub(r"(?i)^mailto:", "", value), getattr(value, "params", {}).get("CN")
    return f"{name} <{address}>" if name else address
