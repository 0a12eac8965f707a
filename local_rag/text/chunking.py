"""Cut a document into chunks: spans of its text, cut where its structure allows, never longer than the
embedder reads.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from math import ceil
from typing import NamedTuple

from local_rag.core import cancel
from local_rag.core.documents import PLACE, Heading, LoadedDocument
from local_rag.text.sentences import sentences, stripped

_TINY = 8
"""A chunk of fewer than size / 8 tokens is filled up across a paragraph or a small section."""

_WIDE = 16
"""The most code points per token (English prose has 4 to 5): a limit for long text that a tokenizer takes for one
unknown word.
"""

_WIDEST_AT_LEAST = 1600
"""The least width limit, in code points: parts of a cut unknown word stay longer than 100, from where BERT's WordPiece
makes a word one unknown token.
"""

_PARAGRAPH = re.compile(r"\n[^\S\n]*(?:\n[^\S\n]*)+")
_LINE = re.compile(r"\n")
_ROW = re.compile(r"^[^\n]* \| [^\n]*", re.MULTILINE)
"""A row of a table, as `index/parse/tables.py` writes it."""
_BLANK = re.compile(r"\s+")
_RUN = re.compile(r"(?:[^\W_]|[^\x00-\x7f\s])+|[^\w\s]|_")


class Chunk(NamedTuple):
    """Hold code points [start, end) of a document's text; `heading` is the path "Chapter > Section" at the start."""

    start: int
    end: int
    heading: str


class _Unit(NamedTuple):
    """Hold a span that is taken whole. Headings and rules have no `body`; cutting inside words may add `extra` tokens.

    A `row` is cut only if it fits in no chunk.
    """

    start: int
    end: int
    body: bool = True
    extra: int = 0
    row: bool = False


def chunk(document: LoadedDocument, ends: Sequence[int], *, size: int, overlap: int, window: int) -> list[Chunk]:
    """Cut a document into chunks of at most `size` tokens, overlap included, with no white space at their ends.

    `ends` are where the text's tokens end, in order: SentencePiece starts them at the blank before the word. `overlap`
    is in tokens and stays within a section; with 0 each non-blank character is in exactly one chunk. A heading stays
    with the text below it, and a tiny section shares its chunk with the next one: `heading` is the path of the first
    section with text of its own.
    Raises ValueError if `size` is above `window`, or `overlap` above half of `size`, and Stopped between two chunks.
    """
    if not 0 < size <= window or not 0 <= overlap <= size // 2:
        raise ValueError(f"expected 0 < size <= {window} and 0 <= overlap <= size / 2, not {size} and {overlap}")
    packer = _Packer(document.text, ends, size - overlap)
    for section in _sections(document):
        packer.section(*section)
    packer.close()
    return _overlapping(document, packer.chunks, ends, overlap) if overlap else packer.chunks


def heading_paths(headings: Iterable[Heading]) -> Iterator[tuple[int, str]]:
    """Yield the start of each heading, in order, and its path "Chapter > Section"."""
    above: list[tuple[int, str]] = []
    for heading in sorted(headings, key=lambda heading: heading.start):
        while above and above[-1][0] >= heading.level:
            above.pop()
        above.append((heading.level, " ".join(heading.text.split())))
        yield heading.start, " > ".join(words for _, words in above if words)


def _sections(document: LoadedDocument) -> Iterator[tuple[int, int, int, str]]:
    """Yield each section: its start, the start of the text below its heading, its end, and its heading path."""
    text = document.text
    paths = list(heading_paths(heading for heading in document.headings if heading.level < PLACE))
    ends = [start for start, _ in paths] + [len(text)]
    yield 0, 0, ends[0], ""
    for (start, path), end in zip(paths, ends[1:], strict=True):
        line = text.find("\n", start, end)
        yield start, end if line < 0 else line, end, path


