"""Record running indexing in the data folder, so that the page can offer to resume it after the server has ended."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from local_rag.core.errors import IndexBusy
from local_rag.core.private_files import make_folder, replace_file
from local_rag.core.serialization import to_json
from local_rag.server.auth import FOLDER

FILE = "unfinished.json"
STEP = 1.0
"""The least seconds between two writes of the progress."""

UnfinishedIndexing = dict[str, Any]
"""An indexing: its `paths`, or `sample`, and `share`, the part of it that is done, or None if unknown."""


class Unfinished:
    """Store by index the indexing that runs or was cut off; several threads may use it.

    `ending` says that the server ends.
    """

    def __init__(self, data_folder: Path) -> None:
        self._file, self._lock, self.ending = data_folder / FOLDER / FILE, threading.Lock(), False

    def all(self) -> dict[str, UnfinishedIndexing]:
        """Return the indexing that runs or was cut off, by index, or {} if the file cannot be read."""
        with suppress(OSError, ValueError):
            found: dict[str, UnfinishedIndexing] = json.loads(self._file.read_bytes())
            return found
        return {}

    @contextmanager
    def kept(self, index: str, paths: Sequence[Path], *, sample: bool) -> Iterator[Callable[[float | None], None]]:
        """Record an indexing until the block ends, or beyond that if the server ends first.

        Yield a function to call with the share that is done.
        """
        share: float | None = None
        written = 0.0

        def told(now: float | None) -> None:
            nonlocal share, written
            share = share if now is None else now
            if time.monotonic() - written > STEP:
                self._put(index, {"paths": [*map(str, paths)], "sample": sample, "share": share})
                written = time.monotonic() if share else 0.0

        told(None)
        try:
            yield told
        except IndexBusy:  # the process of the ended server still writes, so resuming is offered again
            raise
        except BaseException:
            if not self.ending:
                self.drop(index)
            raise
        self.drop(index)

    def drop(self, index: str) -> None:
        """Delete the record of an indexing that has ended, or whose index is gone."""
        if index in self.all():
            self._put(index, None)

    def _put(self, index: str, indexing: UnfinishedIndexing | None) -> None:
        with self._lock, suppress(OSError):  # indexing works without this record
            found = {**self.all(), index: indexing}
            make_folder(self._file.parent)
            replace_file(self._file, to_json({name: each for name, each in found.items() if each}, None).encode())
