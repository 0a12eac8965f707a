"""A document -> chunks: spans of its text, cut where its structure allows, never longer than the embedder reads."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from math import ceil
from typing import NamedTuple

from local_rag.core import cancel
from local_rag.core.documents import PLACE, Heading, LoadedDocument
from local_rag.text.sentences import Span, sentences, stripped

_TINY = 8
"""A chunk under size / 8 is filled up across a paragraph or a small section rather than left alone."""

_WIDE = 16
"""Code points per token at most (English prose has 4 to 5): bounds what a tokenizer takes for one unknown word."""

_WIDEST_AT_LEAST = 1600
"""A part of a cut unknown word stays over 100 code points, where BERT's WordPiece gives up on a word."""

_PARAGRAPH = re.compile(r"\n[^\S\n]*(?:\n[^\S\n]*)+")
_LINE = re.compile(r"\n")
_ROW = re.compile(r"^[^\n]* \| [^\n]*", re.MULTILINE)
"""A row of a table, as `index/parse/tables.py` writes it."""
_BLANK = re.compile(r"\s+")
_RUN = re.compile(r"(?:[^\W_]|[^\x00-\x7f\s])+|[^\w\s]|_")


class Chunk(NamedTuple):
    """Code points [start, end) of a document's text; `heading` is the path "Chapter > Section" it begins in."""

    start: int
    end: int
    heading: str


class _Unit(NamedTuple):
    """A span to take whole. Headings and rules have no `body`; cutting words may cost `extra` tokens.

    A `row` is cut only where it fits in no chunk.
    """

    start: int
    end: int
    body: bool = True
    extra: int = 0
    row: bool = False


class _Section(NamedTuple):
    """The text from one heading to the next; `body` is where the text below the heading starts."""

    start: int
    body: int
    end: int
    path: str


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
        packer.section(section)
    packer.close()
    return _overlapping(document, packer.chunks, ends, overlap) if overlap else packer.chunks


def heading_paths(headings: Iterable[Heading]) -> Iterator[tuple[int, str]]:
    """Where each heading starts, in order, and its path "Chapter > Section"."""
    above: list[tuple[int, str]] = []
    for heading in sorted(headings, key=lambda heading: heading.start):
        while above and above[-1][0] >= heading.level:
            above.pop()
        above.append((heading.level, " ".join(heading.text.split())))
        yield heading.start, " > ".join(words for _, words in above if words)


def _sections(document: LoadedDocument) -> Iterator[_Section]:
    text = document.text
    paths = list(heading_paths(heading for heading in document.headings if heading.level < PLACE))
    ends = [start for start, _ in paths] + [len(text)]
    yield _Section(0, 0, ends[0], "")
    for (start, path), end in zip(paths, ends[1:], strict=True):
        line = text.find("\n", start, end)
        yield _Section(start, end if line < 0 else line, end, path)


