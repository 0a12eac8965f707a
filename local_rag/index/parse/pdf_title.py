"""The title of a PDF whose properties name none: what stands on its first page in the largest letters by far."""

from __future__ import annotations

import ctypes
import itertools
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

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
