"""The tables in the text of a document: rows that carry their headers, as `index.parse.tables` writes them."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence

from local_rag.core.documents import PLACE, Heading, LoadedDocument
from local_rag.index.parse.prose import is_heading
from local_rag.index.parse.tables import EMPTIES, HEADER_ROWS, header, names_of
from local_rag.index.tables.table import MOST_CELLS, Found, Row, stored
from local_rag.text.words import BAR

MOST_OVER_PAGES = 500_000
"""Cells of a table that goes on over pages, times its pages."""
_PLACE = re.compile(r"rows? (\d+)")


def tables_of(documents: Sequence[LoadedDocument]) -> list[bytes]:
    """Return the tables of each document of a file as a store keeps them. Each page of a table that goes on over pages
    has the whole of it; those that `left_out` names are none.
    """
    return list(map(stored, _tables(documents)))


def left_out(documents: Sequence[LoadedDocument]) -> tuple[str, ...]:
    """Return a warning for each table of a file that is too large to be kept."""
    marks = sum(document.text.count(BAR) for document in documents)
    if 2 * marks * len(documents) <= MOST_OVER_PAGES:  # a row has fewer cells than twice its marks
        return ()
    large = dict.fromkeys(each.place for tables in _tables(documents) for each in tables if each.is_large)
    return tuple(
        f"a table is too large for figures, and searched as text alone: {place}".rstrip(": ") for place in large
    )


def _tables(documents: Sequence[LoadedDocument]) -> list[list[Found]]:
    """Return the tables of each document, without rows where they are too large."""
    found = [[*_found(document)] if BAR in document.text else [] for document in documents]
    for first, end in _runs(documents):
        _join(documents[first:end], found[first:end])
    return found


def _runs(documents: Sequence[LoadedDocument]) -> Iterator[tuple[int, int]]:
    """Yield the pages [first, end) over which a table goes on: with as many columns, and no other header."""
    grids = [[*_grids(document.text)] if _is_drawn(document) else [] for document in documents]
    first = 0
    for end in range(1, len(grids) + 1):
        last, after = grids[end - 1][-1:], grids[end][:1] if end < len(grids) else []
        goes_on = any(
            len(lines[0][2]) == len(more[0][2])
            and (lines[0][2] == more[0][2] or not header([cells for *_, cells in more[:HEADER_ROWS]])[1])
            for lines, more in zip(last, after, strict=False)
        )
        if not goes_on or (end - 1 > first and grids[end - 1][1:]):
            if end - first > 1:
                yield first, end
            first = end - bool(goes_on)


def _join(pages: Sequence[LoadedDocument], found: Sequence[list[Found]]) -> None:
    """Give the whole of a table to each of its pages; a page without a header has the columns of the first one."""
    last, _, _ = [*_grids(pages[0].text)][-1][-1]
    table = next(iter(found[0][-1:]), None)
    if not (table and table.rows) or table.rows[-1].start != last:  # lines without a header go on
        return
    parts = [table.rows]
    for page, tables in zip(pages[1:], found[1:], strict=True):
        if tables and tables[0].names == table.names:
            parts.append(tables[0].rows)
        else:
            parts.append([Row(0, start, start + length, cells) for start, length, cells in next(_grids(page.text))])
            tables.insert(0, table)
    fits = sum(map(len, parts)) * len(table.names) * len(pages) <= MOST_OVER_PAGES
    for own, tables in enumerate(found):
        rows = [
            row if place == own else row._replace(start=-1, end=-1) for place, part in enumerate(parts) for row in part
        ]
        rows = [row._replace(number=number) for number, row in enumerate(rows, 1)]
        place = f"{table.place}, pages {pages[0].page}-{pages[-1].page}".removeprefix(", ")
        tables[0 if own else -1] = Found(place, table.names, rows if fits else (), not fits)


def _found(document: LoadedDocument) -> Iterator[Found]:
    places = [heading for heading in document.headings if heading.level == PLACE]
    above = [heading for heading in document.headings if heading.level < PLACE]
    if _is_drawn(document):
        yield from _drawn(document)
    for heads, lines in _blocks(document.text):
        names, rows = _names(heads, [line for _, line in lines]), list[Row]()
        is_large = len(lines) * len(names) > MOST_CELLS
        for start, line in () if is_large else lines:
            number = _number(places, start, document.text) or len(rows) + 1
            rows.append(Row(number, start, start + len(line), _cells(line, names)))
        before = bisect_right(above, lines[0][0], key=lambda heading: heading.start)
        yield Found(above[before - 1].text if before else document.title, names, rows, is_large)


def _is_drawn(document: LoadedDocument) -> bool:
    """Return whether a document is a page whose rows do not carry their header, as those of slides do."""
    return document.page is not None and next(_blocks(document.text), None) is None


def _drawn(document: LoadedDocument) -> Iterator[Found]:
    """Yield the tables of a page of a PDF, whose rows do not carry their header."""
    for lines in _grids(document.text):
        above = document.text[: lines[0][0]].rstrip().rpartition("\n")[2]
        place = above if is_heading(above) else document.title
        grid = [cells for _, _, cells in lines]
        first, end = header(grid[:HEADER_ROWS])
        if end:
            named = " ".join(filter(None, [row[0] for row in grid[first:end]]))
            names = [named, *names_of(grid[first:end])[1:]]
            rows = [Row(n, start, start + length, cells) for n, (start, length, cells) in enumerate(lines[end:], 1)]
            yield Found(place, names, rows)


def _grids(text: str) -> Iterator[list[tuple[int, int, list[str]]]]:
    """Yield lines of equally many cells as their starts, lengths and cells; a title between them has one cell."""
    lines, start = list[tuple[int, int, list[str]]](), 0
    for line in [*text.split("\n"), ""]:
        cells = ["" if cell in EMPTIES else cell for cell in line.split(BAR)]
        if lines and len(cells) != len(lines[0][2]) and (not line or len(cells) > 1):
            if lines[1:]:  # and no single line with a bar
                yield lines
            lines = []
        if len(cells) > 1:
            lines.append((start, len(line), cells))
        start += len(line) + 1


def _blocks(text: str) -> Iterator[tuple[list[list[str]], list[tuple[int, str]]]]:
    """Yield the cells of the one or two lines of the header of each table, and the lines of its rows with their
    starts; a blank line ends a table, a title does not.
    """
    heads, lines, start = list[list[str]](), list[tuple[int, str]](), 0
    for line in [*text.split("\n"), ""]:
        parts = line.split(BAR)
        if heads and _prefixes(parts, heads):
            lines.append((start, line))
        elif not lines or len(parts) > 1 or not line.strip():
            if lines:
                yield heads, lines
            heads = [*([] if lines else heads[-1:]), parts] if len(parts) > 1 else []
            lines = []
        start += len(line) + 1


def _prefixes(parts: Sequence[str], heads: Sequence[Sequence[str]]) -> list[str]:
    """Return what cells have before a colon where that is or ends as a cell of the header."""
    before = [part.partition(": ") for part in parts]
    return [name for name, colon, _ in before if colon and (name in heads[0] or name.endswith(tuple(heads[-1])))]


def _names(heads: Sequence[Sequence[str]], lines: Sequence[str]) -> list[str]:
    """Return the names of the columns: those of the header, or of groups of columns with their columns."""
    names = dict.fromkeys(name for line in lines for name in _prefixes(line.split(BAR), heads))
    if names.keys() <= {*heads[-1]}:
        return [*heads[-1]] if heads[-1][0] not in names else ["", *heads[-1]]
    return [heads[0][0], *names]


def _cells(line: str, names: Sequence[str]) -> list[str]:
    """Return the cells of a row: a part that begins with the name of a later column is in that column, any other
    continues the cell before it.
    """
    cells, at = [""] * len(names), 0
    for part in line.split(BAR):
        name, _, cell = part.partition(": ")
        if name and name in names[at + 1 :]:
            at = names.index(name, at + 1)
            cells[at] = cell.strip()
        else:
            cells[at] = BAR.join(filter(None, [cells[at], part.strip()]))
    return cells


def _number(places: Sequence[Heading], start: int, text: str) -> int:
    """Return the number of a row as a citation names it; 0 where its file has none."""
    at = bisect_right(places, start, key=lambda heading: heading.start) - 1
    match = _PLACE.fullmatch(places[at].text.partition("-")[0]) if at >= 0 else None
    return int(match[1]) + text.count("\n", places[at].start, start) if match else 0
