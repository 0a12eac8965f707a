"""The file behind an ID as it lies on the disk now, and its pages drawn: only where it lies below an indexed folder."""

from __future__ import annotations

import os
import stat
import threading
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from local_rag.core.errors import reason_of
from local_rag.index.embed.weights import sha256
from local_rag.index.parse.loaders import TEXTS
from local_rag.index.parse.parser import Parser
from local_rag.index.parse.pdf_page import PagePicture, PlacedQuote
from local_rag.index.store import reads
from local_rag.index.sync.read import file_state, looks_unchanged
from local_rag.server.errors import ApiError, NotFound
from local_rag.server.listings import FileListing
from local_rag.text.display import is_url
from local_rag.text.encoding import decode

if TYPE_CHECKING:
    from local_rag.index.store.schema import FileRow

INLINE_TEXTS = TEXTS | {".md", ".markdown", ".rst", ".csv", ".tsv", ".log"}
MOST_INLINE = 5_000_000
"""Bytes of a text that a browser shows by itself; a longer one is saved."""

GONE = "this file has just left the index"
OUTSIDE = "this file lies outside of the indexed folders now, so it is not opened; its text is stored"

SECONDS = 20.0
"""That the drawing of a page may take; then the worker is ended."""

KEPT = 16
"""Pictures that are kept."""


@dataclass(frozen=True, slots=True)
class Original:
    """A file by its real path, and whether its content is another than when it was indexed."""

    path: Path
    changed: bool

    @property
    def opens_as(self) -> Literal["pdf", "text", "attachment"]:
        """What a browser may show by itself; anything else is saved."""
        suffix = self.path.suffix.lower()
        if suffix == ".pdf":
            return "pdf"
        is_text = suffix in INLINE_TEXTS and self.path.stat().st_size <= MOST_INLINE
        return "text" if is_text else "attachment"

    def text(self) -> bytes:
        """The text in UTF-8, whatever its encoding. Raises FileSkipped, OSError."""
        data = self.path.read_bytes()
        return decode(data).encode("utf-8", "replace") if data.strip() else b""


def original_of(listing: FileListing, path: str) -> Original:
    """The file that was indexed under a path. A link is followed, and must not lead out of the indexed folders.

    Raises NotFound for one that has just left the index, ApiError for what is gone, lies elsewhere, or is no file.
    """
    row = listing.read(reads.file_row, path)
    if row is None:
        raise NotFound(GONE)
    if is_url(row.path):
        raise ApiError(404, "no_original", "this is a page of the web: only its text is stored")
    if row.container:
        inside = Path(row.container).name
        raise ApiError(404, "no_original", f"this lies inside of {inside}: only its text is stored")
    try:
        real = Path(row.path).resolve(strict=True)
        # Roots are stored resolved: one that has become a link since then must not vouch for where it leads.
        if not any(real.is_relative_to(root.path) for root in listing.roots):
            raise ApiError(403, "outside", OUTSIDE)
        status = real.stat()
        if not stat.S_ISREG(status.st_mode):
            raise ApiError(404, "no_original", "there is no regular file any more under this name")
        return Original(real, _has_changed(row, real, status))
    except (OSError, RuntimeError) as error:  # RuntimeError: a link in a circle, before Python 3.13
        why = reason_of(error) if isinstance(error, OSError) else "a link leads in a circle"
        message = f"the file cannot be opened any more ({why}); its text is stored"
        raise ApiError(404, "no_original", message, "local-rag index   brings the index up to date") from error


def original_or_why(listing: FileListing, path: str) -> tuple[Original | None, str]:
    """The file on the disk, or why it cannot be opened."""
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
    return _digest(real, file_state(status)) != row.sha256[:64]  # behind it stand the rules for what lies inside of it


@lru_cache(1_000)
def _digest(path: Path, state: tuple[int, ...]) -> str:
    return sha256(path)


class PagePictures:
    """Pages of PDFs as pictures, by one parse worker; the last ones are kept in memory. Serves several threads."""

    def __init__(self) -> None:
        self._parser, self._working = Parser(SECONDS), threading.Lock()
        self._picture = lru_cache(KEPT)(self._drawn)
        self.forget = self._picture.cache_clear
        """Let go of all pictures: a file may have left the index."""

    def picture(self, path: Path, page: int) -> PagePicture:
        """A page of a PDF, counted from 1. Raises FileSkipped, OSError."""
        return self._picture(path, file_state(path.stat()), page)

    def _drawn(self, path: Path, state: tuple[int, ...], page: int) -> PagePicture:
        with self._working:
            return self._parser.picture(path, page)

    def placed(self, path: Path, page: int, text: str, start: int, end: int) -> PlacedQuote:
        """Where code points [start, end) of the stored text of a page stand on it. Raises FileSkipped."""
        with self._working:
            return self._parser.placed(path, page, text, start, end)

    def close(self) -> None:
        """End the worker, in the middle of a page, too."""
        self._parser.stop()
        with self._working:
            self._parser.close()
