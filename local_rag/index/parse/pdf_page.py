"""A page as a picture, an image too, and the place of a quote of its text on that of a PDF. Runs in the worker."""

from __future__ import annotations

import io
import math
import unicodedata
import warnings
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from local_rag.core.errors import FileSkipped
from local_rag.index.parse.pdf_text import page_text

if TYPE_CHECKING:
    from PIL.Image import Image
    from pypdfium2 import PdfDocument, PdfPage

Rectangle = tuple[float, float, float, float]
"""Left, top, width and height, as shares of the page as it is shown."""

DPI = 144
MAX_PIXELS = 4_000_000
"""The most pixels of a picture: an A3 page at 144 dpi. A larger page is drawn coarser."""

MAX_SIDE = 8_000
MAX_IMAGE = 100_000_000
"""The most pixels of an image that is opened: in memory they take 400 MB."""

IMAGES = frozenset(".png .jpg .jpeg .tif .tiff .webp .bmp".split())
"""Suffixes of images."""

_FORMATS = "PNG JPEG TIFF WEBP BMP".split()
"""The only formats that Pillow may try."""

MAX_PAGE_CHARACTERS = 200_000
"""The most characters of a page on which a quote is looked for; a dense page of a newspaper has 30,000."""

_CONTEXTS = (60, 20, 0)
"""Letters before and after a quote by which its place is found: the longest that stand on the page decide."""

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
    """The place of a quote on its page, a rectangle per line; none where that is not certain. Sizes are in pixels."""

    rectangles: tuple[Rectangle, ...]
    width: int
    height: int
    pages: int


def picture(path: Path, number: int) -> PagePicture:
    """Draw a page, counted from 1. Raises FileSkipped for a file or a page that cannot be opened."""
    page, pages = drawn(path, number)
    png = io.BytesIO()
    page.save(png, "PNG", compress_level=3)  # quick rather than small
    return PagePicture(png.getvalue(), page.width, page.height, pages)


def drawn(path: Path, number: int, dpi: float = DPI) -> tuple[Image, int]:
    """Return a page of a PDF or an image in RGB, turned as it is shown, and how many pages there are. Raises as
    `picture`.
    """
    if path.suffix.lower() in IMAGES:
        from PIL import ImageOps

        with opened_image(path) as image:
            shown = ImageOps.exif_transpose(image.convert("RGB"))
            scale = _scale(shown.size, 1.0)
            shown.thumbnail((shown.width * scale, shown.height * scale))
            return shown, 1
    with _page(path, number) as (file, page):
        scale = _scale(page.get_size(), dpi / 72)
        return page.render(scale=scale, rev_byteorder=True).to_pil().convert("RGB"), len(file)


@contextmanager
def opened_image(path: Path) -> Iterator[Image]:
    """Open an image, of which only the head is read yet. Raises FileSkipped for another kind of file, and a large
    one.
    """
    from PIL import Image, UnidentifiedImageError

    Image.MAX_IMAGE_PIXELS = MAX_IMAGE // 2  # Pillow refuses what has twice as many, and warns before
    try:
        with warnings.catch_warnings(action="ignore"), Image.open(path, formats=_FORMATS) as image:
            yield image
    except Image.DecompressionBombError as error:
        raise FileSkipped(f"has more than {MAX_IMAGE // 1_000_000} megapixels", hint="make it smaller") from error
    except UnidentifiedImageError as error:
        raise FileSkipped("is no image of a kind that is read, or is damaged") from error


def placed(path: Path, number: int, text: str, spans: Sequence[Sequence[int]]) -> PlacedQuote:
    """Return where code points [start, end) of a page's stored text stand on it; letters and digits alone are compared.

    Raises FileSkipped for a file or a page that pdfium cannot open.
    """
    with _page(path, number) as (file, page):
        rectangles = _rectangles(page, _characters(page, text, spans))
        scale = _scale(page.get_size(), DPI / 72)
        width, height = (math.ceil(side * scale) for side in page.get_size())
        return PlacedQuote(tuple(rectangles), width, height, len(file))


