"""Whether a disk is full."""

from __future__ import annotations

import shutil
from pathlib import Path

LEAST = 65_536
"""Bytes that must be free for a disk not to be full: SQLite needs 32 KB beside a database to read it."""


def is_full(folder: Path) -> bool:
    """Whether there is no room where `folder` is: SQLite calls what fails for that an I/O error, sometimes."""
    try:
        return shutil.disk_usage(folder).free < LEAST
    except OSError:
        return False
