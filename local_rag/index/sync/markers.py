"""Folders that a program made for itself: virtual environments, indexes and caches say so by a file in them.

A file of that name proves nothing: whoever can write one could make a folder of notes vanish from the index. So what
the file has to say is looked at, and `sync` keeps what it had of such a folder.
"""

from __future__ import annotations

import re
from collections.abc import Container
from pathlib import Path

from local_rag.index.sync.regular_file import read_start

INDEX_FILE = "index.sqlite"

_MARKERS = {
    "CACHEDIR.TAG": ("a cache", re.compile(rb"Signature: 8a477f597d28d172789f06886806bc55")),
    "pyvenv.cfg": ("a virtual environment of Python", re.compile(rb"(?:.*\n)*?[ \t]*home[ \t]*=")),
    INDEX_FILE: ("an index", re.compile(rb"SQLite format 3\0")),
}
"""Name: what its folder is, and how such a file begins.

https://bford.info/cachedir/, https://docs.python.org/3/library/site.html, https://sqlite.org/fileformat.html
"""

_START = 8192


def marked(folder: Path, names: Container[str]) -> str:
    """What a folder is if one of its files says so, and which one does; "" for any other."""
    for name, (kind, start) in _MARKERS.items():
        if name in names and _begins(folder / name, start):
            return f"looks like {kind} ({name})"
    return ""


def _begins(file: Path, start: re.Pattern[bytes]) -> bool:
    try:
        return bool(start.match(read_start(file, _START)))
    except OSError:
        return False