class _Packer:
    """Fill one chunk after the other; `_units` are the units of the current chunk."""

    def __init__(self, text: str, ends: Sequence[int], size: int) -> None:
        self.chunks: list[Chunk] = []
        self._text, self._ends, self._size, self._target = text, ends, size, size
        self._widest = max(_WIDE * size, _WIDEST_AT_LEAST)
        lines, words = partial(_between, _LINE), partial(_between, _BLANK)
        self._cuts = (partial(_between, _ROW, rows=True), _sentences, lines, words, _runs, self._forced)
        """The ways to cut a unit that is too long, the widest parts first."""
        self._units: list[_Unit] = []
        self._path = ""
        self._heading: str | None = None
        self._unbroken = True

    def section(self, start: int, body: int, end: int, path: str) -> None:
        tiny = self._unbroken and self._tokens(self._units) < self._size // _TINY
        if self._heading is not None and not tiny:
            self.close()
        self._unbroken, self._path = True, path
        self._add(_Unit(*stripped(self._text, start, body), body=False))
        for unit in _between(_PARAGRAPH, self._text, body, end):
            self._add(unit._replace(body=any(ch.isalnum() for ch in self._text[unit.start : unit.end])))

    def close(self) -> None:
        cancel.check()
        if self._units:
            path = self._path if self._heading is None else self._heading
            self.chunks.append(Chunk(self._units[0].start, self._units[-1].end, path))
        self._units, self._heading, self._unbroken = [], None, False

    def _tokens(self, units: Sequence[_Unit]) -> int:
        """Count the tokens that end in the text from the first to the last of these units, plus the `extra` tokens of
        cuts.
        """
        if not units:
            return 0
        ending = bisect_right(self._ends, units[-1].end) - bisect_right(self._ends, units[0].start)
        return ending + sum(unit.extra for unit in units)

    @property
    def _closable(self) -> bool:
        """Whether the current chunk may stand alone; without body text it may only if it is more than half full."""
        used, wide = self._tokens(self._units), _width(self._units)
        if self._heading is None:
            return used > self._size // 2 or wide > self._widest // 2
        return used >= self._size // _TINY or wide > self._widest // _TINY

    def _fits(self, unit: _Unit) -> bool:
        units = [*self._units, unit]
        return _width(units) <= self._widest and self._tokens(units) <= self._size

    def _add(self, unit: _Unit, level: int = 0) -> None:
        """Add a unit to the current chunk; begin a new chunk if it does not fit, and cut it if it fits in none."""
        if unit.end <= unit.start:
            return
        whole = self._closable or (unit.row and self._tokens([unit]) <= self._size)
        if whole and (self._tokens(self._units) >= self._target or not self._fits(unit)):
            self.close()
        if not self._fits(unit):
            if level < len(self._cuts):
                self._add_parts(unit, level)
                return
            self.close()
        self._units.append(unit)
        if unit.body and self._heading is None:
            self._heading = self._path

    def _add_parts(self, unit: _Unit, level: int) -> None:
        """Cut a unit that is too long and add its parts; the outermost one is cut evenly, so that no scrap is left at
        its end.
        """
        before = self._target
        total = self._tokens(self._units) + self._tokens([unit])
        if before == self._size and total:
            self._target = ceil(total / ceil(total / self._size))
        for part in self._cuts[level](self._text, unit.start, unit.end):
            self._add(part._replace(body=unit.body), level + 1)
        self._target = before

    def _forced(self, text: str, start: int, end: int) -> Iterator[_Unit]:
        """Cut inside a word: a part has at most as many tokens as code points; a part of an unknown word has one."""
        length, tokens = end - start, self._tokens([_Unit(start, end)])
        step = max(1, self._size // 4) if tokens > 1 else ceil(length / ceil(length / (self._widest // 4)))
        for first in range(start, end, step):
            last = min(first + step, end)
            yield _Unit(first, last, extra=0 if tokens >= length else last - first if tokens > 1 else 1)


def _width(units: Sequence[_Unit]) -> int:
    return units[-1].end - units[0].start if units else 0


def _between(pattern: re.Pattern[str], text: str, start: int, end: int, *, rows: bool = False) -> Iterator[_Unit]:
    """Yield the text between the matches of a pattern, without white space at its ends; with `rows` also the matches,
    which are rows of a table.
    """
    for match in pattern.finditer(text, start, end):
        yield _Unit(*stripped(text, start, match.start()))
        if rows:
            yield _Unit(*stripped(text, *match.span()), row=True)
        start = match.end()
    yield _Unit(*stripped(text, start, end))


def _sentences(text: str, start: int, end: int) -> Iterator[_Unit]:
    """Yield the text from the start of one sentence to the next, because `sentences` leaves out rulers and chunks must
    not.
    """
    starts = [start + each.start for each in sentences(text[start:end])]
    return (_Unit(*stripped(text, *part)) for part in pairwise([start, *starts[1:], end]))


def _runs(text: str, start: int, end: int) -> Iterator[_Unit]:
    """Yield runs of letters and digits, and single ASCII signs: tokenizers cut there too, but not before a combining
    accent.
    """
    return (_Unit(*match.span()) for match in _RUN.finditer(text, start, end))


def _overlapping(document: LoadedDocument, chunks: list[Chunk], ends: Sequence[int], overlap: int) -> list[Chunk]:
    """Start every chunk up to `overlap` tokens earlier: at a sentence if possible, else at a word."""
    text = document.text
    headings = sorted(heading.start for heading in document.headings if heading.level < PLACE)
    overlapping = chunks[:1]
    for before, this in pairwise(chunks):
        cancel.check()
        inside_word = text[this.start - 1].isalnum() and text[this.start].isalnum()
        new_section = bisect_left(headings, before.end) < bisect_right(headings, this.start)
        if inside_word or new_section:
            overlapping.append(this)
            continue
        least = bisect_right(ends, this.start) - overlap
        region = text[before.start : this.start]
        starts = [span.start for span in sentences(region)], [match.end() for match in _BLANK.finditer(region)]
        near = (
            [before.start + start for start in kind if start and bisect_right(ends, before.start + start) >= least]
            for kind in starts
        )
        overlapping.append(this._replace(start=next((min(kind) for kind in near if kind), this.start)))
    return overlapping
