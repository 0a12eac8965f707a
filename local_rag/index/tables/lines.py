"""The tables in the text of a document: rows that carry their headers, as `index.parse.tables` writes them."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence

from local_rag.core.documents import PLACE, Heading, LoadedDocument
from local_rag.index.tables.table import MOST_CELLS, Found, Row, stored

BETWEEN = " | "
_PLACE = re.compile(r"rows? (\d+)")

Line = tuple[int, str]
"""The code point where a line begins, and the line."""


def tables_of(document: LoadedDocument) -> bytes:
    """Return the tables of a document as a store keeps them."""
    return stored([*_found(document)]) if BETWEEN in document.text else b""


def _found(document: LoadedDocument) -> Iterator[Found]:
    places = [heading for heading in document.headings if heading.level == PLACE]
    above = [heading for heading in document.headings if heading.level < PLACE]
    for names, lines in _blocks(document.text):
        if len(lines) * len(names) > MOST_CELLS:
            continue
        rows, heads = list[Row](), ["", *(f"{name}: " if name else "" for name in names[1:])]
        for start, line in lines:
            number = _number(places, start, document.text) or len(rows) + 1
            rows.append(Row(number, start, start + len(line), _cells(line, heads)))
        before = bisect_right(above, rows[0].start, key=lambda heading: heading.start)
        yield Found(above[before - 1].text if before else document.title, names, rows)


def _blocks(text: str) -> Iterator[tuple[list[str], list[Line]]]:
    """Yield the names of the columns of each table and the lines of its rows; a blank line ends it, a title does
    not.
    """
    heads, lines, names = list[list[str]](), list[Line](), list[str]()
    start = 0
    for line in [*text.split("\n"), ""]:
        parts = line.split(BETWEEN)
        if names and _fits(parts, names):
            lines.append((start, line))
        elif not names or len(parts) > 1 or not line.strip():
            if names:
                yield names, lines
            names = _names(heads, parts)
            lines = [(start, line)]
            heads = [*heads[-1:], parts] if len(parts) > 1 and not names else []
        start += len(line) + 1


def _names(heads: Sequence[Sequence[str]], parts: Sequence[str]) -> list[str]:
    """Return the names of the columns of the first row below these heads; none where the line is no row."""
    for named in ([*heads[-1]], ["", *heads[-1]]) if heads else ():
        if len(named) > 1 and _fits(parts, named) and not (named[0] and parts[0].startswith(f"{named[0]}: ")):
            return named
    prefixes = [part.partition(": ")[0] for part in parts[1:]]
    grouped = len(heads) > 1 and prefixes  # groups of columns above their names
    if grouped and all(name in heads[0] or name.endswith(tuple(heads[-1])) for name in prefixes):
        return [heads[0][0], *prefixes]
    return []


def _fits(parts: Sequence[str], names: Sequence[str]) -> bool:
    """Return whether a line is a row below these names: they stand before what is behind its first cell."""
    heads = tuple(f"{name}: " for name in names[1:] if name)
    return any(part.startswith(heads) for part in parts)


def _cells(line: str, heads: Sequence[str]) -> list[str]:
    """Return the cells of a row: a part that begins with the name of a later column is in that column, any other
    continues the cell before it.
    """
    first, *parts = line.split(BETWEEN)
    cells, at = [""] * len(heads), 0
    for part in [first, *parts]:
        place = at + 1
        while place < len(heads) and not (heads[place] and part.startswith(heads[place])):
            place += 1
        if place < len(heads):
            at, cells[place] = place, part[len(heads[place]) :].strip()
        else:
            cells[at] = f"{cells[at]}{BETWEEN}{part}" if cells[at] else part.strip()
    return cells


def _number(places: Sequence[Heading], start: int, text: str) -> int:
    """Return the number of a row as a citation names it; 0 where its file has none."""
    at = bisect_right(places, start, key=lambda heading: heading.start) - 1
    match = _PLACE.fullmatch(places[at].text.partition("-")[0]) if at >= 0 else None
    return int(match[1]) + text.count("\n", places[at].start, start) if match else 0
