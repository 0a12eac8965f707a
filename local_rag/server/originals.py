"""The file behind an ID as it lies on the disk now: opened only where it still lies below an indexed folder."""

from __future__ import annotations

import os
import stat
import threading
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from local_rag.core.reasons import reason_of
from local_rag.index.embed.weights import sha256
from local_rag.index.parse.loaders import TEXTS
from local_rag.index.store import reads
from local_rag.index.sync.read import file_state, looks_unchanged
from local_rag.server.errors import ApiError, NotFound
from local_rag.server.file_listings import GONE, FileListing
from local_rag.text.display import is_url
from local_rag.text.encoding import decode

if TYPE_CHECKING:
    from local_rag.index.store.schema import FileRow, Root
    from local_rag.server.place import Place

INLINE_TEXTS = TEXTS | {".md", ".markdown", ".rst", ".csv", ".tsv", ".log"}
MOST_INLINE = 5_000_000
"""Bytes of a text that a browser shows by itself; a longer one is saved."""

OUTSIDE = "this file lies outside of the indexed folders now, so it is not opened; its text is stored"

_KNOWN = 1_000
"""Files whose digests are remembered."""


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


class Originals:
    """Looks files up on the disk. Serves several threads."""

    def __init__(self) -> None:
        self._digests: OrderedDict[tuple[str, tuple[int, ...]], str] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, row: FileRow, roots: Iterable[Root]) -> Original:
        """The file that was indexed under a path. A link is followed, and must not lead out of the indexed folders.

        Raises ApiError for what is gone, lies elsewhere, or is no regular file.
        """
        if is_url(row.path):
            raise ApiError(404, "no_original", "this is a page of the web: only its text is stored")
        if row.container:
            inside = Path(row.container).name
            raise ApiError(404, "no_original", f"this lies inside of {inside}: only its text is stored")
        try:
            real = Path(row.path).resolve(strict=True)
            # Roots are stored resolved: one that has become a link since then must not vouch for where it leads.
            if not any(real.is_relative_to(root.path) for root in roots):
                raise ApiError(403, "outside", OUTSIDE)
            status = real.stat()
            if not stat.S_ISREG(status.st_mode):
                raise ApiError(404, "no_original", "there is no regular file any more under this name")
            return Original(real, self._changed(row, real, status))
        except (OSError, RuntimeError) as error:  # RuntimeError: a link in a circle, before Python 3.13
            why = reason_of(error) if isinstance(error, OSError) else "a link leads in a circle"
            message = f"the file cannot be opened any more ({why}); its text is stored"
            raise ApiError(404, "no_original", message, "local-rag index   brings the index up to date") from error

    def _changed(self, row: FileRow, real: Path, status: os.stat_result) -> bool:
        if str(real) == row.path and looks_unchanged(row):
            return False
        key = (str(real), file_state(status))
        with self._lock:
            known = self._digests.get(key)
        if known is None:
            known = sha256(real) if status.st_size == row.size else ""
            with self._lock:
                self._digests[key] = known
                while len(self._digests) > _KNOWN:
                    self._digests.popitem(last=False)
        return known != row.sha256[:64]  # behind it stand the rules for what lies inside of the file

    def close(self) -> None:
        """Nothing is open between two calls."""


def original_of(place: Place, listing: FileListing, path: str) -> Original:
    """The file on the disk. Raises NotFound for one that has just left the index, and what `Originals.of` raises."""
    row = listing.read(reads.file_row, path)
    if row is None:
        raise NotFound(GONE)
    return place.kept("originals", Originals).of(row, listing.roots)


def original_or_why(place: Place, listing: FileListing, path: str) -> tuple[Original | None, str]:
    """The file on the disk, or why it cannot be opened."""
    try:
        return original_of(place, listing, path), ""
    except ApiError as error:
        update = " Bring the index up to date to see what is there now." if error.hint else ""
        return None, f"{str(error)[:1].upper()}{str(error)[1:]}.{update}"
