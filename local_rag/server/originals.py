"""Find a quote in the stored text of a file, and open and draw the file as it is on the disk now."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal, NamedTuple

from local_rag.core.documents import ReadLine
from local_rag.core.errors import NotFound, reason_of
from local_rag.index.parse.loaders import LOADERS, PLAIN_TEXTS
from local_rag.index.parse.parser import Parser
from local_rag.index.parse.pdf_page import PagePicture, PlacedQuote, Rectangle
from local_rag.index.parse.prose import load_code, load_text
from local_rag.index.store.protocol import Store
from local_rag.index.store.values import FileRow, StoredDocument
from local_rag.index.sync.read import file_state, looks_unchanged
from local_rag.server.errors import ApiError
from local_rag.server.listings import FileListing
from local_rag.text.display import is_page, is_url
from local_rag.text.encoding import decode
from local_rag.text.nodes import Node
from local_rag.text.rendering import rendered

INLINE_TEXTS = PLAIN_TEXTS | {".md", ".markdown", ".rst", ".csv", ".tsv", ".log"}
MOST_INLINE = 5_000_000
"""The most bytes of a text that a browser shows by itself; a longer one is saved."""

SECONDS = 20.0
"""Seconds that drawing a page may take; after that the worker is ended."""

KEPT = 16
"""The number of pictures that are kept in memory."""

BEFORE, AFTER = 3_000, 6_000
"""Code points that are shown before and after a quote, or after the beginning of a document."""
NEAR = 500
"""The distance in code points within which the text is cut at the end of a line or a word instead."""


@dataclass(frozen=True)
class Original:
    """Hold the real path of a file, and whether its content has changed since it was indexed."""

    path: Path
    changed: bool

    @property
    def opens_as(self) -> Literal["pdf", "text", "attachment"]:
        """The kind of view in which a browser may show the file; an "attachment" is saved."""
        suffix = self.path.suffix.lower()
        if suffix == ".pdf":
            return "pdf"
        is_text = suffix in INLINE_TEXTS and self.path.stat().st_size <= MOST_INLINE
        return "text" if is_text else "attachment"

    def text(self) -> bytes:
        """Return the text in UTF-8, whatever its encoding; raise FileSkipped or OSError."""
        data = self.path.read_bytes()
        return decode(data).encode("utf-8", "replace") if data.strip() else b""


def original_of(listing: FileListing, path: str) -> Original:
    """Return the file that was indexed under a path, following a link only inside the indexed folders.

    Raise NotFound for a file that has just left the index, and ApiError for one that is gone, lies outside the indexed
    folders, or is not a regular file.
    """
    row = listing.read(Store.file, path)
    if row is None:
        raise NotFound("this file has just left the index")
    if is_url(row.path):
        what = "a page of the web" if is_page(row.path) else "a document that a program added"
        raise ApiError(404, "no_original", f"this is {what}: only its text is stored")
    if row.container:
        inside = Path(row.container).name
        raise ApiError(404, "no_original", f"this lies inside of {inside}: only its text is stored")
    try:
        real = Path(row.path).resolve(strict=True)
        # Roots are stored resolved: a root that has become a link since then must not allow files at its target.
        if not any(real.is_relative_to(root.path) for root in listing.roots):
            why = "this file lies outside of the indexed folders now, so it is not opened; its text is stored"
            raise ApiError(403, "outside", why)
        status = real.stat()
        if not stat.S_ISREG(status.st_mode):
            raise ApiError(404, "no_original", "there is no regular file any more under this name")
        return Original(real, _has_changed(row, real, status))
    except (OSError, RuntimeError) as error:  # RuntimeError: a link in a circle, before Python 3.13
        why = reason_of(error) if isinstance(error, OSError) else "a link leads in a circle"
        message = f"the file cannot be opened any more ({why}); its text is stored"
        raise ApiError(
            404, "no_original", message, "local-rag index   brings the index up to date", action="sync"
        ) from error


def original_or_why(listing: FileListing, path: str) -> tuple[Original | None, str]:
    """Return the file on the disk, or None and a sentence that says why it cannot be opened."""
    try:
        return original_of(listing, path), ""
    except ApiError as error:
        update = " Bring the index up to date to see what is there now." if error.hint else ""
        return None, f"{str(error)[:1].upper()}{str(error)[1:]}.{update}"


def _has_changed(row: FileRow, real: Path, status: os.stat_result) -> bool:
    if str(real) == row.path and looks_unchanged(row):
        return False
    if status.st_size != row.size:
        return True
    return not row.has_content(real, status)


class PagePictures:
    """Draw pages of PDFs and images in one parse worker, and keep the last pictures; several threads may use it."""

    def __init__(self) -> None:
        self._parser, self._working = Parser(SECONDS), threading.Lock()
        self._picture = lru_cache(KEPT)(self._drawn)
        self.forget = self._picture.cache_clear
        """Drops all pictures, because a file may have left the index."""

    def picture(self, path: Path, page: int) -> PagePicture:
        """Return the picture of a page of a PDF, counted from 1, or of an image; raise FileSkipped or OSError."""
        return self._picture(path, file_state(path.stat()), page)

    def _drawn(self, path: Path, state: tuple[int, ...], page: int) -> PagePicture:
        with self._working:
            return self._parser.picture(path, page)

    def placed(self, path: Path, document: StoredDocument, spans: Sequence[tuple[int, int]]) -> PlacedQuote:
        """Return the place on a page of code points [start, end) of its stored text; raise FileSkipped or OSError."""
        page = document.page or 1
        if document.lines or not document.text:
            drawn = self.picture(path, page)
            found = (rectangle for start, end in spans for rectangle in _on_scan(document.lines, start, end))
            return PlacedQuote(tuple(found), drawn.width, drawn.height, drawn.pages)
        with self._working:
            return self._parser.placed(path, page, document.text, spans)

    def close(self) -> None:
        """End the worker, even while it draws a page."""
        self._parser.stop()
        with self._working:
            self._parser.close()


def _on_scan(lines: Iterable[ReadLine], start: int, end: int) -> Iterator[Rectangle]:
    """Yield the parts of lines that hold code points [start, end), as if all letters of a line were equally wide."""
    for line in lines:
        first, last = max(line.start, start), min(line.end, end)
        if first < last:
            letter = line.width / (line.end - line.start)
            yield line.left + (first - line.start) * letter, line.top, (last - first) * letter, line.height


class Spot(NamedTuple):
    """Name code points [start, end) of document `number`, counted from 0; both are equal if the quote was not found."""

    number: int
    start: int = 0
    end: int = 0


@dataclass(frozen=True)
class Window:
    """Hold a part of a document as a tree, like that of an answer.

    `before` and `after` are the code points where the part begins and ends in the stored text; None means that the
    document begins or ends there, too.
    """

    blocks: Sequence[Node]
    before: int | None
    after: int | None


def number_of(listing: FileListing, documents: Sequence[StoredDocument], chunk_id: str) -> int | None:
    """Return the number of the document that holds a passage, or None if the passage is not stored (any more)."""
    own = listing.read(Store.document_of, chunk_id) if chunk_id else 0
    return next((each.number for each in documents if each.id == own), None)


def spot_of(
    documents: Sequence[StoredDocument], number: int | None, page: int | None, start: int, end: int, quote: str
) -> Spot | None:
    """Return the current place of a quote, whose file may have been indexed again since.

    If the text at `start` is not the quote, take the only other place that holds it. Without a quote, take the span as
    it is. Return None if no document of the file has that number and page.
    """
    possible = [each for each in documents if number in (None, each.number) and page in (None, each.page)]
    if not possible:
        return None
    first = possible[0]
    if not quote or start >= end:
        return Spot(first.number, start, end) if 0 <= start < end <= len(first.text) else Spot(first.number)
    exact = [each for each in possible if each.text.startswith(quote, start)]
    holding = [each for each in documents if quote in each.text]
    nearest = exact or [each for each in holding if each in possible] or holding
    if exact or (len(nearest) == 1 and nearest[0].text.count(quote) == 1):
        at = start if exact else nearest[0].text.index(quote)
        return Spot(nearest[0].number, at, at + len(quote))
    return Spot(first.number)


def rows_of(document: StoredDocument, spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return those spans that are whole lines of the text; others are wrong since the file was indexed again."""
    lines = f"\n{document.text}\n"
    return [(start, end) for start, end in spans if start < end and lines[start : end + 2 : end - start + 1] == "\n\n"]


