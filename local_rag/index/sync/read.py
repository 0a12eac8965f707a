"""Files on the disk: opened safely, recognised as unchanged, and read; errors of one file are returned, not raised."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from local_rag.core import cancel
from local_rag.core.documents import MEMBER, LoadedDocument
from local_rag.core.errors import FileSkipped, reason_of
from local_rag.index.embed.weights import sha256
from local_rag.index.parse.loaders import parser_version
from local_rag.index.parse.parsed_file import ParsedFile
from local_rag.index.parse.parser import Parser, refuse_large
from local_rag.index.store.values import Failure, FileRow
from local_rag.index.tables.lines import left_out

if TYPE_CHECKING:
    from local_rag.index.sync.ignore import Rules
    from local_rag.index.sync.walk import Found


File = tuple[FileRow, Sequence[LoadedDocument]]
"""A file on the disk, or inside of another, with its documents."""


class ReadPart(NamedTuple):
    """A part of the file at `path`: the file and the files inside of it. Most files have one part, a mailbox has
    several.
    """

    path: str
    files: Sequence[File]


@dataclass(frozen=True)
class UnreadFile:
    """A file that could not be read. With `passing` its content is not the cause, so that what was indexed of it stays.

    `sha256` is that of the content, where another attempt would end in the same way.
    """

    path: str
    reason: str
    passing: bool = False
    sha256: str = ""


Read = ReadPart | FileRow | UnreadFile
"""The row of a file follows its parts; alone it says that the content is the same, and only its time or root is new."""


@dataclass(frozen=True)
class Reader:
    """A parser, the files that are `known`, and the `failures` of what a parser could not read before."""

    parser: Parser
    known: Mapping[str, FileRow]
    failures: Mapping[str, Failure]

    def read(self, files: Mapping[str, Found]) -> Iterator[Read]:
        """Yield the parts and rows of these files, or why one was not read, in their order. Raises Stopped.

        A failure that lies in the content, or lasts as long as it, is remembered with it.
        """
        for path, found in files.items():
            cancel.check()
            content = ""
            try:
                row = fingerprinted(path, found.root)
                content = row.sha256 + found.stamp
                yield from self._parts(replace(row, sha256=content), found.rules)
            except OSError as error:
                yield UnreadFile(path, f"cannot be opened ({reason_of(error)})", passing=True)
            except FileSkipped as error:
                reason = f"{error}: {error.hint}" if error.hint else str(error)
                lasting = error.lasting or not error.passing
                yield UnreadFile(path, reason, passing=error.passing, sha256=content if lasting else "")

    def _parts(self, row: FileRow, rules: Rules) -> Iterator[ReadPart | FileRow]:
        """Yield the parts of a file, if it has changed, and its row. Raises FileSkipped for the first part."""
        old, failure = self.known.get(row.path), self.failures.get(row.path)
        if old is not None and old.complete and old.sha256 == row.sha256:
            yield replace(row, warnings=old.warnings, scans=old.scans)
            return
        if failure is not None and (failure.sha256, failure.parser) == (row.sha256, parser_version()):
            raise FileSkipped(failure.reason, passing=old is not None, lasting=True)
        warnings: list[str] | None = None
        scans: tuple[int, ...] = ()
        try:
            for part in self.parser.parse(Path(row.path)):
                warnings, scans = [*(warnings or ()), *part.warnings], (*scans, *part.scans)
                yield ReadPart(row.path, _files(row, part, rules, warnings))
        except FileSkipped as error:
            if warnings is None:
                raise
            warnings.append(f"only its first part was read: {error}")
        yield replace(row, warnings=tuple(dict.fromkeys(warnings or ())), scans=scans)


def _files(row: FileRow, part: ParsedFile, rules: Rules, warnings: list[str]) -> list[File]:
    """Return a file and those inside of it that are indexed; a document without a title gets the file's name."""
    files = [(row, Path(row.path).name, part.documents)]
    warnings += left_out(part.documents)
    for member in part.members:
        start = member.documents[0].text[:2048] if member.documents else ""
        warning = rules.leave_out_inside(Path(row.path), member.name, start)
        if warning is None:
            path = f"{row.path}{MEMBER}{member.name}"
            inside = replace(
                row, path=path, container=row.path, warnings=(*member.warnings, *left_out(member.documents))
            )
            files.append((inside, Path(member.name.rpartition(MEMBER)[2]).name, member.documents))
        elif warning:
            warnings.append(f"{member.name} {warning}")
    return [(file, [replace(each, title=each.title or name) for each in documents]) for file, name, documents in files]


# --- whether a file is still the one that was indexed

_RACY = 2.0
"""Seconds: a file changed that shortly before it was indexed may change again with the same time (FAT: 2 s)."""


def fingerprinted(path: str, root: str) -> FileRow:
    """Return a file with its SHA-256; size and times are read before it, so that a later change shows.

    Raises OSError, FileSkipped for a file too large to be read at all, and Stopped.
    """
    now, status = time.time(), Path(path).stat()
    _must_be_regular(status)
    refuse_large(Path(path), status.st_size)
    size, mtime_ns, ctime_ns, inode = file_state(status)
    return FileRow(path, root, sha256(Path(path)), size, mtime_ns, ctime_ns, inode, indexed_at=now)


def file_state(status: os.stat_result) -> tuple[int, int, int, int]:
    """Return the size, the time of the last change of the content, that of the file itself, and its number on the disk.

    Two files that change places keep their sizes and the times of their contents, but not the other two. On Windows the
    second time is that of the file's creation; its numbers may have more bits than SQLite stores.
    """
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino & (2**63 - 1)


def looks_unchanged(old: FileRow) -> bool:
    """Return whether a file was read to its end, has the state it had then, and no time in it is too recent to prove
    anything.

    The same rules as git's for its index: https://git-scm.com/docs/racy-git
    """
    try:
        status = os.stat(old.path)  # noqa: PTH116 - a Path for each of ten thousand files takes longer than the rest
    except OSError:
        return False
    racy = max(old.mtime_ns, old.ctime_ns) / 1e9 > old.indexed_at - _RACY
    same = file_state(status) == (old.size, old.mtime_ns, old.ctime_ns, old.inode)
    return old.complete and same and not racy


# --- a file that may be anything: a pipe never ends, a device may have no end

_FLAGS = os.O_RDONLY
for _name in ("O_NONBLOCK", "O_NOFOLLOW", "O_CLOEXEC", "O_NOCTTY", "O_BINARY"):
    _FLAGS |= getattr(os, _name, 0)


def read_start(path: Path, limit: int) -> bytes:
    """Return the first `limit` bytes of a regular file. Raises OSError, also for a link and for what is no regular
    file.
    """
    with open_regular(path) as file:
        return file.read(limit)


def open_regular(path: Path) -> BinaryIO:
    """Open a regular file. Raises OSError, also for a link and for what is no regular file."""
    _must_be_regular(path.lstat())
    file = os.fdopen(os.open(path, _FLAGS), "rb")
    try:
        _must_be_regular(os.fstat(file.fileno()))  # it may have changed since
    except OSError:
        file.close()
        raise
    return file


def _must_be_regular(status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise OSError("is not a regular file")