@contextmanager
def _page(path: Path, number: int) -> Iterator[tuple[PdfDocument, PdfPage]]:
    import pypdfium2

    try:
        with closing(pypdfium2.PdfDocument(path)) as file:
            if not 1 <= number <= len(file):
                raise FileSkipped(f"has no page {number}; its pages are 1 to {len(file)}")
            file.init_forms()
            yield file, file[number - 1]
    except (pypdfium2.PdfiumError, ValueError) as error:
        raise FileSkipped(f"page {number} cannot be drawn: the file is damaged, or has a password") from error


def _scale(size: tuple[float, float], most: float) -> float:
    width, height = (max(1.0, side) for side in size)
    scale: float = min(most, math.sqrt(MAX_PIXELS / (width * height)), MAX_SIDE / max(width, height))
    return scale


# --- where a quote stands


def _characters(page: PdfPage, text: str, spans: Sequence[Sequence[int]]) -> list[list[int]]:
    """Return runs of pdfium's characters of quotes, from the first to the last of each; none of one where they are not
    certain.
    """
    from pypdfium2 import raw

    shown = page.get_textpage()
    count = min(shown.count_chars(), MAX_PAGE_CHARACTERS)
    read = page_text(page, shown)
    order = list(range(count))
    if len(read.text) == count:
        order = [at for _, first, last in read.in_order() for at in range(first, last)]
    codes = [chr(raw.FPDFText_GetUnicode(shown, at)) for at in order]
    letters, places = _letters(codes)
    stored, origins = _letters(text)
    runs = list[list[int]]()
    for start, end in spans:
        before, last = (bisect_left(origins, origin) for origin in (start, end))
        at = before if letters == stored else _occurrence(letters, stored, before, last)
        if at is None or before == last:
            continue
        final = places[at + last - before - 1]
        for mark in text[origins[last - 1] + 1 : end]:  # with the marks behind it
            if final + 1 == len(order) or codes[final + 1] != mark:
                break
            final += 1
        for place in order[places[at] : final + 1]:
            if runs and place == runs[-1][1] + 1:
                runs[-1][1] = place
            else:
                runs.append([place, place])
    return runs


def _letters(characters: Iterable[str]) -> tuple[str, list[int]]:
    """Return the letters and digits of a text, and the place of each of them in it."""
    letters, places = list[str](), list[int]()
    for place, character in enumerate(characters):
        for letter in unicodedata.normalize("NFKC", character):
            if letter.isalnum() and letter <= "\uffff":
                letters.append(letter)
                places.append(place)
    return "".join(letters), places


def _occurrence(letters: str, stored: str, start: int, end: int) -> int | None:
    """Return where the letters stored[start:end] stand in others; None where their context fits several places."""
    for context in _CONTEXTS:
        before = min(context, start)
        sought = stored[start - before : end + context]
        if end > start and (at := letters.find(sought)) >= 0:
            return None if letters.find(sought, at + 1) >= 0 else at + before
    return None


def _rectangles(page: PdfPage, runs: Iterable[Sequence[int]]) -> list[Rectangle]:
    """Return the rectangles of some characters, those of a line joined: pdfium begins another where font or spacing
    changes.

    They are turned and cropped as the page says.
    """
    from pypdfium2 import PdfPosConv

    shown, lines = page.get_textpage(), list[Rectangle]()
    shown.count_rects()
    convert = PdfPosConv(page, (0, 0, _FINE, _FINE, 0)).to_bitmap
    for number in (number for run in runs for number in range(shown.count_rects(run[0], run[1] - run[0] + 1))):
        left, bottom, right, top = shown.get_rect(number)
        corners = zip(convert(left, top), convert(right, bottom), strict=True)
        (x, x2), (y, y2) = (sorted(max(0.0, min(1.0, side / _FINE)) for side in sides) for sides in corners)
        if lines:
            x0, y0, end, low = lines[-1]
            if abs(x - end) < 0.03 and min(y2, low) - max(y, y0) > 0.5 * min(y2 - y, low - y0):
                x, y, x2, y2 = min(x, x0), min(y, y0), max(x2, end), max(y2, low)
                lines.pop()
        lines.append((x, y, x2, y2))
    return [(x, y, x2 - x, y2 - y) for x, y, x2, y2 in lines if x2 > x and y2 > y]
