"""Reading a file that may be anything: a pipe never ends, a device may have no end."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import BinaryIO

_FLAGS = os.O_RDONLY
for _name in ("O_NONBLOCK", "O_NOFOLLOW", "O_CLOEXEC", "O_NOCTTY", "O_BINARY"):
    _FLAGS |= getattr(os, _name, 0)


def read_start(path: Path, limit: int) -> bytes:
    """The first `limit` bytes of a regular file. Raises OSError, also for a link and for what is no regular file."""
    with open_regular(path) as file:
        return file.read(limit)


def open_regular(path: Path) -> BinaryIO:
    """A regular file, open. Raises OSError, also for a link and for what is no regular file."""
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
