"""Which passages without a vector questions have matched by their words: they are embedded first.

A small file in the folder of the index keeps ids of chunks, and nothing of a question. It is best effort: whoever asks
waits for nobody, and never fails because of it; a few ids may get lost, and ids of chunks that are gone mean nothing.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from local_rag.index.store.folder import PRIORITY

MOST = 500
"""Ids that are kept. A full list goes on with its newer half."""

_ID = struct.Struct("<q")

_FLAGS = (
    os.O_WRONLY | os.O_CREAT | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
)
"""A link or a pipe in the place of the file is an error, which ends nothing."""


def note(folder: Path, chunks: Collection[int]) -> None:
    """Add chunks to the list of the index in a folder, where it can be written."""
    rows = _rows(list(chunks)[-MOST:])
    with suppress(OSError):
        file = folder / PRIORITY
        full = _size(file) + len(rows) > MOST * _ID.size
        if full:
            rows = (file.read_bytes()[-(MOST // 2) * _ID.size :] + rows)[-MOST * _ID.size :]
        if rows:
            descriptor = os.open(file, _FLAGS | (os.O_TRUNC if full else os.O_APPEND), 0o600)
            try:
                os.write(descriptor, rows)
            finally:
                os.close(descriptor)


def taken(folder: Path) -> list[int]:
    """The chunks of the list, the latest first, each once; the list is empty then."""
    with suppress(OSError):
        file = folder / PRIORITY
        if not _size(file):
            return []
        rows = file.read_bytes()[-MOST * _ID.size :]
        file.unlink()
        whole = len(rows) // _ID.size * _ID.size
        return list(dict.fromkeys(reversed([chunk for (chunk,) in _ID.iter_unpack(rows[:whole])])))
    return []


def _rows(chunks: Collection[int]) -> bytes:
    return b"".join(map(_ID.pack, chunks))


def _size(file: Path) -> int:
    with suppress(OSError):
        return file.stat().st_size
    return 0
