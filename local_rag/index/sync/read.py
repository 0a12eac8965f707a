"""Files read, and cut into chunks without vectors; what is wrong with a file is told, not raised."""

from __future__ import annotations

import stat
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from local_rag.core import cancel
from local_rag.core.documents import MEMBER, LoadedDocument, Skipped
from local_rag.core.errors import FileSkipped
from local_rag.core.protocols import Embedder
from local_rag.core.reasons import reason_of
from local_rag.index.embed.weights import sha256
from local_rag.index.parse.parsed_file import ParsedFile
from local_rag.index.parse.parser import Parser, refuse_large
from local_rag.index.store.schema import Failure, FileRow, IndexSettings
from local_rag.index.sync.file_state import file_state
from local_rag.index.sync.walk import SECRET
from local_rag.text.chunking import Chunk, chunk

CutDocument = tuple[LoadedDocument, Sequence[Chunk]]


@dataclass(frozen=True)
class LoadedPart:
    """A part of a file that was read, and is still to be cut: most files have one part, a mailbox has several.

    `files` are the file itself and then what lies inside of it, each with its documents.
    """

    row: FileRow
    files: Sequence[tuple[FileRow, Sequence[LoadedDocument]]]
    first: bool
    last: bool

    @property
    def path(self) -> str:
        return self.row.path

    @property
    def characters(self) -> int:
        return sum(len(document.text) for _, documents in self.files for document in documents)


@dataclass(frozen=True)
class CutPart:
    """The same with the chunks of its documents."""

    row: FileRow
    files: Sequence[tuple[FileRow, Sequence[CutDocument]]]
    first: bool
    last: bool

    @property
    def path(self) -> str:
        return self.row.path

    @property
    def chunk_count(self) -> int:
        return sum(len(chunks) for _, documents in self.files for _, chunks in documents)


@dataclass(frozen=True)
class SameFile:
    """The content is that of `old`; only its time of change, or its root, is new in `row`."""

    row: FileRow
    old: FileRow

    @property
    def path(self) -> str:
        return self.row.path


@dataclass(frozen=True)
class UnreadFile:
    """Nothing can be had from the file. `passing`: its content is not the cause, so that what was indexed of it stays.

    `sha256`: that of the content, where another attempt would end in the same way.
    """

    path: str
    reason: str
    passing: bool = False
    sha256: str = ""


Read = CutPart | SameFile | UnreadFile


