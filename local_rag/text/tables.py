"""Tables in Markdown that an answer holds (GFM, section 4.10): a line of headings, a delimiter row, and the rows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from local_rag.text.sentences import Span, stripped

_DELIMITER = re.compile(r"[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*")
_LINE = re.compile(r"[^\n]*")


class Table(NamedTuple):
    """Spans of lines without the blanks around them."""

    heading: Span
    delimiter: Span
    rows: tuple[Span, ...]


def tables(text: str) -> list[Table]:
    """The tables of a text. A row is a line with a bar; the first line without one ends the table."""
    if "|" not in text:
        return []
    lines = [stripped(text, *match.span()) for match in _LINE.finditer(text) if match.group() or match.start() == 0]
    complete: list[Table] = []
    number = 1
    while number < len(lines):
        heading, delimiter = lines[number - 1], lines[number]
        number += 1
        if not (_adjoin(text, heading, delimiter) and _is_delimiter(delimiter.of(text)) and "|" in heading.of(text)):
            continue
        rows: list[Span] = []
        before = delimiter
        while number < len(lines) and _adjoin(text, before, lines[number]) and "|" in lines[number].of(text):
            before = lines[number]
            rows.append(before)
            number += 1
        complete.append(Table(heading, delimiter, tuple(rows)))
    return complete


def cells(row: str) -> list[str]:
    """The cells of a row, without the bars around them."""
    return [cell.strip() for cell in row.strip().strip("|").split("|")]


def blanked(text: str) -> str:
    """The text with blanks in the place of its tables: other offsets stay what they are."""
    for span in _spans(text):
        text = f"{text[: span.start]}{' ' * (span.end - span.start)}{text[span.end :]}"
    return text


def _spans(text: str) -> Iterator[Span]:
    for table in tables(text):
        yield from (table.heading, table.delimiter, *table.rows)


def _is_delimiter(line: str) -> bool:
    return "|" in line and "-" in line and bool(_DELIMITER.fullmatch(line))


def _adjoin(text: str, first: Span, second: Span) -> bool:
    """Whether nothing but the end of a line stands between two lines."""
    return text[first.end : second.start].count("\n") == 1
