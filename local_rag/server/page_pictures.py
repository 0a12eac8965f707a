"""Pages of PDFs as pictures, and quotes on them, by one parse worker; the last pictures are kept in memory alone."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from local_rag.core import cancel
from local_rag.index.parse.parser import Parser
from local_rag.index.parse.pdf_page import PagePicture, PlacedQuote
from local_rag.index.sync.read import file_state

if TYPE_CHECKING:
    from local_rag.server.place import Place

SECONDS = 20.0
"""That a page may take; then the worker is ended."""

POLL = 0.1
"""Seconds between two looks whether somebody still waits for a page."""

KEPT = 32_000_000
"""Bytes of pictures that are kept."""

_Key = tuple[str, tuple[int, ...], int]


def pictures_of(place: Place) -> PagePictures:
    """Those of the place."""
    return place.kept("pictures", PagePictures)


class PagePictures:
    """Draws a page at a time. Serves several threads; close it.

    What is stopped by the `core.cancel` of its caller raises Stopped: while it waits, and in the middle of a page, too.
    """

    def __init__(self) -> None:
        self._parser = Parser(SECONDS)
        self._working, self._lock = threading.Lock(), threading.Lock()
        self._pictures: OrderedDict[_Key, PagePicture] = OrderedDict()

    def picture(self, path: Path, page: int) -> PagePicture:
        """A page of a PDF, counted from 1. Raises FileSkipped, OSError."""
        key = (str(path), file_state(path.stat()), page)
        with self._lock:
            if key in self._pictures:
                self._pictures.move_to_end(key)
                return self._pictures[key]
        with self._alone() as parser:
            picture = parser.picture(path, page)
        with self._lock:
            self._pictures[key] = picture
            while len(self._pictures) > 1 and sum(len(kept.png) for kept in self._pictures.values()) > KEPT:
                self._pictures.popitem(last=False)
        return picture

    def placed(self, path: Path, page: int, text: str, start: int, end: int) -> PlacedQuote:
        """Where code points [start, end) of the stored text of a page stand on it. Raises FileSkipped."""
        with self._alone() as parser:
            return parser.placed(path, page, text, start, end)

    @property
    def is_drawing(self) -> bool:
        """Whether somebody waits for the worker now."""
        return self._working.locked()

    @contextmanager
    def _alone(self) -> Iterator[Parser]:
        while not self._working.acquire(timeout=POLL):
            cancel.check()
        try:
            yield self._parser
        finally:
            self._working.release()

    def forget(self) -> None:
        """Let go of all pictures: a file may have left the index."""
        with self._lock:
            self._pictures.clear()

    def close(self) -> None:
        """End the worker, in the middle of a page, too."""
        self._parser.stop()
        with self._working:
            self._parser.close()