def around(
    document: StoredDocument,
    path: str,
    start: int,
    end: int,
    before: int = BEFORE,
    after: int = AFTER,
    rows: Sequence[tuple[int, int]] = (),
) -> Window:
    """Return the text around a span, cut at near ends of lines or words, with the span or the rows marked."""
    text = document.text
    first, last = max(0, start - before), min(len(text), end + after)
    if first:
        breaks = (text.find(sign, first, min(start, first + NEAR)) for sign in "\n ")
        first = next((place + 1 for place in breaks if place >= 0), first)
    if last < len(text):
        breaks = (text.rfind(sign, max(end, last - NEAR), last) for sign in "\n ")
        last = next((place for place in breaks if place >= 0), last)
    return part(document, path, first, last, rows or [(start, end)])


def part(
    document: StoredDocument, path: str, start: int, end: int, marks: Sequence[tuple[int, int]] = ((0, 0),)
) -> Window:
    """Return code points [start, end) of a document of the file at a path as a window, with these spans marked.

    Of Markdown the window holds whole blocks.
    """
    text, suffix = document.text, Path(path).suffix.lower()
    loader = LOADERS.get(suffix, load_text)
    kind = "code" if loader is load_code else "text" if loader is load_text else suffix
    whole = rendered(text, kind, document.heading_starts, max(0, start), min(len(text), end), marks)
    return Window(whole.nodes, whole.start or None, whole.end if whole.end < len(text) else None)
