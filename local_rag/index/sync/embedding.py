"""The second phase of a sync: every passage that has no vector yet gets one, batch by batch."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from local_rag.core import cancel
from local_rag.core.protocols import Embedder
from local_rag.index.store import embedded, priority, reads, writes
from local_rag.index.store.schema import EMBEDDING_PACE
from local_rag.index.store.store import Store
from local_rag.index.sync.report import Pace, Progress

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from local_rag.index.store.quantized_vectors import Ids

FIRST, LEAST, MOST = 64, 32, 1024
"""Passages of the first batch, and of any later one."""

SECONDS = 2.0
"""What a batch may take, which a kill can lose of the embedding: 32 passages of 250 tokens take 1.8 s on two cores."""

_WINDOW = 512
"""Passages of neighbouring files that are sorted by length: a batch of equal lengths has no padding."""

_SHORTEST = 40
"""Code points that a passage counts for at least: one that only lacks the vector of its header takes time, too."""

_REFRESH = 30.0
"""Seconds between two looks at the file of quantized vectors: what it lacks, every reader quantizes for itself."""


class Embedding:
    """One run over the passages without a vector. The caller holds the writer's lock; others may search.

    First come the passages that questions matched by their words (see `priority`), then those of the newest files. Each
    batch is one transaction.
    """

    def __init__(self, store: Store, embedder: Embedder, progress: Callable[[Progress], None] | None) -> None:
        self._store, self._embedder, self._progress = store, embedder, progress
        self._since: tuple[float, int] | None = None

    def run(self) -> int:
        """Embed all of them; how many had no vector of their text: the others lacked that of their header.

        Raises DiskFull, IndexBusy and Stopped; what is committed stays.
        """
        queue = Queue(*self._store.read(embedded.without_vectors))
        queue.prefer(priority.taken(self._store.folder))
        pace, size, refreshed = Pace(queue.work), FIRST, time.monotonic()
        while batch := queue.next(size):
            cancel.check()
            began = time.monotonic()
            self._embed(batch)
            size = next_size(len(batch), time.monotonic() - began)
            self._tell(pace, queue, batch[-1])
            queue.prefer(priority.taken(self._store.folder))
            if time.monotonic() - refreshed > _REFRESH:
                self._store.refresh()
                refreshed = time.monotonic()
        return queue.texts

    def _embed(self, chunks: list[int]) -> None:
        texts, headers = self._store.read(embedded.to_embed, chunks)
        distinct = list(dict.fromkeys(text for _, text in (*texts, *headers)))
        vectors = dict(zip(distinct, self._embedder.embed_documents(distinct), strict=True))
        with self._store.writing() as db:
            embedded.set_vectors(
                db,
                chunks,
                {chunk: vectors[text] for chunk, text in texts},
                {header: vectors[text] for header, text in headers},
            )
            writes.set_meta(db, {"last_sync": str(time.time())})
            if pace := self._pace(len(chunks)):
                writes.set_meta(db, {EMBEDDING_PACE: f"{pace:.3g}"})

    def _pace(self, size: int) -> float:
        """Passages per second since the first batch, for which the model was loaded; 0 where nothing follows it yet."""
        now = time.monotonic()
        if self._since is None:
            self._since = now, 0
            return 0.0
        began, done = self._since
        self._since = began, done + size
        return (done + size) / max(now - began, 1e-3)

    def _tell(self, pace: Pace, queue: Queue, chunk: int) -> None:
        if self._progress is not None:
            path = next((path for _, _, path in self._store.read(reads.places, [chunk])), "")
            self._progress(pace.progress(queue.done_work, queue.done, queue.total, queue.done, path, phase="vectors"))


class Queue:
    """Chunks in the order in which they are embedded, each of which is given out once."""

    def __init__(self, ids: Ids, lengths: NDArray[np.int64]) -> None:
        """`ids` (n,) with the lengths of their texts (n,): in windows of `_WINDOW`, the short ones first.

        A length of 0 says that the text has its vector, see `embedded.without_vectors`; `texts` counts the others.
        """
        import numpy as np

        self.texts = int(np.count_nonzero(lengths))
        lengths = np.maximum(lengths, _SHORTEST)
        order = np.lexsort((lengths, np.arange(len(ids)) // _WINDOW))
        self._ids, self._lengths = ids[order], lengths[order]
        self._waits = np.ones(len(ids), dtype=np.bool_)
        self._next = 0
        self._preferred: deque[int] = deque()
        self.total, self.work = len(ids), float(lengths.sum())
        self.done, self.done_work = 0, 0.0

    def prefer(self, chunks: Iterable[int]) -> None:
        """Give these out next, in their order, as far as they still wait."""
        import numpy as np

        if preferred := list(chunks):
            positions = np.flatnonzero(np.isin(self._ids, preferred))
            of_chunk = dict(zip(self._ids[positions].tolist(), positions.tolist(), strict=True))
            self._preferred.extendleft(of_chunk[chunk] for chunk in reversed(preferred) if chunk in of_chunk)

    def next(self, size: int) -> list[int]:
        """The next chunks, `size` at most; none at the end. They count as done from now on."""
        batch: list[int] = []
        while len(batch) < size and (self._preferred or self._next < self.total):
            if self._preferred:
                position = self._preferred.popleft()
            else:
                position, self._next = self._next, self._next + 1
            if self._waits[position]:
                self._waits[position] = False
                batch.append(position)
        self.done += len(batch)
        self.done_work += float(self._lengths[batch].sum())
        chunks: list[int] = self._ids[batch].tolist()
        return chunks


def next_size(size: int, seconds: float) -> int:
    """How many passages the next batch has, after one of `size` took `seconds`: a multiple of 16, as models like it."""
    fitting = size * SECONDS / max(seconds, 1e-3)
    return max(LEAST, int(min(fitting, MOST)) // 16 * 16)
