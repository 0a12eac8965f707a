"""The parts of a page of a PDF that are drawn line by line across it: columns, read one after the other, and tables."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise, takewhile
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from local_rag.index.parse.tables import EMPTIES, HEADER_ROWS, header, is_number

if TYPE_CHECKING:
    from local_rag.index.parse.pdf_text import PageText

BREAK = "\uffff"
"""The character between columns, where no sentence goes on."""

CELL = "\ufdd0"
"""The character between the cells of a row."""

_GAP, _NARROW = 1.1, 0.7
"""The least distance between two letters that stand in two columns, if those below do, and in two cells of a table,
which has a header besides, as a multiple of their size.
"""

_EVERY = 4
"""One in so many lines of a page is looked at for a gap: columns of fewer lines are none."""

_APART = 4.0
"""The largest distance of two rows of a table, as a multiple of the size of most letters."""

_LEAST_ROWS = 3
"""The fewest rows of a table, with its header."""

_MOST_CELLS, _MOST_LINES = 60, 8
"""The most cells of a row, and lines of a cell."""

_FIRST = 4
"""Rows at the head of a page in which a table may go on from the page before."""

_MOST_WORDS = 5
"""The most words that half of the cells of a table have; columns of more are prose."""


class Span(NamedTuple):
    """Characters [start, end) of a line, without blanks at their ends, and where the first and the last stand."""

    start: int
    end: int
    x: float
    y: float
    last: float


Part = list[tuple[str, Span]]
"""A part of a page as it is read: characters, and what is written before them."""
Row = list[list[Span]]
"""A row of a table: the pieces of each cell."""


def ordered(text: PageText) -> list[Part]:
    """Return the parts of a page that are read otherwise than line by line, in the order of the page."""
    rows = list[list[Span]]()
    for line in text.lines:  # those that stand beside each other are one row
        if rows and abs(line.y - rows[-1][-1].y) < 0.6 * text.em and line.x > rows[-1][-1].last:
            rows[-1].append(line)
        else:
            rows.append([line])
    parts = [
        [("\n" if place else BREAK, span) for column in columns for place, span in enumerate(column)]
        for columns in _columns(text, rows)
    ]
    taken = {span.start for part in parts for _, span in part}
    left = [cell for row in rows if row[0].start not in taken for cell in _cells(text, row, _NARROW)]
    parts += map(_as_part, _tables(text, _rows(text, _with_signs(text, left))))
    return sorted(parts, key=lambda part: min(span.start for _, span in part))


def _columns(text: PageText, rows: Sequence[list[Span]]) -> Iterator[list[list[Span]]]:
    """Yield the columns of those parts of the page that are drawn line by line across them, as their lines."""
    at = 0
    for number in range(1, len(rows), _EVERY):
        cells = _cells(text, rows[number]) if number >= at and _is_worded(text, rows[number]) else []
        if len(cells) > 1 and all(_is_worded(text, [cell]) for cell in cells):
            starts = [cell.x for cell in cells]
            in_columns = partial(_in_columns, text, starts)
            above = [*takewhile(bool, map(in_columns, reversed(rows[at:number])))]
            block = [*reversed(above), *takewhile(bool, map(in_columns, rows[number:]))]
            at = number - len(above) + len(block)
            block = block[next((place for place, row in enumerate(block) if len(row) == len(starts)), 0) :]
            columns = [[row[place] for row in block if place in row] for place in range(len(starts))]
            if _are_columns([[text.text[cell.start : cell.end] for cell in column] for column in columns]):
                yield columns


def _is_worded(text: PageText, row: Sequence[Span]) -> bool:
    marks = "".join(text.text[row[0].start : row[-1].end].split())
    return 2 * sum(map(str.isalpha, marks)) >= len(marks)


def _cells(text: PageText, row: Sequence[Span], gap: float = _GAP) -> list[Span]:
    """Return a row cut at its wide gaps."""
    cells = list[Span]()
    for line in row:
        x, cell, wide = line.x, line, gap * text.size(line.start)
        for word in re.finditer(r"(\S+)\s+(?=\S)", text.text[line.start : line.end]):
            after, length = line.start + word.end(), word.end(1) - word.start()
            before, x = x, text.origin(after)[0]
            if x - before > wide * (0.6 + 0.2 * length):
                end = line.start + word.end(1)
                if x - text.right(end - 1) > wide:
                    cells.append(cell._replace(end=end, last=text.origin(end - 1)[0]))
                    cell = cell._replace(start=after, x=x)
        cells.append(cell)
    return cells


def _in_columns(text: PageText, starts: Sequence[float], row: Sequence[Span]) -> dict[int, Span]:
    """Return the cells of a row by the column in which they begin; none where one begins elsewhere or reaches too
    far.
    """
    cells = _cells(text, row)
    found = {
        place: cell
        for cell in cells
        for place, (start, end) in enumerate(pairwise([*starts, math.inf]))
        if abs(cell.x - start) < 0.6 * text.em and cell.last < end - text.em
    }
    return found if len(found) == len(cells) else {}


def _are_columns(columns: Sequence[Sequence[str]]) -> bool:
    """Return whether columns are read one after the other: their sentences go on in the next line, or they are
    addresses.
    """
    if any(len(column) < _EVERY or len("".join(column)) < 5 * len(column) for column in columns):
        return False
    figures = [[any(map(str.isdigit, cell)) for cell in row] for row in zip(*columns, strict=False)]
    worded = all(any(map(str.isalpha, cell)) for column in columns for cell in column)
    return (worded and not any(figures[0] + figures[1]) and any(map(all, figures[2:]))) or all(
        sum(line[0].islower() for line in column[1:]) >= 0.3 * (len(column) - 1)
        and sum(len(line.split()) for line in column) >= 2.5 * len(column)
        for column in columns
    )


# --- tables


def _tables(text: PageText, rows: Sequence[Row]) -> Iterator[list[Row]]:
    """Yield the tables whose cells stand below each other, as their rows, the header first; at the head of a page one
    without a header, too, because it may go on from the page before.
    """
    at = 0
    while at < len(rows):
        lines = _grid(text, rows[at:]) if len(rows[at]) > 1 else []
        table = _joined(text, lines)
        said = [[" ".join(text.text[span.start : span.end] for span in cell) for cell in row] for row in table]
        start, end = header(said[:HEADER_ROWS])
        full = [row for row in said[start:] if len([*filter(None, row)]) > 1]
        lengths = [len(cell.split()) for row in full for cell in row if cell]
        is_table = len(full) >= _LEAST_ROWS and (end > 0 or (at < _FIRST and any(map(is_number, said[0]))))
        if is_table and median(lengths) <= _MOST_WORDS and _is_whole(text, table[start:]):
            yield table[start:]
        at += max(1, len(lines))


def _with_signs(text: PageText, cells: Sequence[Span]) -> list[Span]:
    """Return cells with the sign of a currency that stands apart before them."""
    joined = list[Span]()
    for cell in cells:
        if joined and text.text[joined[-1].start : joined[-1].end] in [*"$€£¥"]:
            cell = cell._replace(start=joined[-1].start, x=joined.pop().x)
        joined.append(cell)
    return joined


def _rows(text: PageText, cells: Sequence[Span]) -> list[Row]:
    """Return the cells of a page, in the order of the file, as rows: to the right of a cell at its height, and below a
    line of a cell the next one of the same cell, if the row goes on to the right beside or above it.
    """
    rows, at = list[Row](), 0
    while at < len(cells):
        end = at + 1
        while end < min(len(cells), at + _MOST_LINES) and _is_below(text, cells[end - 1], cells[end]):
            end += 1
        row = rows[-1] if rows else []
        if _is_beside(text, row, cells[at]):
            row.append([cells[at]])
        elif (
            row
            and _is_below(text, row[-1][-1], cells[at])
            and _is_beside(text, [*row[:-1], [*row[-1], *cells[at:end]]], *cells[end : end + 1])
            and (len(row) > 1 or cells[end].y > cells[end - 1].y + 0.3 * text.em)
        ):
            row[-1] += cells[at:end]
            at = end - 1
        else:
            rows.append([[cells[at]]])
        at += 1
    return rows


def _is_below(text: PageText, line: Span, after: Span) -> bool:
    """Return whether another line may go on with a line of a cell."""
    return 0 < line.y - after.y < 1.7 * text.em and after.x < line.last + text.em and line.x < after.last + text.em


def _is_beside(text: PageText, row: Row, *cell: Span) -> bool:
    """Return whether a cell stands to the right of a row, at a height of its lines or in the middle between them."""
    heights = [span.y for each in row for span in each]
    return bool(row and cell and len(row) < _MOST_CELLS) and (
        cell[0].x > max(span.last for span in row[-1])
        and not _is_below(text, row[-1][-1], cell[0])
        and min(heights) - 0.6 * text.em < cell[0].y < max(heights) + 1.6 * text.em
    )


def _grid(text: PageText, rows: Sequence[Row]) -> list[Row]:
    """Return the rows from the first one on whose cells stand in columns, each with a cell a column."""
    columns, lines, low = list[tuple[float, float]](), list[Row](), math.inf
    for row in rows:
        sides, heights = [_sides(text, cell) for cell in row], [span.y for cell in row for span in cell]
        wider = _widened(columns, sides)
        if not wider and len(row) == 1 < len(lines[-1]):  # a title
            wider = columns
        elif not wider and len(lines) == 1:  # which names groups of columns
            wider = [*sides, *(column for column in columns if not any(_overlap(column, cell) for cell in sides))]
        if not wider or (lines and not -text.em < low - max(heights) < _APART * text.em):
            break
        columns, lines, low = wider, [*lines, row], min(heights)
    columns.sort()
    placed = list[Row]()
    for row in lines:
        starts = [max(0, bisect_right(columns, (_sides(text, cell)[0], math.inf)) - 1) for cell in row]
        placed.append([[span for at, cell in zip(starts, row, strict=True) if at == place for span in cell]
                       for place in range(len(columns))])  # fmt: skip
    for place in range(len(columns) - 1, 0, -1):  # a header that stands apart from its figures
        if not any(row[place - 1] and row[place] for row in placed):
            for row in placed:
                row[place - 1 : place + 1] = [row[place - 1] + row[place]]
    return placed


def _sides(text: PageText, cell: Sequence[Span]) -> tuple[float, float]:
    """Return where a cell begins and ends, in points from the left; its last letter is half as wide as it is high."""
    return min(min(span.x, span.last) for span in cell), max(max(span.x, span.last) for span in cell) + text.em / 2


def _widened(columns: Sequence[tuple[float, float]], row: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return columns, from left to right, that hold the cells of a row, too; none where a cell reaches over two, or two
    stand in one.
    """
    found = list[tuple[float, float]]()
    left = list(columns)
    for cell in row:
        over = [column for column in left if _overlap(column, cell)]
        if len(over) > 1 or any(_overlap(column, cell) for column in found):
            return []
        starts, ends = zip(cell, *over, strict=True)
        found.append((min(starts), max(ends)))
        left = [column for column in left if column not in over]
    return found + left


