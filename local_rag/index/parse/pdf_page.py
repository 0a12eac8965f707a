"""A page of a PDF as a picture, and where on it a quote of its stored text stands. Both run in the worker process."""

from __future__ import annotations

import ctypes
import math
import struct
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from local_rag.core.errors import FileSkipped
from local_rag.index.parse.pdf import LIGATURES

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument, PdfPage

Rectangle = tuple[float, float, float, float]
"""Left, top, width and height, as shares of the page as it is shown."""

DPI = 144
MAX_PIXELS = 4_000_000
"""Of a picture: an A3 page at 144 dpi. A larger page is drawn coarser."""

MAX_SIDE = 8_000
MAX_CHARACTERS = 200_000
"""Of a page on which a quote is looked for; a dense page of a newspaper has 30,000."""

_CONTEXT = 60
"""Letters before and after a quote that decide between the places where it stands."""

_FINE = 1_000_000
"""Steps of a side of the page: pdfium gives places on it as whole numbers."""


@dataclass(frozen=True, slots=True)
class PagePicture:
    """A page as PNG, and how many pages the file has."""

    png: bytes
    width: int
    height: int
    pages: int


@dataclass(frozen=True, slots=True)
class PlacedQuote:
    """Where a quote stands on its page, a rectangle per line; empty where that is not certain. Sizes are in pixels."""

    rectangles: tuple[Rectangle, ...]
    width: int
    height: int
    pages: int


def picture(path: Path, number: int) -> PagePicture:
    """Draw a page, counted from 1. Raises FileSkipped for a file or a page that pdfium cannot open."""
    with _page(path, number) as (file, page):
        with suppress(Exception):  # a form that is broken is drawn without its fields
            file.init_forms()
            page = file[number - 1]
        bitmap = page.render(scale=_scale(page), rev_byteorder=True)
        width, height = bitmap.width, bitmap.height
        return PagePicture(_png(bitmap, width, height), width, height, len(file))


def placed(path: Path, number: int, text: str, start: int, end: int) -> PlacedQuote:
    """Where code points [start, end) of a page's stored text stand on it; letters and digits alone are compared.

    Raises FileSkipped for a file or a page that pdfium cannot open.
    """
    with _page(path, number) as (file, page):
        spot = _characters(page, text, start, end)
        rectangles = _rectangles(page, *spot) if spot else ()
        return PlacedQuote(tuple(rectangles), *_size(page), len(file))


@contextmanager
def _page(path: Path, number: int) -> Iterator[tuple[PdfDocument, PdfPage]]:
    import pypdfium2

    try:
        file = pypdfium2.PdfDocument(path)
    except pypdfium2.PdfiumError as error:
        raise FileSkipped("cannot be drawn: it is damaged, or encrypted with a password") from error
    try:
        if not 1 <= number <= len(file):
            raise FileSkipped(f"has no page {number}; its pages are 1 to {len(file)}")
        try:
            yield file, file[number - 1]
        except (pypdfium2.PdfiumError, ValueError) as error:
            raise FileSkipped(f"page {number} cannot be drawn (damaged)") from error
    finally:
        file.close()


def _scale(page: PdfPage) -> float:
    width, height = (max(1.0, side) for side in page.get_size())
    scale: float = min(DPI / 72, math.sqrt(MAX_PIXELS / (width * height)), MAX_SIDE / max(width, height))
    return scale


def _size(page: PdfPage) -> tuple[int, int]:
    """Pixels of the picture of a page."""
    width, height = page.get_size()
    scale = _scale(page)
    return math.ceil(width * scale), math.ceil(height * scale)


