"""From a path to passages that wait for their vectors; what is wrong with a file is told, not raised."""

from __future__ import annotations

import stat
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from local_rag.core import cancel
from local_rag.core.documents import LoadedDocument
from local_rag.core.errors import FileSkipped
from local_rag.core.protocols import Embedder
from local_rag.index.embed.weights import sha256
from local_rag.index.parse.parser import Parser
from local_rag.index.store.rows import FileRow, Recipe
from local_rag.text.chunking import Chunk, chunk


@dataclass(frozen=True)
class ReadFile:
    """A file that was read and cut: `documents` with their passages, none of them without text."""

    file: FileRow
    documents: Sequence[tuple[LoadedDocument, Sequence[Chunk]]]

    @property
    def path(self) -> str:
        return self.file.path

    @property
    def chunks(self) -> int:
        return sum(len(pieces) for _, pieces in self.documents)

    def texts(self) -> Iterator[str]:
        """The passages in order."""
        return (found.text[piece.start : piece.end] for found, pieces in self.documents for piece in pieces)


@dataclass(frozen=True)
class Same:
    """The content is that of `old`; only its time of change, or its root, is new in `file`."""

    file: FileRow
    old: FileRow

    @property
    def path(self) -> str:
        return self.file.path


@dataclass(frozen=True)
class Unread:
    """Nothing can be had from the file. `closed`: it could not even be opened, and may be well another time."""

    path: str
    reason: str
    closed: bool = False


Outcome = ReadFile | Same | Unread


def read(
    paths: Mapping[str, str], known: Mapping[str, FileRow], parser: Parser, embedder: Embedder, recipe: Recipe
) -> Iterator[Outcome]:
    """One outcome for each of `paths` (path -> root), in their order. Raises Stopped."""
    for path, root in paths.items():
        cancel.check()
        yield _one(path, root, known.get(path), parser, embedder, recipe)


def _one(
    path: str, root: str, old: FileRow | None, parser: Parser, embedder: Embedder, recipe: Recipe
) -> ReadFile | Same | Unread:
    try:
        file = fingerprinted(path, root)
    except OSError as error:
        return Unread(path, f"cannot be opened ({error.strerror or error})", closed=True)
    if old is not None and old.sha256 == file.sha256:
        return Same(replace(file, warnings=old.warnings), old)
    try:
        parsed = parser.parse(Path(path))
        titled = [found if found.title else replace(found, title=Path(path).name) for found in parsed.documents]
        documents = [(found, cut(found, embedder, recipe)) for found in titled]
        if not any(pieces for _, pieces in documents):
            raise FileSkipped("has no text in it")
    except FileSkipped as error:
        return Unread(path, f"{error}: {error.hint}" if error.hint else str(error))
    return ReadFile(replace(file, warnings=parsed.warnings), documents)


def cut(document: LoadedDocument, embedder: Embedder, recipe: Recipe) -> list[Chunk]:
    """The passages of a document, as this index makes them."""
    ends = embedder.token_ends(document.text)
    return chunk(document, ends, size=recipe.size, overlap=recipe.overlap, window=embedder.window)


def fingerprinted(path: str, root: str) -> FileRow:
    """The file with its SHA-256; size and time are read before it, so that a later change shows. Raises OSError."""
    place, now = Path(path), time.time()
    found = place.stat()
    if not stat.S_ISREG(found.st_mode):
        raise OSError("not a regular file")
    return FileRow(path, root, sha256(place), found.st_size, found.st_mtime_ns, indexed_at=now)
