"""Texts with times: calendars (.ics) and subtitles (.srt, .vtt)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from local_rag.core.documents import PLACE
from local_rag.core.errors import FileSkipped
from local_rag.index.parse.parsed_file import ParsedFile, clean, document, joined
from local_rag.index.parse.properties import stated
from local_rag.index.parse.prose import read

_PLACES = 5_000
"""Times of a file that a citation can name."""

_CUE = re.compile(r"^\s*(?P<time>(?:\d+:)?\d\d:\d\d)[.,]\d{3}[ \t]+-->.*\n(?P<text>(?:.*\S.*\n?)*)", re.MULTILINE)
_VOICE = re.compile(r"<v[. ][^>]*?([^>. ][^>]*)>")
_MARKUP = re.compile(r"</?[a-zA-Z\d][^<>]*>|\{\\[^{}]*\}")

_RULES = {"INTERVAL": "interval {}", "BYDAY": "on {}", "COUNT": "{} times", "UNTIL": "until {}"}


def load_subtitles(path: Path) -> ParsedFile:
    """What is said, a line for each caption, without its markup; a citation names the time of its first one."""
    text = read(path)
    cues = [(PLACE, cue["time"], _said(cue["text"])) for cue in _CUE.finditer(text)]
    new = [cue for at, cue in enumerate(cues) if not at or cue[2] != cues[at - 1][2]]
    said, times = joined(new, "\n")
    return ParsedFile((document(said or text, headings=times[:: len(times) // _PLACES + 1]),))


def _said(caption: str) -> str:
    return " ".join(_MARKUP.sub("", _VOICE.sub(r"\1: ", caption)).split())


def load_ics(path: Path) -> ParsedFile:
    """A calendar: each event, task or note by its title, with when, where, who and what."""
    from icalendar import Calendar, Component

    Component.ignore_exceptions = True  # a malformed property does not make the calendar unreadable
    try:
        calendars: Any = Calendar.from_ical(read(path), multiple=True)
    except (ValueError, KeyError, IndexError) as error:
        raise FileSkipped("is damaged (it cannot be read as a calendar)") from error
    entries = [entry for calendar in calendars for entry in calendar.walk() if entry.name in _ENTRIES]
    titles = [_line(entry.get("SUMMARY")) or _ENTRIES[entry.name] for entry in entries]
    text, headings = joined(
        (1, title, "\n".join([title, *_details(entry)])) for title, entry in zip(titles, entries, strict=True)
    )
    name = next((str(calendar["X-WR-CALNAME"]) for calendar in calendars if "X-WR-CALNAME" in calendar), "")
    first = next((str(_of(entry, "DTSTART", "dt") or "") for entry in entries), "") if len(entries) == 1 else ""
    properties = stated(name, date=first)
    title = titles[0] if len(titles) == 1 else ""
    return ParsedFile((document(text, title, headings=headings, properties=properties),))


_ENTRIES = {"VEVENT": "Event", "VTODO": "Task", "VJOURNAL": "Note"}


def _details(entry: Any) -> Iterator[str]:
    """The lines "Name: value" of an event, and its description."""
    lines = {
        "When": _when(entry),
        "Due": _shown(_of(entry, "DUE", "dt")),
        "Repeats": _repeats(entry.get("RRULE")),
        "Where": _line(entry.get("LOCATION")),
        "Organizer": _people(entry.get("ORGANIZER")),
        "With": _people(entry.get("ATTENDEE")),
        "Status": _line(entry.get("STATUS")).lower(),
        "Categories": ", ".join(map(str, _of(entry, "CATEGORIES", "cats") or ())),
        "Link": _line(entry.get("URL")),
    }
    yield from (f"{name}: {value}" for name, value in lines.items() if value)
    if described := str(entry.get("DESCRIPTION", "")).strip():
        yield described


def _of(entry: Any, name: str, attribute: str) -> Any:
    """An attribute of a property; None where the property is missing or malformed."""
    try:
        return getattr(entry.get(name), attribute)
    except (AttributeError, ValueError):
        return None


def _when(entry: Any) -> str:
    """From when to when; the end of whole days is the day after them (RFC 5545, section 3.6.1)."""
    start, end, length = (_of(entry, name, "dt") for name in ("DTSTART", "DTEND", "DURATION"))
    end = start + length if start and not end and length else end
    if start and not isinstance(start, datetime):
        last = end - timedelta(days=1) if end else start
        return f"{start}, all day" if last <= start else f"{start} to {last}, all day"
    return " to ".join(filter(None, (_shown(start), _shown(end) if end != start else "")))


def _shown(moment: Any) -> str:
    """A moment with its zone: "2023-03-31 09:30 Europe/Berlin"."""
    if not isinstance(moment, datetime):
        return str(moment or "")
    return f"{moment:%Y-%m-%d %H:%M} {moment.tzinfo or ''}".strip()


def _repeats(rule: Any) -> str:
    """A rule in words: "weekly, on MO, WE, until 2023-12-31"."""
    if not isinstance(rule, dict) or not rule.get("FREQ"):
        return ""
    parts = [str(rule["FREQ"][0]).lower()]
    for name, words in _RULES.items():
        if values := rule.get(name):
            parts.append(words.format(", ".join(map(_shown, values))))
    return ", ".join(parts)


def _people(value: Any) -> str:
    """Names with addresses: "Ada <ada@example.org>"."""
    people = []
    for person in value if isinstance(value, list) else [value] if value else []:
        address = re.sub(r"^mailto:", "", str(person), flags=re.IGNORECASE)
        name = str(getattr(person, "params", {}).get("CN", ""))
        people.append(f"{name} <{address}>" if name and name != address else address)
    return ", ".join(people)


def _line(value: Any) -> str:
    return " ".join(clean(str(value or "")).split())
