"""Files and folders for their owner alone, whatever the umask: files of mode 0600 in folders of mode 0700."""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from local_rag.core.errors import LocalRagError


def make_folder(folder: Path) -> None:
    """Make a folder and what is missing above it; what is there stays as it is.

    mkdir gives its mode to the last folder only: those above it would be open to everybody. Raises OSError.
    """
    missing = [above for above in (folder, *folder.parents) if not above.exists()]
    for each in reversed(missing):
        each.mkdir(mode=0o700, exist_ok=True)
    folder.mkdir(mode=0o700, exist_ok=True)


def opener(path: str, flags: int) -> int:
    """For `open`: a file that it makes is its owner's."""
    return os.open(path, flags, 0o600)


def replace_file(path: Path, data: bytes) -> None:
    """Put a file in the place of what is there, in one step. Raises OSError."""
    draft = path.with_name(f".{path.name}.draft")
    with open(draft, "wb", opener=opener) as out:
        out.write(data)
    draft.replace(path)


def append_line(path: Path, line: str, *, synced: bool = False) -> None:
    """Append to a file that only its owner may read: the whole line or, where that fails (OSError), nothing.

    A last line without an end gets one first, as a crash or an editor may leave it. `synced`: on the disk on return.
    """
    data = line.encode("utf-8", "replace") + b"\n"
    with open(path, "ab+", buffering=0, opener=opener) as out:
        if size := out.seek(0, os.SEEK_END):
            out.seek(-1, os.SEEK_END)
            data = data if out.read(1) == b"\n" else b"\n" + data
        try:
            if out.write(data) != len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            if synced:
                os.fsync(out.fileno())
        except OSError:
            with suppress(OSError):
                out.truncate(size)
            raise


class Locked(LocalRagError):
    """Another process holds a lock."""


@contextmanager
def exclusive(file: Path, wait: float = 0) -> Iterator[None]:
    """Be the one process that holds this lock, which ends with the process. Raises Locked after `wait` seconds.

    SQLite locks the same way on every system. The file stays: deleting it would let two processes in.
    """
    with closing(sqlite3.connect(file, timeout=wait, isolation_level=None)) as db:
        file.chmod(0o600)
        try:
            db.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as error:
            raise Locked(f"another process holds {file}") from error
        yield


LEAST = 65_536
"""Bytes that must be free for a disk not to be full: SQLite needs 32 KB beside a database to read it."""


def is_full(folder: Path) -> bool:
    """Whether there is no room where `folder` is: SQLite calls what fails for that an I/O error, sometimes."""
    try:
        return shutil.disk_usage(folder).free < LEAST
    except OSError:
        return False
