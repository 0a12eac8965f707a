"""What tells without reading a file whether it is still the one that was indexed."""

from __future__ import annotations

import os
from pathlib import Path

from local_rag.index.store.schema import FileRow

_RACY = 2.0
"""Seconds: a file changed that shortly before it was indexed may change again with the same time (FAT: 2 s)."""


def file_state(status: os.stat_result) -> tuple[int, int, int, int]:
    """Size, time of the last change of the content, that of the file itself, and its number on the disk.

    Two files that change places keep their sizes and the times of their contents, but not the other two. On Windows
    the second time is that of the file's creation; its numbers may have more bits than SQLite stores.
    """
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino & (2**63 - 1)


def looks_unchanged(old: FileRow) -> bool:
    """Whether a file has the state it was indexed with, and no time in it is too close to that to prove anything.

    A file of an older index has no such time and number: it is read once more. The same rules as git's for its index:
    https://git-scm.com/docs/racy-git
    """
    try:
        status = os.stat(old.path)  # noqa: PTH116 - a Path for each of ten thousand files takes longer than the rest
    except OSError:
        return False
    racy = max(old.mtime_ns, old.ctime_ns) / 1e9 > old.indexed_at - _RACY
    return file_state(status) == (old.size, old.mtime_ns, old.ctime_ns, old.inode) and not racy


def size_of(path: str) -> int:
    """Bytes, 0 for a file that cannot be looked at."""
    try:
        return Path(path).stat().st_size
    except OSError:
        return 0
