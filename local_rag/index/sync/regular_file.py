"""Reading the start of a file that may be anything: a pipe never ends, a device may have no end."""

from __future__ import annotations

import os
import stat
from pathlib import Path

_FLAGS = os.O_RDONLY
for _name in ("O_NONBLOCK", "O_NOFOLLOW", "O_CLOEXEC", "O_NOCTTY", "O_BINARY"):
    _FLAGS |= getattr(os, _name, 0)


def read_start(path: Path, limit: int) -> bytes:
    """The first `limit` bytes of a regular file. Raises OSError, also for a link and for what is no regular file."""
    _must_be_regular(path.lstat())
    number = os.open(path, _FLAGS)
    with open(number, "rb", closefd=True) as file:  # noqa: PTH123 - what is opened is a number
        _must_be_regular(os.fstat(number))  # it may have changed since
        return file.read(limit)


def _must_be_regular(status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise OSError("is not a regular file")
