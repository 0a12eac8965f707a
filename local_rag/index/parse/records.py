"""Records as text that can be quoted: JSON, notebooks, calendars (.ics) and subtitles (.srt, .vtt)."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from local_rag.core.documents import PLACE
from local_rag.index.parse.parsed_file import UNKNOWN, ParsedFile, Properties, clean, document, joined
from local_rag.index.parse.properties import from_mapping, stated
from local_rag.index.parse.prose import markdown, read

_LONG_NAME = 200
"""Characters of a name that stands before each value of JSON; of a longer one, the innermost parts.

A long key above many values would make a text many times as large as the file."""

_PLACES = 5_000
"""Times of a file that a citation can name."""

_CUE = re.compile(r"^\s*(?P<time>(?:\d+:)?\d\d:\d\d)[.,]\d{3}[ \t]+-->.*\n(?P<text>(?:.*\S.*\n?)*)", re.MULTILINE)
_VOICE = re.compile(r"<v[. ][^>]*?([^>. ][^>]*)>")
_MARKUP = re.compile(r"</?[a-zA-Z\d][^<>]*>|\{\\[^{}]*\}")


def load_json(path: Path) -> ParsedFile:
    """JSON as readable lines; what is no JSON, or is nested too deeply, is read as the text it is."""
    text = read(path)
    try:
        value = json.loads(text)
        return ParsedFile((document(clean("\n\n".join(_records(value))) or text, properties=_properties(value)),))
    except (ValueError, RecursionError):
        return ParsedFile((document(text),))


def load_notebook(path: Path) -> ParsedFile:
    """A Jupyter notebook as Markdown: its cells, code between fences, with the texts that they put out
    (https://nbformat.readthedocs.io/en/latest/format_description.html). What is no notebook is the text it is.
    """
    text = read(path)
    try:
        notebook = json.loads(text)
        text = clean("\n\n".join(block for cell in notebook["cells"] for block in _cell(cell))) or text
        properties = _properties(notebook.get("metadata"))
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
        return ParsedFile((document(text),))
    text, headings = markdown(text)
    return ParsedFile((document(text, headings[0].text if headings else "", headings=headings, properties=properties),))


def _cell(cell: Any) -> Iterator[str]:
    source = "".join(cell["source"]).strip("\n")
    is_code = cell["cell_type"] == "code"
    if source.strip():
        yield f"```\n{source}\n```" if is_code else source
    for output in cell.get("outputs", ()) if is_code else ():
        plain = output.get("text") or output.get("data", {}).get("text/plain") or output.get("evalue") or ""
        if said := "".join(plain).strip("\n"):
            yield f"```\n{said}\n```"


def load_jsonl(path: Path) -> ParsedFile:
    """One JSON value per line, each a paragraph; a broken line is read as the text it is."""
    lines = []
    for line in read(path).split("\n"):
        try:
            lines.append(" ".join(_records(json.loads(line))) if line.strip() else "")
        except (ValueError, RecursionError):
            lines.append(line)
    return ParsedFile((document(clean("\n\n".join(line for line in lines if line.strip()))),))


def _properties(value: Any) -> Properties:
    return from_mapping(value) if isinstance(value, dict) else UNKNOWN


def _records(value: Any) -> Iterator[str]:
    """Paragraphs: one per element of a list of objects, one per key of an object."""
    for record, leaves in itertools.groupby(_leaves(value, ()), key=lambda leaf: _record_path(leaf[0])):
        named = [step for step in record if isinstance(step, str)]
        yield _pair(named, "; ".join(_pair(path[len(record) :], text) for path, text in leaves))


def _leaves(value: Any, path: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], str]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            if len(key) > _LONG_NAME:
                yield path, key  # a text of its own
            yield from _leaves(inner, (*path, key[:_LONG_NAME]))
    elif isinstance(value, list) and any(isinstance(inner, dict | list) for inner in value):
        for number, inner in enumerate(value):
            yield from _leaves(inner, (*path, number))
    elif isinstance(value, list):
        if value:
            yield path, ", ".join(map(_word, value))
    elif value is not None and value != "":
        yield path, _word(value)


def _word(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _record_path(path: tuple[str | int, ...]) -> tuple[str | int, ...]:
    """What a record shares: the way to the innermost element of a list, else to the parent object."""
    numbers = [index for index, step in enumerate(path) if isinstance(step, int)]
    return path[: numbers[-1] + 1] if numbers else path[:1] if len(path) > 1 else ()


def _pair(path: Sequence[str | int], text: str) -> str:
    name = _name(path)
    return f"{name}: {text}" if name else text


def _name(path: Sequence[str | int]) -> str:
    steps, length = list[str](), 0
    for step in reversed(path):
        length += len(str(step)) + 1
        if length > _LONG_NAME + 1 and steps:
            break
        steps.append(str(step))
    return ".".join(reversed(steps))


_ENTRIES = {"VEVENT": "Event", "VTODO": "Task", "VJOURNAL": "Note"}


def load_ics(path: Path) -> ParsedFile:
    """A calendar: each event, task or note by its title, with when, where, who and what."""
    from icalendar import Calendar, Component

    Component.ignore_exceptions = True  # a malformed property does not make the calendar unreadable
    calendars: Any = Calendar.from_ical(read(path), multiple=True)
    entries = [entry for calendar in calendars for entry in calendar.walk() if entry.name in _ENTRIES]
    titles = [" ".join(str(entry.get("SUMMARY", "")).split()) or _ENTRIES[entry.name] for entry in entries]
    blocks = ((1, title, "\n".join([title, *_details(entry)])) for title, entry in zip(titles, entries, strict=True))
    text, headings = joined(blocks)
    name = next((str(calendar["X-WR-CALNAME"]) for calendar in calendars if "X-WR-CALNAME" in calendar), "")
    first = str(_value(entries[0], "DTSTART", "dt") or "") if len(entries) == 1 else ""
    title = titles[0] if len(titles) == 1 else ""
    return ParsedFile((document(text, title, headings=headings, properties=stated(name, date=first)),))


def _details(entry: Any) -> Iterator[str]:
    """The lines "Name: value" of an event, and its description."""
    rule: Any = entry.get("RRULE")
    lines = {
        "When": _when(entry),
        "Due": _shown(_value(entry, "DUE", "dt")),
        "Repeats": rule.to_ical().decode() if hasattr(rule, "to_ical") else "",
        "Where": entry.get("LOCATION"),
        "Organizer": _people(entry.get("ORGANIZER")),
        "With": _people(entry.get("ATTENDEE")),
        "Status": entry.get("STATUS"),
        "Categories": ", ".join(map(str, _value(entry, "CATEGORIES", "cats") or ())),
        "Link": entry.get("URL"),
    }
    yield from (f"{name}: {' '.join(str(value).split())}" for name, value in lines.items() if value)
    yield str(entry.get("DESCRIPTION", "")).strip()


def _value(entry: Any, name: str, attribute: str) -> Any:
    """An attribute of a property; None where the property is missing or malformed."""
    try:
        return getattr(entry.get(name), attribute)
    except (AttributeError, ValueError):
        return None


def _when(entry: Any) -> str:
    """From when to when; the end of whole days is the day after them (RFC 5545, section 3.6.1)."""
    start, end, length = (_value(entry, name, "dt") for name in ("DTSTART", "DTEND", "DURATION"))
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


def _people(value: Any) -> str:
    """Names with addresses: "Ada <ada@example.org>"."""
    people = []
    for person in value if isinstance(value, list) else [value] if value else []:
        address = re.sub(r"(?i)^mailto:", "", str(person))
        name = str(getattr(person, "params", {}).get("CN", ""))
        people.append(f"{name} <{address}>" if name and name != address else address)
    return ", ".join(people)


def load_subtitles(path: Path) -> ParsedFile:
    """What is said, a line for each caption, without its markup; a citation names the time of its first one."""
    text = read(path)
    cues = [(PLACE, cue["time"], _said(cue["text"])) for cue in _CUE.finditer(text)]
    new = [cue for at, cue in enumerate(cues) if not at or cue[2] != cues[at - 1][2]]
    said, times = joined(new, "\n")
    return ParsedFile((document(said or text, headings=times[:: len(times) // _PLACES + 1]),))


def _said(caption: str) -> str:
    return " ".join(_MARKUP.sub("", _VOICE.sub(r"\1: ", caption)).split())
