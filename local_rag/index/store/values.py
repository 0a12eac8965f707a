"""The values that a store is given and gives back."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from local_rag.core.documents import PLACE, FileChange, LoadedDocument, ReadLine
from local_rag.text.display import shorten

TEXT_PACE, EMBEDDING_PACE = "text_pace", "embedding_pace"
"""In `meta`: passages per second of the last run of each phase."""

OF_OTHER_KINDS = "kinds of files that are not read: "
"""What `reported` says of a root begins so where files of it were left out for their suffix; their counts follow."""


@dataclass(frozen=True, slots=True)
class IndexSettings:
    """What made an index: other vectors or other passages are another index. `size` and `overlap` are in tokens."""

    embedder: str
    fingerprint: str
    dimension: int
    size: int
    overlap: int


@dataclass(frozen=True, slots=True)
class Root:
    """A file or folder that somebody asked to index, and how it is walked."""

    path: str
    excludes: tuple[str, ...] = ()
    secrets: bool = False
    follow_links: bool = False


@dataclass(frozen=True, slots=True)
class FileRow:
    """A file as it was when it was indexed, found by walking `root`; `warnings` say what of it could not be read.

    `container` is the path of the file that it lies in, empty for a file on the disk. `scans` are its pages that wait
    for OCR. Until it is `complete`, with all of its parts, a later sync reads it again.
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
        """What became of the file on the disk, by size and time; of a page of the web, and where no folder above is
        here any more (another machine's index, a disk that is not mounted), nothing is known.
        """
        if not self.mtime_ns:
            return ""
        path = Path(self.container or self.path)
        try:
            status = path.stat()
        except OSError:
            return "gone" if path.parent.is_dir() or Path(self.root).is_dir() else ""
        return "" if (status.st_size, status.st_mtime_ns) == (self.size, self.mtime_ns) else "changed"


NO_TEXT = "no text layer (scanned?)"
"""How a warning ends that is about pages for OCR."""


def of_scans(scans: Sequence[int]) -> tuple[str, ...]:
    """The warning that pages wait for OCR; none where there are no such pages."""
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
    """A chunk with its text. `key` names it for as long as its file keeps that text in that place.

    `sections` are where a heading begins within it, as (code point of the document, path), the one that it begins in
    first. `modified` (ISO 8601, UTC) is when its file was last changed, empty for a page of the web. `lines` are those
    that OCR has read.
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
    """What a filter asks of documents: to be of one of these `files`, by one of these `authors` (None: any), of a date
    from `after` on and before `before` ("" for no border); and of chunks, to hold all `phrases` as words.
    """

    files: Collection[int] | None = None
    authors: Collection[str] | None = None
    after: str = ""
    before: str = ""
    phrases: tuple[str, ...] = ()


class Filter(NamedTuple):
    """Which chunks a search may bring: those that meet the conditions, without those with the keys in `exclude`."""

    conditions: Conditions | None = None
    exclude: frozenset[str] = frozenset()


class Counts(NamedTuple):
    """Files on the disk, pages of the web, documents, chunks, chunks that vector search sees, and documents that say
    when they are from.
    """

    files: int
    pages: int
    documents: int
    chunks: int
    embedded: int
    dated: int


class UnusableRow(Exception):
    """A setting of the index that is missing, or none: the index is damaged."""


class UnusableVector(Exception):
    """A vector that is missing, or none: it is made anew from the text."""


class FileName(NamedTuple):
    """A file by its number and path, and what its first document says of itself, empty where it does not."""

    id: int
    path: str
    title: str
    author: str


@dataclass(frozen=True, slots=True)
class IndexedFile:
    """A file of the index as a person sees it, with what its first document says of itself, empty where it does not.

    `indexed_at` and `modified`, 0 for a page of the web, are in seconds since 1970. Of its `chunks` that many are
    `embedded`.
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
    """A document of a file: `number` counts from 0 in the file."""

    number: int = 0
    id: int = 0

    @property
    def heading_starts(self) -> frozenset[int]:
        """The code points where a heading begins; places of its kind, such as rows, have no line of their own."""
        return frozenset(heading.start for heading in self.headings if heading.level < PLACE)


@dataclass(frozen=True, slots=True)
class Stored:
    """What an index has of passages that somebody names: its `content`, its files, and those of them by `key`."""

    content: str
    files: frozenset[str]
    passages: Mapping[str, Passage]