def _png(bitmap: Any, width: int, height: int) -> bytes:
    """RFC 2083, eight bits of red, green and blue: on loopback a quick picture is better than a small one."""
    stride, pixels = bitmap.stride, memoryview(bitmap.buffer).cast("B")
    rows = b"".join(b"\0" + bytes(pixels[row * stride : row * stride + 3 * width]) for row in range(height))
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = map(_chunk, (b"IHDR", b"IDAT", b"IEND"), (header, zlib.compress(rows, 3), b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


# --- where a quote stands


def _characters(page: PdfPage, text: str, start: int, end: int) -> tuple[int, int] | None:
    """Pdfium's first character of the quote and the number of them; None where it is not certain which they are."""
    from pypdfium2 import raw

    shown = page.get_textpage()
    count = min(shown.count_chars(), MAX_CHARACTERS)
    letters, places = _letters(chr(raw.FPDFText_GetUnicode(shown, at)) for at in range(count))
    stored, origins = _letters(text)
    before = sum(origin < start for origin in origins)
    quote = sum(start <= origin < end for origin in origins)
    at = before if letters == stored else _occurrence(letters, stored, before, quote)
    if at is None or not quote:
        return None
    first, last = places[at], places[at + quote - 1]
    tail = text[origins[before + quote - 1] + 1 : end]
    while tail and last + 1 < count and tail.startswith(chr(raw.FPDFText_GetUnicode(shown, last + 1))):
        last, tail = last + 1, tail[1:]
    return first, last - first + 1


def _letters(characters: Sequence[str] | Iterator[str]) -> tuple[str, list[int]]:
    """The letters and digits of a text, and where each of them stands in it."""
    letters: list[str] = []
    places: list[int] = []
    for place, character in enumerate(characters):
        for letter in LIGATURES.get(ord(character), character):
            if letter.isalnum() and letter <= "\uffff":
                letters.append(letter)
                places.append(place)
    return "".join(letters), places


def _occurrence(letters: str, stored: str, before: int, length: int) -> int | None:
    """Where the letters stored[before : before + length] stand in others; None unless one place fits best."""
    from rapidfuzz.distance import Postfix, Prefix

    quote = stored[before : before + length]
    places: list[int] = []
    place = letters.find(quote) if quote else -1
    while place >= 0:
        places.append(place)
        place = letters.find(quote, place + 1)
    if len(places) < 2:
        return places[0] if places else None
    left, right = stored[max(0, before - _CONTEXT) : before], stored[before + length :][:_CONTEXT]

    def agreement(at: int) -> int:
        around = letters[max(0, at - _CONTEXT) : at], letters[at + length :][:_CONTEXT]
        return Postfix.similarity(left, around[0]) + Prefix.similarity(right, around[1])

    ranked = sorted(places, key=agreement, reverse=True)
    return ranked[0] if agreement(ranked[0]) > agreement(ranked[1]) else None


def _rectangles(page: PdfPage, first: int, count: int) -> list[Rectangle]:
    """The rectangles of some characters, those of a line joined."""
    from pypdfium2 import raw

    shown = page.get_textpage()
    sides = [ctypes.c_double() for _ in range(4)]
    rectangles: list[Rectangle] = []
    for number in range(raw.FPDFText_CountRects(shown, first, count)):
        if raw.FPDFText_GetRect(shown, number, *sides):
            left, top, right, bottom = (side.value for side in sides)
            rectangles.append(_as_shown(page, left, top, right, bottom))
    return _joined(rectangles)


def _as_shown(page: PdfPage, left: float, top: float, right: float, bottom: float) -> Rectangle:
    """From the page's own measure to shares of what is shown, turned and cropped as the page says."""
    from pypdfium2 import raw

    corners = []
    for x, y in ((left, top), (right, bottom)):
        across, down = ctypes.c_int(), ctypes.c_int()
        raw.FPDF_PageToDevice(page, 0, 0, _FINE, _FINE, 0, x, y, across, down)
        corners.append((across.value / _FINE, down.value / _FINE))
    (x1, y1), (x2, y2) = corners
    x, y = (max(0.0, min(1.0, value)) for value in (min(x1, x2), min(y1, y2)))
    return x, y, min(1.0, max(x1, x2)) - x, min(1.0, max(y1, y2)) - y


def _joined(rectangles: Sequence[Rectangle]) -> list[Rectangle]:
    """Rectangles of one line as one: pdfium begins another where font or spacing changes. What shows nothing goes."""
    lines: list[Rectangle] = []
    for x, y, width, height in rectangles:
        if width <= 0 or height <= 0:
            continue
        if lines:
            x0, y0, width0, height0 = lines[-1]
            shared = min(y + height, y0 + height0) - max(y, y0)
            if shared > 0.5 * min(height, height0) and -0.02 < x - (x0 + width0) < 0.03:
                top, right = min(y, y0), max(x + width, x0 + width0)
                lines[-1] = (min(x, x0), top, right - min(x, x0), max(y + height, y0 + height0) - top)
                continue
        lines.append((x, y, width, height))
    return lines