class _Packer:
    """Fills one chunk after the other."""

    def __init__(self, text: str, ends: Sequence[int], size: int) -> None:
        self.chunks: list[Chunk] = []
        self._text, self._ends, self._size, self._target = text, ends, size, size
        self._widest = max(_WIDE * size, _WIDEST_AT_LEAST)
        self._path = ""
        self._unbroken = True
        self._clear()

    def _clear(self) -> None:
        self._start = self._end = -1
        self._first = self._last = self._extra = 0
        self._heading: str | None = None

    def section(self, section: _Section) -> None:
        tiny = self._unbroken and self._used < self._size // _TINY
        if self._heading is not None and not tiny:
            self.close()
        self._unbroken = True
        self._path = section.path
        self._add(_Unit(*stripped(self._text, section.start, section.body), body=False), 0)
        for start, end in _between(_PARAGRAPH, self._text, Span(section.body, section.end)):
            self._add(_Unit(start, end, body=any(ch.isalnum() for ch in self._text[start:end])), 0)

    def close(self) -> None:
        cancel.check()
        if self._start >= 0:
            path = self._path if self._heading is None else self._heading
            self.chunks.append(Chunk(self._start, self._end, path))
        self._unbroken = False
        self._clear()

    @property
    def _used(self) -> int:
        return self._last - self._first + self._extra

    @property
    def _closable(self) -> bool:
        """Whether the chunk in hand may stand alone: a heading may not, unless it is longer than many a text."""
        wide = self._end - self._start
        if self._heading is None:
            return self._used > self._size // 2 or wide > self._widest // 2
        return self._used >= self._size // _TINY or wide > self._widest // _TINY

    def _add(self, unit: _Unit, level: int) -> None:
        """Take a unit; begin a new chunk if it does not fit, and take it in parts if it fits in none."""
        if unit.end <= unit.start:
            return
        whole = self._closable or (unit.row and self._tokens(unit) <= self._size)
        if whole and (self._used >= self._target or not self._fits(unit)):
            self.close()
        if self._fits(unit):
            self._take(unit)
        elif level < len(_CUTS) + 2:
            self._add_parts(unit, level)
        else:
            self.close()
            self._take(unit)

    def _add_parts(self, unit: _Unit, level: int) -> None:
        """The outermost unit that is too long is shared out evenly, so that no scrap is left over at its end."""
        before = self._target
        if before == self._size:
            total = self._used + self._tokens(unit)
            self._target = ceil(total / ceil(total / self._size)) if total else before
        for part in self._parts(unit, level):
            self._add(part._replace(body=unit.body), level + 1)
        self._target = before

    def _parts(self, unit: _Unit, level: int) -> Iterator[_Unit]:
        span = Span(unit.start, unit.end)
        if level == 0:
            return _rows(self._text, span)
        if level <= len(_CUTS):
            return (_Unit(*part) for part in _CUTS[level - 1](self._text, span))
        return _forced(span, self._tokens(unit), self._size)

    def _tokens(self, unit: _Unit) -> int:
        return bisect_right(self._ends, unit.end) - bisect_right(self._ends, unit.start)

    def _fits(self, unit: _Unit) -> bool:
        if self._start < 0:
            return unit.end - unit.start <= self._widest and self._tokens(unit) + unit.extra <= self._size
        used = bisect_right(self._ends, unit.end, self._last) - self._first + self._extra
        return unit.end - self._start <= self._widest and used + unit.extra <= self._size

    def _take(self, unit: _Unit) -> None:
        if self._start < 0:
            self._start = unit.start
            self._first = bisect_right(self._ends, unit.start)
        self._end = unit.end
        self._last = bisect_right(self._ends, unit.end, self._first)
        self._extra += unit.extra
        if unit.body and self._heading is None:
            self._heading = self._path


def _between(pattern: re.Pattern[str], text: str, span: Span) -> Iterator[Span]:
    """The spans of text between the matches of a pattern, white space at their ends left out."""
    start = span.start
    for match in pattern.finditer(text, span.start, span.end):
        yield stripped(text, start, match.start())
        start = match.end()
    yield stripped(text, start, span.end)


def _rows(text: str, span: Span) -> Iterator[_Unit]:
    """Each row of a table, and what stands between two as it is."""
    start = span.start
    for match in _ROW.finditer(text, *span):
        yield _Unit(*stripped(text, start, match.start()))
        yield _Unit(*stripped(text, *match.span()), row=True)
        start = match.end()
    yield _Unit(*stripped(text, start, span.end))


def _sentences(text: str, span: Span) -> Iterator[Span]:
    """From one sentence to the next: `sentences` leaves rulers and the like out, chunks leave nothing out."""
    starts = [span.start + each.start for each in sentences(span.of(text))]
    return (stripped(text, start, end) for start, end in pairwise([span.start, *starts[1:], span.end]))


def _runs(text: str, span: Span) -> Iterator[Span]:
    """Letters and digits together, ASCII signs alone: tokenizers cut there too, but not before a combining accent."""
    return (Span(*match.span()) for match in _RUN.finditer(text, *span))


def _forced(span: Span, tokens: int, size: int) -> Iterator[_Unit]:
    """Cut inside a word: a part has at most as many tokens as code points, a part of an unknown word has one."""
    length = span.end - span.start
    widest = max(_WIDE * size, _WIDEST_AT_LEAST) // 4
    known = tokens > 1
    step = max(1, size // 4) if known else ceil(length / ceil(length / widest))
    for start in range(span.start, span.end, step):
        end = min(start + step, span.end)
        yield _Unit(start, end, extra=0 if tokens >= length else end - start if known else 1)


_CUTS: tuple[Callable[[str, Span], Iterator[Span]], ...] = (
    _sentences,
    partial(_between, _LINE),
    partial(_between, _BLANK),
    _runs,
)
"""How a unit that is too long is cut, the widest parts first; before them into rows, after them by force."""


def _overlapping(document: LoadedDocument, chunks: list[Chunk], ends: Sequence[int], overlap: int) -> list[Chunk]:
    """Let every chunk begin up to `overlap` tokens earlier: at a sentence if there is one, else at a word."""
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
