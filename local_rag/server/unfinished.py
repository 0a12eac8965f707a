"""Indexing that the end of a server has cut off: kept in the data folder, so that the page offers to go on with it."""

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
"""Seconds after which it is written anew how far the indexing is."""

UnfinishedIndexing = dict[str, Any]
"""What was begun: the `paths`, or the `sample`, and `share`, how much of it is done, None where that is not known."""


class Unfinished:
    """Of a data folder: the indexing that runs or was cut off, by index. `ending`: the server ends. Serves threads."""

    def __init__(self, data_folder: Path) -> None:
        self._file, self._lock, self.ending = data_folder / FOLDER / FILE, threading.Lock(), False

    def all(self) -> dict[str, UnfinishedIndexing]:
        """What runs or was cut off; a file that cannot be read has nothing."""
        with suppress(OSError, ValueError):
            found: dict[str, UnfinishedIndexing] = json.loads(self._file.read_bytes())
            return found
        return {}

    @contextmanager
    def kept(self, index: str, paths: Sequence[Path], *, sample: bool) -> Iterator[Callable[[float | None], None]]:
        """Keep what begins until the block ends, but not with the server; what is given is told how far it is."""
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
        except IndexBusy:  # the process of the server that was ended still writes: it is offered again
            raise
        except BaseException:
            if not self.ending:
                self.drop(index)
            raise
        self.drop(index)

    def drop(self, index: str) -> None:
        """Forget it: it has ended, or the index is gone."""
        if index in self.all():
            self._put(index, None)

    def _put(self, index: str, indexing: UnfinishedIndexing | None) -> None:
        with self._lock, suppress(OSError):  # indexing needs no offer to go on
            found = {**self.all(), index: indexing}
            make_folder(self._file.parent)
            replace_file(self._file, to_json({name: each for name, each in found.items() if each}, None).encode())
