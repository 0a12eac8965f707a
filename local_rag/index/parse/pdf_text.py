"""The text of a page of a PDF as it is read: columns one after the other, raised digits as such, nothing struck out."""

from __future__ import annotations

import ctypes
import math
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from functools import cached_property
from itertools import takewhile
from statistics import median
from typing import TYPE_CHECKING

from local_rag.index.parse.marks import lowered, raised
from local_rag.index.parse.pdf_layout import BREAK, Span, ordered

if TYPE_CHECKING:
    from pypdfium2 import PdfPage, PdfTextPage

_DIGITS = re.compile("[0-9]+")

_SHIFT = 0.12
"""The least distance of a baseline from that of its line to mean something, as a multiple of the size of its
letters.
"""

_LONGEST_RAISED = 20
"""Characters of a raised text to both sides of a digit; a longer one is a line of its own."""

_MOST_DRAWN = 300
"""The most things drawn on a page among which lines through words are looked for: a page that draws each letter has
more.
"""


class PageText:
    """The characters of a page, as pdfium counts them, and what is written in place of some of them.

    `edits` are by the first character: the end of what is replaced, and its replacement.
    """

    def __init__(self, shown: PdfTextPage) -> None:
        from pypdfium2 import raw

        self.text = shown.get_text_range().replace("\x02", "\ufffe")
        self.edits = dict[int, tuple[int, str]]()
        self._shown, self._raw, self._find = shown, raw, raw.FPDFText_GetCharOrigin
        self._x, self._y = ctypes.c_double(), ctypes.c_double()
        self._page, self._to_x, self._to_y = shown.raw, ctypes.byref(self._x), ctypes.byref(self._y)

    def origin(self, at: int) -> tuple[float, float]:
        """Return where a character begins on its baseline, in points from the lower left corner."""
        self._find(self._page, at, self._to_x, self._to_y)
        return self._x.value, self._y.value

    def size(self, at: int) -> float:
        """Return the size of a character as the page shows it, in points."""
        matrix = self._raw.FS_MATRIX()
        self._raw.FPDFText_GetMatrix(self._shown, at, matrix)
        return float(self._raw.FPDFText_GetFontSize(self._shown, at)) * math.hypot(matrix.a, matrix.b)

    def right(self, at: int) -> float:
        """Return where a character ends, in points from the left."""
        box = self._raw.FS_RECTF()
        self._raw.FPDFText_GetLooseCharBox(self._shown, at, box)
        return float(box.right)

    @cached_property
    def lines(self) -> list[Span]:
        """Return the upright lines, with those mended that pdfium breaks behind a raised letter; none where its text
        has other characters than the page.
        """
        lines = list[Span]()
        known = len(self.text) == self._shown.count_chars()
        for match in re.finditer(r"[^\s\ufffe](?:[^\r\n]*[^\s])?", self.text) if known else ():
            start, end = match.span()
            (x, y), (last, low) = self.origin(start), self.origin(end - 1)
            before = lines[-1] if lines else None
            if before and 0 < x - before.last < 1.2 * self.size(before.start) > 2 * abs(y - before.y):
                apart = x - self.right(before.end - 1) > 0.15 * self.size(before.start)
                self.edits[before.end] = start, " " * apart
                lines[-1] = before._replace(end=end, last=last)
            elif abs(low - y) <= max(0.2 * (last - x), 8):
                lines.append(Span(start, end, x, y, last))
            elif low < y:  # words of two lines in a cell
                lines += takewhile(lambda word: word.last > word.x, self._words(start, end))
        return lines

    def _words(self, start: int, end: int) -> Iterator[Span]:
        for word in re.finditer(r"\S+", self.text[start:end]):
            first, behind = start + word.start(), start + word.end()
            yield Span(first, behind, *self.origin(first), self.origin(behind - 1)[0])

    @cached_property
    def em(self) -> float:
        """Return the size of most letters, of some lines of the page."""
        return median([self.size(line.start) for line in self.lines[:: len(self.lines) // 8 + 1]] or [10.0])

    def in_order(self) -> list[tuple[str, int, int]]:
        """Return the parts of the text as they are read: the character before each, and its characters [start, end)."""
        parts, at, before = list[tuple[str, int, int]](), 0, ""
        for part in ordered(self):
            parts.append((before, at, min(span.start for _, span in part)))
            parts += [(mark, span.start, span.end) for mark, span in part]
            at, before = max(span.end for _, span in part), BREAK
        return [*parts, (before, at, len(self.text))]

    def written(self) -> str:
        """Return the text in order, with its edits."""
        starts, said = sorted(self.edits), list[str]()
        for before, at, end in self.in_order():
            said.append(before)
            for start in starts[bisect_left(starts, at) : bisect_left(starts, end)]:
                if start >= at:
                    said += self.text[at:start], self.edits[start][1]
                    at = self.edits[start][0]
            said.append(self.text[at:end])
        return "".join(said)

    def insert(self, at: int, before: str = "", behind: str = "") -> None:
        """Write something before or behind a character."""
        end, new = self.edits.get(at, (at + 1, self.text[at]))
        self.edits[at] = end, before + new + behind

    def lines_at(self, low: float, high: float) -> list[Span]:
        """Return the lines whose baseline lies between two heights."""
        return [line for line in self.lines if low <= line.y <= high]

    def before(self, line: Span, x: float) -> int:
        """Return how many characters of the page come before those of a line that begin at x or behind."""
        return bisect_left(range(line.end), x, line.start, key=lambda at: self.origin(at)[0])

    def strike(self, left: float, right: float, y: float) -> None:
        """Leave out the text that a line at this height goes through, if it begins and ends as that does."""
        for line in self.lines_at(y - self.em, y):
            start, end = self.before(line, left - 0.3 * self.em), self.before(line, right - 0.15 * self.em)
            if self.text[start:end].strip() and 0.12 < (y - line.y) / self.size(start) < 0.5:
                first, last = self.origin(start)[0], self.origin(end - 1)[0]
                if first - left < 0.4 * self.em and right - last < 1.3 * self.em:
                    self.edits[start] = end, " "


def page_text(page: PdfPage, shown: PdfTextPage) -> PageText:
    """Return the text of a page with the edits that its shape asks for."""
    text = PageText(shown)
    _mark_raised(text)
    _strike(page, text)
    return text


def _mark_raised(text: PageText) -> None:
    """Write digits that stand higher or lower than their line as such."""
    lines, starts = text.lines, [line.start for line in text.lines]
    for match in _DIGITS.finditer(text.text) if lines else ():
        for at in {match.start(), match.end() - 1}:
            line = lines[bisect_right(starts, at) - 1]
            if line.start <= at < line.end and abs(text.origin(at)[1] - line.y) > _SHIFT * text.em:
                _mark(text, line, at)


def _mark(text: PageText, line: Span, at: int) -> None:
    """Write a digit, with what stands at its height beside it, as raised or lowered if it is."""
    y = text.origin(at)[1]

    def stands(near: int) -> bool:
        return not text.text[near].isspace() and abs(text.origin(near)[1] - y) < 0.05 * text.em

    start = at - len(list(takewhile(stands, range(at - 1, max(line.start - 1, at - _LONGEST_RAISED), -1))))
    end = at + 1 + len(list(takewhile(stands, range(at + 1, min(line.end, at + _LONGEST_RAISED)))))
    base = line.start + len(text.text[line.start : start].rstrip()) - 1
    (x, low), size = text.origin(max(base, line.start)), text.size(max(base, line.start))
    shift, least = y - low, (_SHIFT if text.size(at) < 0.9 * size else 2 * _SHIFT) * size
    if base < line.start or not 0 < text.origin(start)[0] - x < 1.3 * size or not least < abs(shift) < size:
        return
    run, after = text.text[start:end], text.text[end : line.end].lstrip()[:1]
    if shift > 0:
        text.edits[base + 1] = end, f" {run}" if after in ("/", "\u2044") else raised(run)
    elif text.text[base].isdigit() or after.isdigit():
        text.edits[base + 1] = end, lowered(run)


def _strike(page: PdfPage, text: PageText) -> None:
    """Leave out the words through whose middle a line is drawn, from their first letter to their last."""
    from pypdfium2 import raw

    sides = [ctypes.c_float() for _ in range(4)]
    count = raw.FPDFPage_CountObjects(page)
    for number in range(count if text.lines and count <= _MOST_DRAWN else 0):
        drawn = raw.FPDFPage_GetObject(page.raw, number)
        if raw.FPDFPageObj_GetType(drawn) == raw.FPDF_PAGEOBJ_PATH:
            raw.FPDFPageObj_GetBounds(drawn, *sides)
            left, bottom, right, top = (side.value for side in sides)
            if top - bottom < 0.25 * text.em < right - left:
                text.strike(left, right, (top + bottom) / 2)
