"""Files read, and cut into chunks without vectors; what is wrong with a file is told, not raised."""

from __future__ import annotations

import stat
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from local_rag.core import cancel
from local_rag.core.documents import LoadedDocument
from local_rag.core.errors import FileSkipped
from local_rag.core.protocols import Embedder
from local_rag.core.reasons import reason_of
from local_rag.index.embed.weights import sha256
from local_rag.index.parse.parser import Parser, refuse_large
from local_rag.index.parse.passwords import Passwords
from local_rag.index.store.schema import FileRow, Recipe
from local_rag.index.sync.failures import Failures
from local_rag.index.sync.file_state import file_state
from local_rag.text.chunking import Chunk, chunk


@dataclass(frozen=True)
class LoadedFile:
    """A file that was read, and is still to be cut."""

    row: FileRow
    documents: Sequence[LoadedDocument]

    @property
    def path(self) -> str:
        return self.row.path

    @property
    def characters(self) -> int:
        return sum(len(document.text) for document in self.documents)


@dataclass(frozen=True)
class ReadFile:
    """A file that was read and cut: `documents` with their chunks."""

    row: FileRow
    documents: Sequence[tuple[LoadedDocument, Sequence[Chunk]]]

    @property
    def path(self) -> str:
        return self.row.path

    @property
    def chunk_count(self) -> int:
        return sum(len(chunks) for _, chunks in self.documents)


@dataclass(frozen=True)
class SameFile:
    """The content is that of `old`; only its time of change, or its root, is new in `row`.

    `in_vain`: it was to be read again, and cannot be.
    """

    row: FileRow
    old: FileRow
    in_vain: bool = False

    @property
    def path(self) -> str:
        return self.row.path


@dataclass(frozen=True)
class UnreadFile:
    """Nothing can be had from the file. `closed`: it could not even be opened, and may be another time.

    `sha256`: that of the content, where that is the cause and was not known to be before.
    """

    path: str
    reason: str
    closed: bool = False
    sha256: str = ""


@dataclass(frozen=True)
class Reader:
    """What files are read and cut with, and what is known of them; `again` are read though they are the same."""

    parser: Parser
    embedder: Embedder
    recipe: Recipe
    known: Mapping[str, FileRow]
    failures: Failures
    passwords: Passwords
    again: Collection[str] = ()


def load_files(paths: Mapping[str, str], reader: Reader) -> Iterator[LoadedFile | SameFile | UnreadFile]:
    """What became of each of `paths` (path -> root), in their order. Raises Stopped."""
    for path, root in paths.items():
        cancel.check()
        yield _load_file(path, root, reader)


def cut_files(
    files: Iterable[LoadedFile | SameFile | UnreadFile], reader: Reader
) -> Iterator[ReadFile | SameFile | UnreadFile]:
    """The same files, those that were read cut into chunks. Raises Stopped."""
    for file in files:
        cancel.check()
        yield _cut_file(file, reader) if isinstance(file, LoadedFile) else file


def _load_file(path: str, root: str, reader: Reader) -> LoadedFile | SameFile | UnreadFile:
    old = reader.known.get(path)
    try:
        row = fingerprinted(path, root)
    except OSError as error:
        return UnreadFile(path, f"cannot be opened ({reason_of(error)})", closed=True)
    except FileSkipped as error:
        return _unread(path, error)
    same = None
    if old is not None and old.sha256 == row.sha256:
        same = SameFile(replace(row, warnings=old.warnings), old)
        if path not in reader.again:
            return same
    elif reason := reader.failures.reason(path, row.sha256):
        return UnreadFile(path, reason)
    try:
        file = reader.parser.parse(Path(path), reader.passwords.of(path))
    except FileSkipped as error:
        passes = error.passing or error.locked
        if same is not None:
            return replace(same, in_vain=not passes)
        return _unread(path, error, "" if passes else row.sha256)
    titled = [replace(document, title=document.title or Path(path).name) for document in file.documents]
    return LoadedFile(replace(row, warnings=file.warnings), titled)


def _cut_file(file: LoadedFile, reader: Reader) -> ReadFile | UnreadFile:
    documents = [(document, cut(document, reader.embedder, reader.recipe)) for document in file.documents]
    if not any(chunks for _, chunks in documents):
        return _unread(file.path, FileSkipped("has no text in it"), file.row.sha256)
    return ReadFile(file.row, documents)


def _unread(path: str, error: FileSkipped, sha256: str = "") -> UnreadFile:
    reason = f"{error}: {error.hint}" if error.hint else str(error)
    return UnreadFile(path, reason, closed=error.locked, sha256=sha256)


def cut(document: LoadedDocument, embedder: Embedder, recipe: Recipe) -> list[Chunk]:
    """The chunks of a document, as this index makes them."""
    ends = embedder.token_ends(document.text)
    return chunk(document, ends, size=recipe.size, overlap=recipe.overlap, window=embedder.window)


def fingerprinted(path: str, root: str) -> FileRow:
    """The file with its SHA-256; size and times are read before it, so that a later change shows.

    Raises OSError, FileSkipped for a file too large to be read at all, and Stopped.
    """
    now, status = time.time(), Path(path).stat()
    if not stat.S_ISREG(status.st_mode):
        raise OSError("not a regular file")
    refuse_large(Path(path), status.st_size)
    size, mtime_ns, ctime_ns, inode = file_state(status)
    return FileRow(path, root, sha256(Path(path)), size, mtime_ns, (), now, ctime_ns=ctime_ns, inode=inode)
