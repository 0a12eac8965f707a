"""The second phase of a sync: every passage that has no vector yet gets one, batch by batch."""

from __future__ import annotations

import time
from collections.abc import Callable

from local_rag.core import cancel
from local_rag.core.errors import IndexMismatch
from local_rag.core.protocols import Embedder
from local_rag.index.store import checks, full_text, reads, writes
from local_rag.index.store.folder import index_name
from local_rag.index.store.schema import EMBEDDING_PACE, IndexSettings
from local_rag.index.store.store import Store
from local_rag.index.sync.report import Pace, Progress

FIRST, LEAST, MOST = 64, 32, 1024
"""Passages of the first batch, and of any later one."""

SECONDS = 2.0
"""What a batch may take, which a kill can lose of the embedding: 32 passages of 250 tokens take 1.8 s on two cores."""

_WINDOW = 512
"""Passages of neighbouring files that are sorted by length: a batch of equal lengths has no padding."""

_REFRESH = 30.0
"""Seconds between two looks at the file of vectors: what it lacks, every reader reads for itself."""

_CHECKED = 500


class Embedding:
    """One run over the passages without a vector. The caller holds the writer's lock; others may search.

    Those of the newest files come first. Each batch is one transaction.
    """

    def __init__(self, store: Store, embedder: Embedder, progress: Callable[[Progress], None] | None) -> None:
        self._store, self._embedder, self._progress = store, embedder, progress
        self._rate = 0.0

    def run(self) -> int:
        """Embed all of them; how many there were. Raises DiskFull, IndexBusy and Stopped; what is committed stays."""
        waiting = self._store.read(reads.without_vectors)
        try:
            self._embed_all(waiting)
        finally:
            if not cancel.current().stopped:  # the next search does without
                self._store.refresh()
        return len(waiting)

    def _embed_all(self, waiting: list[tuple[int, int]]) -> None:
        lengths = dict(waiting)
        pace, size, refreshed = Pace(sum(lengths.values())), FIRST, time.monotonic()
        by_length = sorted(enumerate(waiting), key=lambda item: (item[0] // _WINDOW, item[1][1]))
        queue, done, work = [chunk for _, (chunk, _) in by_length], 0, 0
        while batch := queue[done : done + size]:
            cancel.check()
            began = time.monotonic()
            self._embed(batch)
            done, work = done + len(batch), work + sum(map(lengths.__getitem__, batch))
            size = next_size(len(batch), time.monotonic() - began)
            path = next((path for _, _, path in self._store.read(reads.labels, batch[-1:])), "")
            told = pace.progress(work, done, len(queue), done, path, phase="vectors")
            self._rate = told.rate or self._rate
            if self._progress is not None:
                self._progress(told)
            if time.monotonic() - refreshed > _REFRESH:
                self._store.refresh()
                refreshed = time.monotonic()

    def _embed(self, chunks: list[int]) -> None:
        """Embed what of these passages and their headers has no vector, each text once."""
        texts, headers = self._store.read(reads.to_embed, chunks)
        distinct = list(dict.fromkeys((*texts.values(), *headers.values())))
        vectors = dict(zip(distinct, self._embedder.embed_documents(distinct), strict=True))
        of_texts, of_headers = ({number: vectors[text] for number, text in each.items()} for each in (texts, headers))
        with self._store.writing() as db:
            writes.set_vectors(db, chunks, of_texts, of_headers)
            pace = {EMBEDDING_PACE: f"{self._rate:.3g}"} if self._rate else {}
            writes.set_meta(db, {"last_sync": str(time.time()), **pace})


def next_size(size: int, seconds: float) -> int:
    """How many passages the next batch has, after one of `size` took `seconds`: a multiple of 16, as models like it."""
    fitting = size * SECONDS / max(seconds, 1e-3)
    return max(LEAST, int(min(fitting, MOST)) // 16 * 16)


def prepare_reembedding(store: Store, embedder: Embedder, made: IndexSettings, wanted: IndexSettings) -> None:
    """Make the full text anew, and drop the vectors that are none; all of them where another embedder made them.

    Raises IndexMismatch for a passage that this embedder does not read whole.
    """
    other = (made.fingerprint, made.dimension) != (wanted.fingerprint, wanted.dimension)
    if other:
        _check_passages(store, embedder)
    lost = () if other else store.read(checks.unusable_vectors)
    with store.writing() as db:
        full_text.restore(db)
        writes.drop_vectors(db, *lost)
        writes.set_settings(db, wanted)


def _check_passages(store: Store, embedder: Embedder) -> None:
    """Raises IndexMismatch for a passage that this embedder does not read whole."""
    chunks = [chunk for chunks in store.read(reads.chunks_by_file).values() for chunk in chunks]
    for first in range(0, len(chunks), _CHECKED):
        cancel.check()
        for passage in store.read(reads.passages, chunks[first : first + _CHECKED]):
            if (tokens := len(embedder.token_ends(passage.text))) > embedder.window:
                raise IndexMismatch(
                    f"'{embedder.name}' reads {embedder.window} tokens: a passage of {passage.source} has {tokens}",
                    hint=f"local-rag index … --embedder {embedder.name} --chunk-size {embedder.window}"
                    f" --index {index_name(store.folder)}-{embedder.window}",
                )
