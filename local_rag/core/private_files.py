"""Make files and folders that only their owner can use, whatever the umask: modes 0600 and 0700."""

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
    """Make a folder and its missing parents for the owner alone; existing folders keep their mode.

    `Path.mkdir(mode, parents=True)` would apply the mode to the last folder only. Raise OSError.
    """
    missing = [above for above in (folder, *folder.parents) if not above.exists()]
    for each in reversed(missing):
        each.mkdir(mode=0o700, exist_ok=True)
    folder.mkdir(mode=0o700, exist_ok=True)


def opener(path: str, flags: int) -> int:
    """Open a file for `open`; a new file can be used only by its owner."""
    return os.open(path, flags, 0o600)


def replace_file(path: Path, data: bytes) -> None:
    """Write a file and put it in place of the old one in one step. Raise OSError."""
    draft = path.with_name(f".{path.name}.draft")
    with open(draft, "wb", opener=opener) as out:
        out.write(data)
    draft.replace(path)


def append_line(path: Path, line: str, *, synced: bool = False) -> None:
    """Append a whole line to a file that only its owner may read; on OSError leave the file as it was.

    If the last line has no end, as after a crash, end it first. `synced`: the line is on the disk on return.
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
    """Report that another process holds a lock."""


@contextmanager
def exclusive(file: Path, wait: float = 0) -> Iterator[None]:
    """Hold a lock that only one process can hold; raise Locked after `wait` seconds.

    The lock ends with the process, and SQLite locks the same way on every system. The file stays, because deleting it
    would let two processes hold the lock.
    """
    with closing(sqlite3.connect(file, timeout=wait, isolation_level=None)) as db:
        file.chmod(0o600)
        try:
            db.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as error:
            raise Locked(f"another process holds {file}") from error
        yield


MINIMUM_FREE = 65_536
"""Free bytes below which a disk counts as full: SQLite needs 32 KB beside a database to read it."""


def is_full(folder: Path) -> bool:
    """Return whether the disk of `folder` is full; SQLite sometimes reports a full disk as an I/O error."""
    try:
        return shutil.disk_usage(folder).free < MINIMUM_FREE
    except OSError:
        return False
