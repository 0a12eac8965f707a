"""The title of a PDF by its first page, and the heading that each page begins with."""

from __future__ import annotations

import ctypes
import itertools
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from local_rag.core.documents import Heading

LARGER = 1.25
"""Times the size of most letters of the page from which a line is a title. LaTeX's \\LARGE is 1.44 times a text of 12
points, a section's heading 1.2; read on 60 PDFs, where 1.1 takes headings of sections for titles."""

LINES = 3
"""Lines that a title has at most."""

_BODY = 200
"""Letters of other sizes that a page has at least: a page of a few words shows no title by its size."""

_LOOKED_AT = 6000
"""Characters of a page that are read."""

_MEASURED = 3
"""Letters of a line that are measured: all of them would take longer than reading the page."""

_LONGEST = 200


FIRST = 4
"""Lines at the head of a page that are looked at."""

RUNNING = 3
"""Pages from which a line at their head is that of all of them: the name of a company, a link to the contents."""

_WORDS = 12
_LONG_HEADING = 100


class _Line(NamedTuple):
    text: str
    size: float
    letters: int


def largest_line(page: Any) -> str:
    """The title that a pdfium text page shows, nothing where that is not certain.

    It is certain where only one line, or up to LINES that follow each other, has the largest letters, and it is words.
    """
    lines = [line for line in _lines(page) if line.letters]
    sizes = Counter[float]()
    for line in lines:
        sizes[line.size] += line.letters
    largest = max(sizes, default=0.0)
    usual = sizes.most_common(1)[0][0] if sizes else 0.0
    if not usual or largest < LARGER * usual or sizes.total() - sizes[largest] < _BODY:
        return ""
    runs = [list(run) for size, run in itertools.groupby(lines, key=lambda line: line.size) if size == largest]
    return _title(runs[0]) if len(runs) == 1 and len(runs[0]) <= LINES else ""


def _title(lines: Sequence[_Line]) -> str:
    text = " ".join(" ".join(line.text for line in lines).replace("_", " ").split())
    letters = sum(character.isalpha() for character in text)
    is_words = letters >= 4 and letters >= 0.6 * len(text) and len(text) <= _LONGEST
    return text if is_words and "://" not in text and text[-1] not in ",;:" else ""


def _lines(page: Any) -> Iterator[_Line]:
    """The upright lines of a page, with the size of most of their letters in points, as the page shows them."""
    import pypdfium2.raw as pdfium

    text, letters = "", list[int]()
    for at in range(min(page.count_chars(), _LOOKED_AT)):
        code = pdfium.FPDFText_GetUnicode(page, at)
        if code in (10, 13):
            yield _line(page, text, letters)
            text, letters = "", []
        elif code < 0x110000:
            text += chr(code)
            if text[-1].isalpha():
                letters.append(at)
    yield _line(page, text, letters)


def _line(page: Any, text: str, letters: Sequence[int]) -> _Line:
    measured = letters[:: max(1, len(letters) // _MEASURED)]
    sizes = Counter(filter(None, (_size(page, at) for at in measured)))
    return _Line(text, *(sizes.most_common(1)[0][0], len(letters)) if sizes else (0.0, 0))


def _size(page: Any, at: int) -> float:
    """The size of a letter, 0 where it does not stand upright: arXiv's stamp at the margin is no title."""
    import pypdfium2.raw as pdfium

    if abs(math.sin(pdfium.FPDFText_GetCharAngle(page, at))) > 0.1:
        return 0.0
    matrix = pdfium.FS_MATRIX()
    pdfium.FPDFText_GetMatrix(page, at, ctypes.byref(matrix))
    size: float = pdfium.FPDFText_GetFontSize(page, at) * math.hypot(matrix.a, matrix.b)
    return round(size, 1)


def page_headings(texts: Sequence[str]) -> list[tuple[Heading, ...]]:
    """The heading of each page, none where its first line that is no other page's is a sentence or a row of figures.

    A file of fewer than RUNNING pages has none: its title says as much. Lines that differ only by their numbers, as
    page numbers do, are the same.
    """
    heads = [_first_lines(text) for text in texts]
    pages = Counter(line for head in heads for line in {_without_numbers(line) for _, line in head})
    if len(texts) < RUNNING:
        return [()] * len(texts)
    return [
        _heading_of(text, [(at, line) for at, line in head if pages[_without_numbers(line)] < RUNNING])
        for text, head in zip(texts, heads, strict=True)
    ]


def _without_numbers(line: str) -> str:
    return re.sub(r"\d+", "", line).strip()


def _first_lines(text: str) -> list[tuple[int, str]]:
    """The first lines of a page with letters in them, and where they start."""
    lines, start = list[tuple[int, str]](), 0
    while start < len(text) and len(lines) < FIRST:
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        line = text[start : min(end, start + 4 * _LONG_HEADING)].strip()
        if sum(character.isalpha() for character in line) > 3:
            lines.append((start, line))
        start = end + 1
    return lines


def _heading_of(text: str, head: Sequence[tuple[int, str]]) -> tuple[Heading, ...]:
    if not head:
        return ()
    start, line = head[0]
    alone = len(text) == start + len(line)
    return () if alone or not _is_heading(line) else (Heading(start, 1, line),)


def _is_heading(line: str) -> bool:
    tokens = line.split()
    if len(line) > _LONG_HEADING or len(tokens) > _WORDS or line[-1] in ",;":
        return False
    if line[0].islower() or not line[0].isalnum():
        return False
    letters = sum(character.isalpha() or character.isspace() for character in line)
    long = [word for word in tokens if len(word) > 3 and word[0].isalpha()]
    capitals = sum(not word[0].islower() for word in long)
    return letters >= 0.7 * len(line) and (line[-1] not in ".!?" or capitals > 0.6 * len(long) > 0)
