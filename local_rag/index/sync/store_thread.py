"""Files are written on a thread of their own while the next passages are embedded."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from types import TracebackType
from typing import TYPE_CHECKING

from local_rag.index.store import writes
from local_rag.index.store.rows import NewDocument
from local_rag.index.store.store import Store
from local_rag.index.sync.reader import ReadFile

if TYPE_CHECKING:
    from local_rag.core.protocols import Vectors

_AHEAD = 4
"""Slices of vectors that may wait for the disk."""

_POLL = 0.1
"""Seconds between two looks whether the other side has failed."""


class _Unfinished(Exception):
    """The rest of a file's vectors will not come."""


class Writer:
    """Stores files in the order they come, each in one transaction; in a `with`, whose end waits for the last of them.

    First `file`, then the `rows` of its passages in order, in slices that need not end where a file does. A file whose
    rows do not all come is left out. What the store raises is raised by the next call, or at the end.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._files: queue.SimpleQueue[ReadFile | None] = queue.SimpleQueue()
        self._rows: queue.Queue[Vectors | None] = queue.Queue(_AHEAD)
        self._stored: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._error: BaseException | None = None
        self._left: Iterator[Vectors] = iter(())
        self._thread = threading.Thread(target=self._work, name="local-rag-writer", daemon=True)

    def __enter__(self) -> Writer:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._files.put(None)
        self._put(None)
        while self._thread.is_alive():
            self._thread.join(_POLL)
        if kind is None and self._error is not None:
            raise self._error

    def file(self, read: ReadFile) -> None:
        """The next file to store."""
        self._files.put(read)

    def rows(self, vectors: Vectors) -> None:
        """(n, d): the vectors of the next n passages. Raises DiskFull, IndexBusy and what else the store does."""
        self._put(vectors)
        if self._error is not None:
            raise self._error

    def stored(self) -> Iterator[str]:
        """The paths that were committed since the last call."""
        while not self._stored.empty():
            yield self._stored.get()

    def _put(self, vectors: Vectors | None) -> None:
        while self._thread.is_alive():
            try:
                return self._rows.put(vectors, timeout=_POLL)
            except queue.Full:
                continue

    def _work(self) -> None:
        try:
            while (read := self._files.get()) is not None:
                documents = (NewDocument(one, pieces, self._next(len(pieces))) for one, pieces in read.documents)
                with self._store.writing() as db:
                    writes.write(db, read.file, documents)
                self._stored.put(read.file.path)
        except _Unfinished:
            return
        except BaseException as error:
            self._error = error

    def _next(self, count: int) -> Iterator[Vectors]:
        for _ in range(count):
            row = next(self._left, None)
            while row is None:
                slice_ = self._rows.get()
                if slice_ is None:
                    raise _Unfinished
                self._left = iter(slice_)
                row = next(self._left, None)
            yield row
