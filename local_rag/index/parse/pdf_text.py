"""The text of a page of a PDF as it is read: columns one after the other, raised digits as such, nothing struck out."""

from __future__ import annotations

import ctypes
import math
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pypdfium2 import PdfPage, PdfTextPage

BREAK = "\uffff"
"""Stands where no sentence goes on: between columns."""

_DIGITS = re.compile(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?![\d,])|(\d)(?!\d)|(?<=[^\W\d])(\d)")
"""The last digit of each number, but of one whose groups of three say that nothing is raised in it; the first behind a
letter."""

_RAISED = str.maketrans("0123456789+-−=()n", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ⁿ")
_LOWERED = str.maketrans("0123456789+-−=()", "₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎")

_SHIFT = 0.12
"""Times the size of the letters that a baseline is above or below that of its line to mean something."""

_GAP = 1.6
"""Times the size of the letters from a letter to the next from which they stand in two columns, if those below do."""

_EVERY = 4
"""Of the lines of a page, one in so many is looked at for a gap: columns of fewer lines are none."""

_MOST_DRAWN = 500
"""Things drawn on a page among which lines through words are looked for: one that draws each letter has more."""


class _Line(NamedTuple):
    """Characters [start, end) of one line, from the first one that is no blank: where the first and last stand."""

    start: int
    end: int
    x: float
    y: float
    last: float


@dataclass
class PageText:
    """The characters of a page, as pdfium counts them, and what is said in place of some of them.

    `edits` are by the first character: the end of what is replaced, and by what.
    """

    shown: PdfTextPage
    text: str
    edits: dict[int, tuple[int, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        from pypdfium2 import raw

        self._x, self._y = ctypes.c_double(), ctypes.c_double()
        self._where = ctypes.byref(self._x), ctypes.byref(self._y)
        self._page, self._find = self.shown.raw, raw.FPDFText_GetCharOrigin

    def origin(self, at: int) -> tuple[float, float]:
        """Where a character begins on its baseline, in points from the lower left corner."""
        self._find(self._page, at, *self._where)
        return self._x.value, self._y.value

    def size(self, at: int) -> float:
        """The size of a character as the page shows it, in points."""
        from pypdfium2 import raw

        matrix = raw.FS_MATRIX()
        raw.FPDFText_GetMatrix(self.shown.raw, at, ctypes.byref(matrix))
        return float(raw.FPDFText_GetFontSize(self.shown.raw, at)) * math.hypot(matrix.a, matrix.b)

    @cached_property
    def lines(self) -> list[_Line]:
        """The upright lines, those mended that pdfium broke; none where its text has other characters than the page."""
        found = list[_Line]()
        if len(self.text) != self.shown.count_chars():
            return found
        for match in re.finditer(r"[^\s\ufffe](?:[^\r\n]*[^\s])?", self.text):
            (x, y), (last, low) = self.origin(match.start()), self.origin(match.end() - 1)
            if abs(low - y) <= max(0.2 * (last - x), 8):
                line = _Line(match.start(), match.end(), x, y, last)
                if found and self._goes_on(found[-1], line):
                    line = found.pop()._replace(end=line.end, last=last)
                found.append(line)
        return found

    def _goes_on(self, line: _Line, after: _Line) -> bool:
        """Whether pdfium broke a line, as it does behind a raised letter: then the break is taken out."""
        if not 0 < after.x - line.last < 3 * abs(after.x - line.x) / (line.end - line.start + 1):
            return False
        from pypdfium2 import raw

        sides = raw.FS_RECTF()
        raw.FPDFText_GetLooseCharBox(self.shown.raw, line.end - 1, ctypes.byref(sides))
        gap, size = after.x - sides.right, self.size(line.start)
        if gap > 0.5 * size or abs(after.y - line.y) > 0.6 * size:
            return False
        self.edits[line.end] = after.start, " " * (gap > 0.15 * size)
        return True

    @cached_property
    def em(self) -> float:
        """The size of most letters, of some lines of the page."""
        some = self.lines[:: len(self.lines) // 8 + 1]
        return median(self.size(line.start) for line in some) if some else 10.0

    def in_order(self) -> list[tuple[int, int, str]]:
        """Spans of characters in the order in which they are read, each with what stands before it."""
        spans, at = list[tuple[int, int, str]](), 0
        for start, end, columns in _columns(self):
            spans.append((at, start, ""))
            for column in columns:
                before = BREAK
                for cell in column:
                    goes_on = before != BREAK and self.text[cell.start].islower() and before not in ("-", "\ufffe")
                    spans.append((cell.start, cell.end, BREAK if before == BREAK else " " if goes_on else "\n"))
                    before = self.text[cell.end - 1]
            at = end
            spans.append((at, at, BREAK))
        return [*spans, (at, len(self.text), "")]

    def insert(self, at: int, before: str = "", behind: str = "") -> None:
        """Write something before or behind a character."""
        end, new = self.edits.get(at, (at + 1, self.text[at]))
        self.edits[at] = end, before + new + behind

    def written(self) -> str:
        """The text in order, with what the edits say."""
        parts, starts = list[str](), sorted(self.edits)
        for first, last, before in self.in_order():
            parts.append(before)
            at = first
            for start in starts[bisect_left(starts, first) : bisect_left(starts, last)]:
                if start >= at:
                    parts.append(self.text[at:start])
                    at, new = self.edits[start]
                    parts.append(new)
            parts.append(self.text[at:last])
        return "".join(parts)

    def lines_at(self, low: float, high: float) -> list[_Line]:
        """The lines whose baseline lies between two heights."""
        lines = self._by_height
        first = bisect_left(lines, low, key=lambda line: line.y)
        return lines[first : bisect_right(lines, high, first, key=lambda line: line.y)]

    @cached_property
    def _by_height(self) -> list[_Line]:
        return sorted(self.lines, key=lambda line: line.y)

    def before(self, line: _Line, x: float) -> int:
        """How many characters of the page come before those of a line that begin at x or behind."""
        return bisect_left(range(line.end), x, lo=line.start, key=lambda at: self.origin(at)[0])


def page_text(page: PdfPage, shown: PdfTextPage) -> PageText:
    """The text of a page with what its shape says of it."""
    text = PageText(shown, shown.get_text_range().replace("\x02", "\ufffe"))
    _mark_raised(text)
    _strike(page, text)
    return text


# --- raised and lowered digits


def _mark_raised(text: PageText) -> None:
    lines = text.lines
    starts = [line.start for line in lines]
    for match in _DIGITS.finditer(text.text):
        at = match.start(match.lastindex) if match.lastindex else -1
        number = bisect_right(starts, at) - 1
        if at < 0 or number < 0 or at >= lines[number].end:
            continue
        y = text.origin(at)[1]
        if abs(y - lines[number].y) > _SHIFT * text.em:
            _mark(text, lines[number], at, y)


def _mark(text: PageText, line: _Line, at: int, y: float) -> None:
    """Write the digit, with what stands at the same height beside it, as raised or lowered if it is."""
    start, end = at, at + 1
    while start > line.start and _stands(text, start - 1, y):
        start -= 1
    while end < line.end and _stands(text, end, y):
        end += 1
    base = line.start + len(text.text[line.start : start].rstrip()) - 1
    if base < line.start:
        return
    (x, low), size = text.origin(base), text.size(base)
    shift, smaller = (y - low) / max(size, 1), text.size(at) < 0.9 * size
    near = 0 < text.origin(start)[0] - x < 1.3 * size
    if not near or abs(shift) < (_SHIFT if smaller else 0.25) or abs(shift) > 1:
        return
    run, after = text.text[start:end], text.text[end : line.end].lstrip()[:1]
    if shift > 0 and after in ("/", "\u2044"):
        text.edits[base + 1] = end, f" {run}"
    elif shift > 0:
        text.edits[base + 1] = end, run.translate(_RAISED)
    elif text.text[base].isdigit() or after.isdigit():
        text.edits[base + 1] = end, run.translate(_LOWERED)


def _stands(text: PageText, at: int, y: float) -> bool:
    return not text.text[at].isspace() and abs(text.origin(at)[1] - y) < 0.05 * text.em


# --- what is struck out


def _strike(page: PdfPage, text: PageText) -> None:
    """Leave out the words through whose middle a line is drawn, from their first letter to their last."""
    from pypdfium2 import raw

    sides = [ctypes.c_float() for _ in range(4)]
    count = raw.FPDFPage_CountObjects(page.raw)
    for number in range(count if text.lines and count <= _MOST_DRAWN else 0):
        drawn = raw.FPDFPage_GetObject(page.raw, number)
        if raw.FPDFPageObj_GetType(drawn) == raw.FPDF_PAGEOBJ_PATH:
            raw.FPDFPageObj_GetBounds(drawn, *map(ctypes.byref, sides))
            left, bottom, right, top = (side.value for side in sides)
            if top - bottom < 0.25 * text.em and right - left > 0.4 * text.em:
                strike(text, left, right, (top + bottom) / 2)


def strike(text: PageText, left: float, right: float, y: float) -> None:
    """Leave out what a line at this height goes through, if it begins and ends as that does."""
    for line in text.lines_at(y - text.em, y):
        start, end = text.before(line, left - 0.3 * text.em), text.before(line, right - 0.15 * text.em)
        if start < end and _fits(text, left, right, start, end) and 0.12 < (y - line.y) / text.size(start) < 0.5:
            text.edits[start] = end, ""


def _fits(text: PageText, left: float, right: float, start: int, end: int) -> bool:
    """Whether a line goes from the first of these characters to the last."""
    first, last = text.origin(start)[0], text.origin(end - 1)[0]
    return abs(first - left) < 0.4 * text.em and right - last < 1.3 * text.em


# --- columns that are drawn row by row


class _Cell(NamedTuple):
    """Characters [start, end) of a row between two wide gaps, from x to the last letter."""

    start: int
    end: int
    x: float
    last: float


def _columns(text: PageText) -> Iterator[tuple[int, int, list[list[_Cell]]]]:
    """The parts of the page, as characters [start, end), whose columns stand beside each other line by line."""
    rows = _rows(text.lines, text.em)
    at = 0
    for number in range(1, len(rows), _EVERY):
        if number < at:
            continue
        cells = (
            _cells(text, rows[number]) if _is_worded(text.text[rows[number][0].start : rows[number][-1].end]) else []
        )
        if len(cells) < 2 or not all(_is_worded(text.text[cell.start : cell.end]) for cell in cells):
            continue
        starts = [cell.x for cell in cells]
        first, end = number, number
        block = dict[int, list[_Cell | None]]()
        for step in (-1, 1):
            row = number
            while at <= row < len(rows) and (found := _in_columns(_cells(text, rows[row]), starts, text.em)):
                block[row] = found
                row += step
            first, end = (row + 1, end) if step < 0 else (first, row)
        while first < end and None in block[first]:
            del block[first]
            first += 1
        at = end
        ordered = [block[row] for row in range(first, end)]
        if len(ordered) >= _EVERY and _are_columns(text.text, ordered):
            columns = [[cell for cell in column if cell] for column in zip(*ordered, strict=True)]
            yield rows[first][0].start, max(column[-1].end for column in columns), columns


def _is_worded(text: str) -> bool:
    marks = "".join(text.split())
    return 2 * sum(map(str.isalpha, marks)) >= len(marks)


def _rows(lines: Sequence[_Line], em: float) -> list[list[_Line]]:
    """Lines that stand beside each other are one row."""
    rows = list[list[_Line]]()
    for line in lines:
        before = rows[-1][-1] if rows else None
        if before and abs(line.y - before.y) < 0.6 * em and line.x > before.last:
            rows[-1].append(line)
        else:
            rows.append([line])
    return rows


def _cells(text: PageText, row: Sequence[_Line]) -> list[_Cell]:
    """A row cut at its wide gaps."""
    cells = list[_Cell]()
    for line in row:
        start, x, left = line.start, line.x, line.x
        for match in re.finditer(r"\S+(\s+)(?=\S)", text.text[line.start : line.end]):
            end, after = line.start + match.start(1), line.start + match.end()
            right = text.origin(after)[0]
            if right - left > (_GAP + 0.4 * (match.start(1) - match.start() - 1)) * text.em:
                last = text.origin(end - 1)[0]
                if right - last > _GAP * text.em:
                    cells.append(_Cell(start, end, x, last))
                    start, x = after, right
            left = right
        cells.append(_Cell(start, line.end, x, line.last))
    return cells


def _in_columns(cells: Sequence[_Cell], starts: Sequence[float], em: float) -> list[_Cell | None]:
    """The cells by the column in which they begin; nothing where one begins elsewhere, or reaches into the next."""
    found: list[_Cell | None] = [None] * len(starts)
    for cell in cells:
        near = [number for number, start in enumerate(starts) if abs(cell.x - start) < 0.6 * em]
        if not near or found[near[0]] or any(cell.x < start - em and cell.last > start - em for start in starts):
            return []
        found[near[0]] = cell
    return found


def _are_columns(text: str, rows: Sequence[Sequence[_Cell | None]]) -> bool:
    """Whether columns are read one after the other: their sentences go on in the next line, or they are addresses."""
    written = [[text[cell.start : cell.end] if cell else "" for cell in row] for row in rows]
    columns = [[line for line in column if line] for column in zip(*written, strict=True)]
    if any(len(column) < _EVERY or len("".join(column)) < 5 * len(column) for column in columns):
        return False
    words = [sum(len(line.split()) for line in column) / len(column) for column in columns]
    flow = [sum(line[0].islower() for line in column[1:]) / len(column[1:]) for column in columns]
    figures = [[any(map(str.isdigit, cell)) for cell in row] for row in written]
    letters = [any(map(str.isalpha, cell)) for row in written for cell in row]
    addresses = not any(figures[0] + figures[1]) and any(map(all, figures[2:])) and all(letters)
    return (min(flow) >= 0.3 and min(words) >= 2.5) or addresses
