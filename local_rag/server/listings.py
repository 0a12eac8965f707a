"""List the files of the indexes as a client sees them: by ID, with short names, and filtered by typed words."""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from functools import cache, cached_property
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

from local_rag.config.server_index import IndexAddress
from local_rag.index.catalog import IndexStatus
from local_rag.index.filters import kind_of
from local_rag.index.index import Index
from local_rag.index.path_labels import PathLabels
from local_rag.index.store.protocol import Store
from local_rag.index.store.values import FileName, IndexedFile, Root
from local_rag.server.answers import file_id
from local_rag.text.display import for_terminal, is_url, local_iso, on_one_line

P = ParamSpec("P")
T = TypeVar("T")

TOP = "/"
"""The top of the tree of files: it holds the indexed folders, files that were indexed by name, and web pages."""


@dataclass(frozen=True)
class FileView:
    """Describe a file of an index; `kind` is its suffix without the dot, or "web" for a web page at `url`.

    `size` is in bytes; `modified` (0 for a web page) and `indexed_at` are in seconds since 1970. `embedded` of its
    `chunks` have an embedding; `warnings` say which parts could not be read.
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
    """Hold all files of an index as of one commit, by path and sorted by path.

    `read` reads everything else from the index. The cached properties are computed on first use, and kept until the
    next commit.
    """

    index: IndexAddress
    generation: str
    files: Mapping[str, FileName]
    roots: tuple[Root, ...]
    label: PathLabels

    @classmethod
    def of(cls, address: IndexAddress) -> FileListing:
        """Read the listing of an index.

        The generation is read first, so that a commit during the reading makes the listing count as old.
        """
        with Index.open(address) as index:
            generation, roots = index.generation(), tuple(index.store.roots())
            files = sorted(index.store.file_names(), key=lambda file: file.path.casefold())
        label = PathLabels(root.path for root in roots)
        return cls(address, generation, {file.path: file for file in files}, roots, label)

    def read(self, verb: Callable[Concatenate[Store, P], T], *arguments: P.args, **options: P.kwargs) -> T:
        """Call a method of the store on the index as it is now; raise as `Index.open` does."""
        with Index.open(self.index) as index:
            return verb(index.store, *arguments, **options)

    @cached_property
    def paths(self) -> Mapping[str, str]:
        """The path of every file and root by its ID."""
        return {file_id(path): path for path in (*self.files, *(root.path for root in self.roots))}

    @cached_property
    def folders(self) -> Mapping[str, str]:
        """The folder of every file in the tree: `TOP`, or /ID/a/b from its nearest root on, by the path of the file."""
        roots = {root.path for root in self.roots}

        @cache
        def of_folder(folder: str) -> str:
            above = next((each for each in (Path(folder), *Path(folder).parents) if str(each) in roots), None)
            return "/".join(["", file_id(str(above)), *Path(folder).relative_to(above).parts]) if above else TOP

        return {path: TOP if path in roots else of_folder(os.path.split(path)[0]) for path in self.files}

    @cached_property
    def counts(self) -> Mapping[str, int]:
        """The number of files below each root and below no nearer root, by the ID of the root."""
        return Counter(folder.split("/")[1] or file_id(path) for path, folder in self.folders.items())

    @cached_property
    def kinds(self) -> Mapping[str, int]:
        """The number of files of each kind, the most frequent first."""
        return dict(Counter(map(kind_of, sorted(self.files))).most_common())

    @cached_property
    def status(self) -> IndexStatus:
        """The status of the index, with its summary."""
        return Index.inspect(self.index, outlined=True)

    @cached_property
    def _texts(self) -> Sequence[str]:
        files = self.files.values()
        return [safe_line(f"{self.label(file.path)} {file.title} {file.author}").casefold() for file in files]

    def filtered(self, typed: str = "", kind: str = "", since: date | None = None) -> Sequence[FileName]:
        """Return the files whose name, title and author together hold every typed word.

        With `kind` only those of it, and with `since` only those that were changed on that day or later.
        """
        terms, files = typed.casefold().split(), [*self.files.values()]
        if terms:
            pairs = zip(files, self._texts, strict=True)
            files = [file for file, text in pairs if all(term in text for term in terms)]
        first = datetime.combine(since, time()).timestamp() if since else 0.0
        return [file for file in files if file.modified >= first and kind in ("", kind_of(file.path))]

    def views(self, files: Sequence[FileName]) -> list[FileView]:
        """Return these files as a client sees them, in order, without those that have left the index."""
        rows = {row.path: row for row in self.read(Store.indexed_files, [file.id for file in files])}
        return [_view(rows[file.path], self.label) for file in files if file.path in rows]


class FileListings:
    """Keep the listing of every index that was used; several threads may use it."""

    def __init__(self) -> None:
        self._listings: dict[IndexAddress, FileListing] = {}
        self._lock = threading.Lock()

    def of(self, index: IndexAddress) -> FileListing:
        """Return the current listing of an index; raise IndexMissing, IndexDamaged or IndexMismatch."""
        with self._lock:
            known = self._listings.get(index)
            if known is None or known.read(Store.generation) != known.generation:
                known = self._listings[index] = FileListing.of(index)
            return known


def safe_line(text: str) -> str:
    """Return a file's name or title on one line, without control, bidirectional and invisible characters."""
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