@dataclass(frozen=True)
class Reader:
    """What files are read and cut with, and what is known of them.

    `failures` are what this parser cannot read; `left_out` says of a file and a name inside of it why that is left out,
    "" where it is taken.
    """

    parser: Parser
    embedder: Embedder
    settings: IndexSettings
    known: Mapping[str, FileRow]
    failures: Mapping[str, Failure]
    left_out: Callable[[str, str], str]

    def load(self, paths: Mapping[str, str]) -> Iterator[LoadedPart | SameFile | UnreadFile]:
        """What became of each of `paths` (path -> root), in their order. Raises Stopped."""
        for path, root in paths.items():
            cancel.check()
            yield from self._load(path, root)

    def cut(self, files: Iterable[LoadedPart | SameFile | UnreadFile]) -> Iterator[Read]:
        """The same files, those that were read cut into chunks. Raises Stopped."""
        for file in files:
            cancel.check()
            if not isinstance(file, LoadedPart):
                yield file
                continue
            cut = [(row, [(each, self.chunks(each)) for each in documents]) for row, documents in file.files]
            part = CutPart(file.row, cut, file.first, file.last)
            empty = file.first and file.last and not part.chunk_count
            yield UnreadFile(file.path, "has no text in it", sha256=file.row.sha256) if empty else part

    def chunks(self, document: LoadedDocument) -> list[Chunk]:
        """The chunks of a document, as this index makes them."""
        return chunks_of(document, self.embedder, self.settings)

    def _load(self, path: str, root: str) -> Iterator[LoadedPart | SameFile | UnreadFile]:
        old = self.known.get(path)
        try:
            row = fingerprinted(path, root)
        except OSError as error:
            yield UnreadFile(path, f"cannot be opened ({reason_of(error)})", passing=True)
            return
        except FileSkipped as error:
            yield _unread(path, error)
            return
        if old is not None and old.sha256 == row.sha256:
            yield SameFile(replace(row, warnings=old.warnings), old)
        elif (failure := self.failures.get(path)) and failure.sha256 == row.sha256:
            yield UnreadFile(path, failure.reason, passing=old is not None)
        else:
            yield from self._parsed(row)

    def _parsed(self, row: FileRow) -> Iterator[LoadedPart | UnreadFile]:
        """The parts of a file. The last is known once the parser has no more."""
        waiting: ParsedFile | None = None
        first = True
        warnings: list[str] = []
        try:
            for part in self.parser.parse(Path(row.path)):
                if waiting is not None:
                    yield LoadedPart(row, self._files(row, waiting, warnings), first, last=False)
                    first = False
                waiting = part
                warnings += part.warnings
        except FileSkipped as error:
            if waiting is None or first:
                yield _unread(row.path, error, row.sha256)
                return
            warnings.append(f"only its first part was read: {error}")
        if waiting is not None:
            files = self._files(row, waiting, warnings)
            row = replace(row, warnings=tuple(dict.fromkeys(warnings)))
            yield LoadedPart(row, [(row, files[0][1]), *files[1:]], first, last=True)

    def _files(
        self, row: FileRow, part: ParsedFile, warnings: list[str]
    ) -> list[tuple[FileRow, Sequence[LoadedDocument]]]:
        """The file and what lies inside of it, each with its documents; a document without a title has the file's name.

        What holds secrets inside of it is left out, and named in `warnings`.
        """
        files = [(row, part.documents)]
        for member in part.members:
            path = f"{row.path}{MEMBER}{member.name}"
            if why := self.left_out(row.path, member.name):
                warnings += [f"{member.name} {why}"] * (why == SECRET)
                continue
            files.append((replace(row, path=path, container=row.path, warnings=member.warnings), member.documents))
        return [
            (
                file,
                [replace(each, title=each.title or Path(file.path.rpartition(MEMBER)[2]).name) for each in documents],
            )
            for file, documents in files
        ]


def chunks_of(document: LoadedDocument, embedder: Embedder, settings: IndexSettings) -> list[Chunk]:
    """The chunks of a document, as an index of these settings makes them."""
    ends = embedder.token_ends(document.text)
    return chunk(document, ends, size=settings.size, overlap=settings.overlap, window=embedder.window)


def warnings_of(part: CutPart) -> list[Skipped]:
    """What of a file, and of what lies inside of it, was not read."""
    told = [(part.row, part.row.warnings)] if part.last else []
    told += [(row, row.warnings) for row, _ in part.files if row.container]
    return [Skipped(row.path, warning) for row, warnings in told for warning in warnings]


def _unread(path: str, error: FileSkipped, sha256: str = "") -> UnreadFile:
    """A failure that lies in the content, or lasts as long as it, is remembered with it."""
    reason = f"{error}: {error.hint}" if error.hint else str(error)
    return UnreadFile(path, reason, passing=error.passing, sha256="" if error.passing and not error.lasting else sha256)


def fingerprinted(path: str, root: str) -> FileRow:
    """The file with its SHA-256; size and times are read before it, so that a later change shows.

    Raises OSError, FileSkipped for a file too large to be read at all, and Stopped.
    """
    now, status = time.time(), Path(path).stat()
    if not stat.S_ISREG(status.st_mode):
        raise OSError("not a regular file")
    refuse_large(Path(path), status.st_size)
    size, mtime_ns, ctime_ns, inode = file_state(status)
    return FileRow(path, root, sha256(Path(path)), size, mtime_ns, ctime_ns, inode, indexed_at=now)
