"""The values that a store takes and returns."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from local_rag.core.documents import PLACE, FileChange, LoadedDocument, ReadLine
from local_rag.index.embed.weights import sha256
from local_rag.text.display import shorten

TEXT_PACE, EMBEDDING_PACE = "text_pace", "embedding_pace"
"""Rows of `meta`: the passages per second of the last run of each phase."""
SCAN_SECONDS = "scan_seconds"
"""A row of `meta`: the seconds that OCR took for a page, on average, the last time that pages were read."""

OF_OTHER_KINDS = "kinds of files that are not read: "
"""The beginning of the reason in `reported` that a root has files of other suffixes; how many of each kind follows."""


@dataclass(frozen=True, slots=True)
class IndexSettings:
    """The settings that made an index: other vectors or other passages are another index. `size` and `overlap` are in
    tokens.
    """

    embedder: str
    fingerprint: str
    dimension: int
    size: int
    overlap: int


@dataclass(frozen=True, slots=True)
class Root:
    """A file or folder that a person asked to index, and the options with which it is walked."""

    path: str
    excludes: tuple[str, ...] = ()
    secrets: bool = False
    follow_links: bool = False


@dataclass(frozen=True, slots=True)
class FileRow:
    """A file as it was when it was indexed, found by walking `root`; `warnings` say what of it could not be read.

    `container` is the path of the file that holds it, "" for a file on the disk. `scans` are its pages that wait for
    OCR. Until a file is `complete`, with all of its parts, a later sync reads it again.
    """

    path: str
    root: str
    sha256: str
    size: int
    mtime_ns: int
    ctime_ns: int = 0
    inode: int = 0
    warnings: tuple[str, ...] = ()
    indexed_at: float = 0.0
    container: str = ""
    scans: tuple[int, ...] = ()
    complete: bool = True

    @property
    def became(self) -> FileChange:
        """Return whether the file on the disk was changed or is gone; "" where it is as it was indexed: by its size and
        time, and by its SHA-256 where only the time is another one, as in a restored folder.

        Nothing is known, which is "" as well, of a page of the web, and where no folder above the file exists: the
        index is of another machine, or the disk is not mounted.
        """
        if not self.mtime_ns:
            return ""
        path = Path(self.container or self.path)
        try:
            status = path.stat()
        except OSError:
            return "gone" if path.parent.is_dir() or Path(self.root).is_dir() else ""
        if status.st_size == self.size:
            with suppress(OSError):
                is_same = status.st_mtime_ns == self.mtime_ns or self.has_content(path, status)
                return "" if is_same else "changed"
        return "changed"

    def has_content(self, path: Path, status: os.stat_result) -> bool:
        """Return whether a file of this size holds what was indexed. Raises OSError."""
        state = status.st_mtime_ns, status.st_ctime_ns, status.st_ino
        return _digest(path, state) == self.sha256[:64]  # the stamp of a container's rules follows it


@lru_cache(1_000)
def _digest(path: Path, state: tuple[int, ...]) -> str:
    return sha256(path)


NO_TEXT = "no text layer (scanned?)"
"""The end of a warning about pages that wait for OCR."""


def of_scans(scans: Sequence[int]) -> tuple[str, ...]:
    """Return the warning that pages wait for OCR; none where there are no such pages."""
    listed = shorten(", ".join(map(str, scans)), 60)
    return (f"page{'s' if scans[1:] else ''} {listed}: {NO_TEXT}",) if scans else ()


@dataclass(frozen=True, slots=True)
class Failure:
    """A file whose content, of this SHA-256, this version of the parser cannot read."""

    path: str
    sha256: str
    parser: str
    reason: str


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk with its text. `key` identifies it for as long as its file keeps that text in that place.

    `sections` are (code point of the document, path) of the headings in force within it, beginning with the one in
    which it begins. `modified` (ISO 8601, UTC) is when its file was last changed, "" for a page of the web. `lines` are
    the lines that OCR has read.
    """

    id: int
    key: str
    source: str
    title: str
    page: int | None
    heading: str
    start: int
    end: int
    text: str
    author: str = ""
    date: str = ""
    modified: str = ""
    sections: tuple[tuple[int, str], ...] = ()
    lines: tuple[ReadLine, ...] = ()


@dataclass(frozen=True, eq=False, slots=True)
class Conditions:
    """The conditions of a filter. A document is of one of these `files`, by one of these `authors` (None: any), and of
    a date from `after` on and before `before` ("" for no border); a chunk holds all `phrases` as words.
    """

    files: Collection[int] | None = None
    authors: Collection[str] | None = None
    after: str = ""
    before: str = ""
    phrases: tuple[str, ...] = ()


class Filter(NamedTuple):
    """The chunks that a search may return: those that meet the conditions, without those with the keys in `exclude`."""

    conditions: Conditions | None = None
    exclude: frozenset[str] = frozenset()


class Counts(NamedTuple):
    """The numbers of files on the disk, pages of the web, documents, chunks, chunks that vector search sees, and
    documents with a date.
    """

    files: int
    pages: int
    documents: int
    chunks: int
    embedded: int
    dated: int


class UnusableRow(Exception):
    """A row of the settings is missing or unusable: the index is damaged."""


class UnusableVector(Exception):
    """A vector is missing or unusable: it is made again from the text."""


class FileName(NamedTuple):
    """A file by its id and path, with title and author of its first document, "" where it has none.

    `size` is in bytes, and `modified` in seconds since 1970, 0 for a page of the web.
    """

    id: int
    path: str
    title: str
    author: str
    size: int
    modified: float


@dataclass(frozen=True, slots=True)
class IndexedFile:
    """A file of the index as a person sees it, with title, author and date of its first document, "" where it has none.

    `indexed_at` and `modified` are in seconds since 1970; `modified` is 0 for a page of the web. `embedded` counts
    those of its `chunks` that have vectors.
    """

    path: str
    size: int
    documents: int
    chunks: int
    indexed_at: float
    warnings: tuple[str, ...]
    title: str
    modified: float
    author: str
    date: str
    embedded: int


@dataclass(frozen=True, slots=True)
class StoredDocument(LoadedDocument):
    """A document of a file, with its `number` in the file, from 0 on, and its `id`."""

    number: int = 0
    id: int = 0

    @property
    def heading_starts(self) -> frozenset[int]:
        """Return the code points where a heading begins; places of its kind, such as rows, have no line of their
        own.
        """
        return frozenset(heading.start for heading in self.headings if heading.level < PLACE)


@dataclass(frozen=True, slots=True)
class Stored:
    """The content of an index, its files, and those of the passages named by key that it has."""

    content: str
    files: frozenset[str]
    passages: Mapping[str, Passage]
