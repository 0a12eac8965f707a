"""The files of the indexes as a client sees them: by ID, with short names, and filtered as somebody types."""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

from local_rag.config.server_index import IndexAddress
from local_rag.index.index import Index
from local_rag.index.path_labels import PathLabels
from local_rag.index.store.protocol import Store
from local_rag.server.answers import file_id
from local_rag.text.display import for_terminal, is_url, local_iso, on_one_line

if TYPE_CHECKING:
    from local_rag.index.catalog import IndexStatus
    from local_rag.index.store.values import FileName, IndexedFile, Root

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True)
class FileView:
    """A file of an index; `kind` is its suffix without the dot, or "web" for a page of the web at `url`.

    `size` is in bytes, `modified` (0 for a page of the web) and `indexed_at` are in seconds since 1970. Of its `chunks`
    that many are `embedded`; `warnings` say what of it could not be read.
    """

    file_id: str
    label: str
    kind: str
    title: str
    author: str
    date: str
    size: int
    modified: float
    indexed_at: float
    documents: int
    chunks: int
    embedded: int
    warnings: tuple[str, ...]
    url: str


@dataclass(frozen=True)
class FileListing:
    """All files of an index as of one commit, by their paths and in the order of these; what else is asked for is read.

    What a page of a list does not show is computed when it is asked for, and kept until the next commit.
    """

    index: IndexAddress
    generation: str
    files: Mapping[str, FileName]
    roots: tuple[Root, ...]
    label: PathLabels

    @classmethod
    def of(cls, address: IndexAddress) -> FileListing:
        """A commit meanwhile is of a later generation, so the listing is not taken for its."""
        with Index.open(address) as index:
            generation, roots = index.generation(), tuple(index.store.roots())
            files = sorted(index.store.file_names(), key=lambda file: file.path.casefold())
        label = PathLabels(root.path for root in roots)
        return cls(address, generation, {file.path: file for file in files}, roots, label)

    def read(self, verb: Callable[Concatenate[Store, P], T], *arguments: P.args, **options: P.kwargs) -> T:
        """What a verb of the store says of the index as it is now. Raises as `Index.open` does."""
        with Index.open(self.index) as index:
            return verb(index.store, *arguments, **options)

    @cached_property
    def paths(self) -> Mapping[str, str]:
        """The path of every file and root by its ID."""
        return {file_id(path): path for path in (*self.files, *(root.path for root in self.roots))}

    @cached_property
    def counts(self) -> Mapping[str, int]:
        """How many files lie below each root and below no other in between, by the path of the root."""
        roots = {root.path for root in self.roots}

        @cache
        def of_folder(folder: str) -> str:
            return next((above for above in map(str, (Path(folder), *Path(folder).parents)) if above in roots), "")

        return Counter(path if path in roots else of_folder(os.path.split(path)[0]) for path in self.files)

    @cached_property
    def status(self) -> IndexStatus:
        """That of the index, with its summary."""
        return Index.inspect(self.index, outlined=True)

    @cached_property
    def _texts(self) -> Sequence[str]:
        return [
            safe_line(f"{self.label(path)} {title} {author}").casefold()
            for _, path, title, author in self.files.values()
        ]

    def filtered(self, typed: str) -> Sequence[FileName]:
        """The files whose name, title or author holds every word that was typed."""
        terms, files = typed.casefold().split(), [*self.files.values()]
        if not terms:
            return files
        pairs = zip(files, self._texts, strict=True)
        return [file for file, text in pairs if all(term in text for term in terms)]

    def views(self, files: Sequence[FileName]) -> list[FileView]:
        """These files as a client sees them, in their order; those that have left the index are left out."""
        rows = {row.path: row for row in self.read(Store.indexed_files, [file.id for file in files])}
        return [_view(rows[file.path], self.label) for file in files if file.path in rows]


class FileListings:
    """The listing of every index that was looked into. Serves several threads."""

    def __init__(self) -> None:
        self._listings: dict[IndexAddress, FileListing] = {}
        self._lock = threading.Lock()

    def of(self, index: IndexAddress) -> FileListing:
        """That of an index as of now. Raises IndexMissing, IndexDamaged, IndexMismatch."""
        with self._lock:
            known = self._listings.get(index)
            if known is None or known.read(Store.generation) != known.generation:
                known = self._listings[index] = FileListing.of(index)
            return known


def safe_line(text: str) -> str:
    """A name or title of a file on one line, without what drives a terminal, turns text around or is not seen."""
    return text if text.isascii() and text.isprintable() else on_one_line(for_terminal(text))


def _view(file: IndexedFile, label: PathLabels) -> FileView:
    path = Path(file.path)
    return FileView(
        file_id=file_id(file.path),
        label=safe_line(label(file.path)),
        kind="web" if is_url(file.path) else path.suffix.lower().lstrip("."),
        title="" if file.title == path.name else safe_line(file.title),
        author=safe_line(file.author),
        date=safe_line(local_iso(file.date)),
        size=file.size,
        modified=file.modified,
        indexed_at=file.indexed_at,
        documents=file.documents,
        chunks=file.chunks,
        embedded=file.embedded,
        warnings=tuple(map(safe_line, file.warnings)),
        url=file.path if is_url(file.path) else "",
    )
