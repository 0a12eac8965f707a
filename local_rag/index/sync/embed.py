"""The second phase of a sync: every passage without a vector gets one, batch by batch."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from local_rag.core import cancel
from local_rag.core.errors import IndexMismatch
from local_rag.core.protocols import Embedder
from local_rag.index.store.commands import index_name
from local_rag.index.store.protocol import Store
from local_rag.index.store.values import EMBEDDING_PACE, IndexSettings
from local_rag.index.sync.report import Pace, Tell

if TYPE_CHECKING:
    from local_rag.core.protocols import Vectors

FIRST, SMALLEST, LARGEST = 64, 32, 1024
"""Passages of the first batch, and the least and the most of any later one."""

BATCH_SECONDS = 2.0
"""Seconds that a batch may take, which a kill can lose: 32 passages of 250 tokens take 1.8 s on two cores."""

_WINDOW = 512
"""Passages of neighbouring files that are sorted by length: a batch of equal lengths has no padding."""

_REFRESH = 30.0
"""Seconds between two looks at the file of vectors: every reader reads for itself the vectors that the file lacks."""


def embed_pending(store: Store, vectors_of: Callable[[Sequence[str]], Vectors], tell: Tell) -> int:
    """Embed every passage without a vector, those of the newest files first, and return their number.

    The caller holds the writer's lock; others may search. Each batch is one transaction. Raises DiskFull, IndexBusy and
    Stopped; what is committed stays.
    """
    waiting = store.pending()
    try:
        _embed_all(store, waiting, vectors_of, tell)
    finally:
        if not cancel.current().stopped:  # the next search does without
            store.refresh()
    return len(waiting)


def _embed_all(
    store: Store, waiting: list[tuple[int, int]], vectors_of: Callable[[Sequence[str]], Vectors], tell: Tell
) -> None:
    """Embed chunks, each given with its length, batch by batch."""
    pace, size, refreshed = Pace(sum(length for _, length in waiting)), FIRST, time.monotonic()
    by_length = sorted(enumerate(waiting), key=lambda item: (item[0] // _WINDOW, item[1][1]))
    done, work, rate = 0, 0, 0.0
    while batch := [each for _, each in by_length[done : done + size]]:
        cancel.check()
        began = time.monotonic()
        chunks = [chunk for chunk, _ in batch]
        embed_batch(store, chunks, vectors_of, rate)
        done, work = done + len(batch), work + sum(length for _, length in batch)
        now = time.monotonic()
        fitting = min(len(batch) * BATCH_SECONDS / max(now - began, 1e-3), LARGEST)
        size = max(SMALLEST, int(fitting) // 16 * 16)  # as models like it
        sources = [passage.source for passage in store.passages(chunks[-1:])]  # it may be gone by now
        told = pace.progress(work, done, len(waiting), done, "".join(sources), phase="vectors")
        rate = told.rate or rate
        tell(told)
        if now - refreshed > _REFRESH:
            store.refresh()
            refreshed = now


def embed_batch(store: Store, chunks: list[int], vectors_of: Callable[[Sequence[str]], Vectors], rate: float) -> None:
    """Embed the texts and headers of these passages that have no vector, each text once."""
    texts, headers = store.to_embed(chunks)
    distinct = list(dict.fromkeys((*texts.values(), *headers.values())))
    vectors = dict(zip(distinct, vectors_of(distinct), strict=True))
    of_texts, of_headers = ({number: vectors[text] for number, text in each.items()} for each in (texts, headers))
    with store.writing():
        store.set_vectors(chunks, of_texts, of_headers)
        pace = {EMBEDDING_PACE: f"{rate:.3g}"} if rate else {}
        store.set_meta({"last_sync": str(time.time()), **pace})


def prepare_reembedding(store: Store, embedder: Embedder, made: IndexSettings, wanted: IndexSettings) -> None:
    """Make the full text again, and drop the unusable vectors; all of them where another embedder made them.

    Raises IndexMismatch for a passage that this embedder does not read whole.
    """
    other = (made.fingerprint, made.dimension) != (wanted.fingerprint, wanted.dimension)
    if other:
        _check_passages(store, embedder)
    with store.writing():
        store.restore_words()
        store.drop_vectors(unusable=not other)
        store.set_settings(wanted)


def _check_passages(store: Store, embedder: Embedder) -> None:
    """Raise IndexMismatch for a passage that this embedder does not read whole."""
    for chunks in store.chunks_by_file():
        cancel.check()
        for passage in store.passages(chunks):
            if (tokens := len(embedder.token_ends(passage.text))) > embedder.window:
                raise IndexMismatch(
                    f"'{embedder.name}' reads {embedder.window} tokens: a passage of {passage.source} has {tokens}",
                    hint=f"local-rag index … --embedder {embedder.name} --chunk-size {embedder.window}"
                    f" --index {index_name(store.address)}-{embedder.window}",
                )
