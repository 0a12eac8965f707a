"""What an index holds, file by file, without a model: each call opens the index, so that it sees what is there now."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from local_rag.index.embed.weights import sha256
from local_rag.index.store import reads, texts
from local_rag.index.store.schema import OF_OTHER_KINDS, Failure, FileName, FileRow, IndexedFile, Root
from local_rag.index.store.store import Store
from local_rag.index.store.texts import StoredDocument
from local_rag.index.sync.file_state import looks_unchanged

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Listing:
    """The names of all files of an index; `generation` changes with every commit."""

    generation: str
    files: tuple[FileName, ...]
    roots: tuple[Root, ...]


@dataclass(frozen=True, slots=True)
class NotIndexed:
    """What syncs reported as skipped, wholly or in part, as (path, reason), and what of it cannot be read.

    `kinds` says by root how many files of which kinds are not read: "2 .pptx and 1 .odt".
    """

    reported: Collection[tuple[str, str]]
    kinds: Mapping[str, str]
    failures: Collection[Failure]


class Library:
    """The files of the index in a folder. Every method raises IndexMissing, IndexDamaged, IndexMismatch."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def generation(self) -> str:
        """What changes with every commit."""
        return self._read(reads.meta)["generation"]

    def listing(self) -> Listing:
        """All files. A commit meanwhile is of a later generation, so the listing is not taken for its."""
        with closing(Store(self.folder)) as store:
            generation = store.read(reads.meta)["generation"]
            return Listing(generation, tuple(store.read(reads.file_names)), tuple(store.read(reads.roots)))

    def files(self, numbers: Collection[int]) -> list[IndexedFile]:
        """The files with these numbers; those that have left the index are left out."""
        return self._read(reads.indexed_files, numbers)

    def row(self, path: str) -> FileRow | None:
        """A file as it was when it was indexed."""
        return next(iter(self._read(reads.file_rows, [path])), None)

    def documents(self, path: str) -> list[StoredDocument]:
        """The documents of a file."""
        return self._read(texts.documents, path)

    def text(self, path: str, number: int) -> str:
        """The stored text of a document of a file, "" where there is none."""
        return self._read(texts.text, path, number)

    def number_of(self, path: str, chunk_id: str) -> int | None:
        """The number of the document of a file that a passage is of, None where the passage is there no more."""
        return self._read(texts.number_of, path, chunk_id.rpartition(":")[2])  # before it the index, of several

    def with_quote(self, path: str, quote: str, start: int | None = None) -> list[int]:
        """The numbers of the documents of a file that hold a quote: at this code point, or anywhere without one."""
        return self._read(texts.with_quote, path, quote, start)

    def address(self, path: str) -> str:
        """The URL that a file was saved from, "" where it does not say."""
        return self._read(reads.addresses, [path]).get(path, "")

    def not_indexed(self) -> NotIndexed:
        """What could not be indexed, wholly or in part."""
        with closing(Store(self.folder)) as store:
            reported, failures = store.read(reads.reported), list(store.read(reads.failures).values())
        kinds = {
            path: reason.removeprefix(OF_OTHER_KINDS) for path, reason in reported if reason.startswith(OF_OTHER_KINDS)
        }
        skipped = [(path, reason) for path, reason in reported if not reason.startswith(OF_OTHER_KINDS)]
        return NotIndexed(skipped, kinds, failures)

    def _read(self, lookup: Callable[..., T], *arguments: Any) -> T:
        with closing(Store(self.folder)) as store:
            return store.read(lookup, *arguments)


def has_changed(row: FileRow) -> bool:
    """Whether a file has another content than when it was indexed. Raises OSError where it cannot be read."""
    if looks_unchanged(row):
        return False
    path = Path(row.path)
    return path.stat().st_size != row.size or sha256(path) != row.sha256
