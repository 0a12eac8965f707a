"""The vectors that an index lacks: of passages and of their headers."""

from __future__ import annotations

from local_rag.core import cancel
from local_rag.core.protocols import Embedder
from local_rag.index.store import embedded
from local_rag.index.store.store import Store

BATCH = 64
"""Passages that are embedded between two commits."""


def embed(store: Store, embedder: Embedder) -> int:
    """Embed what lacks a vector, batch by batch; the number of passages embedded.

    The caller holds the writer's lock.
    """
    chunks, _ = store.read(embedded.without_vectors)
    count = 0
    for first in range(0, len(chunks), BATCH):
        cancel.check()
        part = chunks[first : first + BATCH].tolist()
        texts, headers = store.read(embedded.to_embed, part)
        vectors = iter(embedder.embed_documents([text for _, text in (*texts, *headers)]))
        of_texts = {chunk: next(vectors) for chunk, _ in texts}
        of_headers = {header: next(vectors) for header, _ in headers}
        with store.writing() as db:
            embedded.set_vectors(db, part, of_texts, of_headers)
        count += len(texts)
    return count
