"""Parts of an answer put together: sentences go on, a list goes on in its lines and numbers, a table in its rows."""

from __future__ import annotations

import re

from local_rag.text.marks import begins_item
from local_rag.text.tables import cells, tables

_NUMBERED = re.compile(r"^([ \t]*)(\d{1,2})([.)])(?=[ \t]+\S)", re.MULTILINE)


def with_part(before: str, part: str) -> str:
    """The answer with a further part behind it. Numbers of a list and headings of a table are not begun anew."""
    part = part.strip()
    if not before:
        return part
    if (table := _rows_alone(before, part)) is not None:
        return f"{before}\n{table}"
    numbers = [int(match[2]) for match in _NUMBERED.finditer(before)]
    if numbers and _NUMBERED.match(part):
        following = iter(range(numbers[-1] + 1, 100))
        part = _NUMBERED.sub(lambda match: f"{match[1]}{next(following, match[2])}{match[3]}", part)
    return f"{before}{gap(before, part)}{part}"


def gap(before: str, part: str = "") -> str:
    """What stands between an answer and its next part, whose beginning may be unknown yet."""
    last = before.rpartition("\n")[2]
    if part and bool(tables(part)):
        return "\n\n"
    lines = "\n" in part or begins_item(last) or begins_item(part) or last.lstrip().startswith("|")
    return "\n" if before and lines else " "


def _rows_alone(before: str, part: str) -> str | None:
    """The rows of a part that goes on with the table at the end of an answer; None for any other part."""
    known, new = tables(before), tables(part)
    if not known or not known[-1].rows or known[-1].rows[-1].end < len(before.rstrip()):
        return None
    if part.startswith("|") and not new:
        return part
    same = bool(new) and new[0].heading.start == 0 and bool(new[0].rows)
    if not same or cells(new[0].heading.of(part)) != cells(known[-1].heading.of(before)):
        return None
    return part[new[0].rows[0].start :]
