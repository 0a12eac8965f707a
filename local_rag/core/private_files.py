"""Files and folders for their owner alone, whatever the umask: files of mode 0600 in folders of mode 0700."""

from __future__ import annotations

import os
import shutil
from pathlib import Path


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


LEAST = 65_536
"""Bytes that must be free for a disk not to be full: SQLite needs 32 KB beside a database to read it."""


def is_full(folder: Path) -> bool:
    """Whether there is no room where `folder` is: SQLite calls what fails for that an I/O error, sometimes."""
    try:
        return shutil.disk_usage(folder).free < LEAST
    except OSError:
        return False