def _overlap(one: tuple[float, float], other: tuple[float, float]) -> bool:
    return one[0] < other[1] and other[0] < one[1]


def _joined(text: PageText, lines: Sequence[Row]) -> list[Row]:
    """Return lines as rows: one without a figure, or of one cell, that only goes on with cells of the row above is a
    part of that, and so is one whose first cell goes on with the only cell above.
    """
    heights = [max(span.y for cell in line for span in cell) for line in lines]
    usual, rows = median([high - low for high, low in pairwise(heights)] or [0.0]), list[Row]()
    for number, line in enumerate(lines):
        said = [text.text[cell[0].start : cell[0].end] for cell in line if cell]
        above = [*map(bool, rows[-1])] if rows else []
        distance = heights[number - 1] - heights[number] if number else 0.0
        within = all(has or not cell for has, cell in zip(above, line, strict=False))
        if len(said) == 1 and not line[0]:
            is_rest = distance < 1.5 * text.em
        else:
            is_near = len(said) == 1 or distance < 0.8 * usual
            is_rest = within and is_near and not re.search(r"\d", "".join(said))
        if above and (is_rest or above == [True, *[False] * (len(line) - 1)]) and (not line[0] or said[0][0].islower()):
            rows[-1] = [[*cell, *more] for cell, more in zip(rows[-1], line, strict=True)]
        else:
            rows.append(line)
    while rows and sum(map(bool, rows[-1])) == 1:  # what stands below the table
        rows.pop()
    return rows


def _is_whole(text: PageText, table: Sequence[Row]) -> bool:
    """Return whether nothing else stands between the cells of a table in the text of the page."""
    spans = sorted(span for row in table for cell in row for span in cell)
    return not any(text.text[span.end : after.start].strip() for span, after in pairwise(spans))


def _as_part(table: Sequence[Row]) -> Part:
    """Return a table as its rows, an empty cell as a dash; a title between them is a line of its own."""
    part: Part = []
    for number, row in enumerate(table):
        first = next(span for cell in row for span in cell)
        is_title = sum(map(bool, row)) == 1
        for place, cell in enumerate(row):
            mark = CELL if place and not is_title else "\n" if number else BREAK
            part += [(" " if more else mark, span) for more, span in enumerate(cell)]
            if not cell and not is_title:
                part.append((mark + EMPTIES[0], first._replace(end=first.start)))
    return part
