"""Vectors of passages that are not embedded yet, made where a search brings them, so that every score is a cosine."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from local_rag.index.store import embedded, priority

if TYPE_CHECKING:
    from local_rag.core.protocols import Embedder, Vectors
    from local_rag.index.store.schema import Passage
    from local_rag.index.store.store import Store

KEPT = 1000
"""Vectors that are kept in memory: a graph searches several times for one question, and much comes again."""


class UnstoredVectors:
    """The vectors of the passages of one index that it has none of, each made once. Any thread may ask."""

    def __init__(self, store: Store, embedder: Embedder) -> None:
        self._store, self._embedder = store, embedder
        self._lock = threading.Lock()
        self._known: dict[tuple[int, str], Vectors] = {}

    def cosines(self, vector: Vectors, passages: Sequence[Passage]) -> dict[int, float]:
        """The cosine of a unit vector (d,) with that of each passage; they are embedded next when the index is."""
        if not passages:
            return {}
        priority.note(self._store.folder, [passage.id for passage in reversed(passages)])
        headers = self._store.read(embedded.headers_of, [passage.id for passage in passages])
        keys = {passage.id: (passage.id, headers.get(passage.id, "")) for passage in passages}
        with self._lock:
            known = {key: self._known[key] for key in keys.values() if key in self._known}
        if lacking := [passage for passage in passages if keys[passage.id] not in known]:
            made = self._made(lacking, headers)
            new = {keys[passage.id]: row for passage, row in zip(lacking, made, strict=True)}
            known |= new
            with self._lock:
                self._known |= new
                for oldest in list(self._known)[: max(0, len(self._known) - KEPT)]:
                    del self._known[oldest]
        return {chunk: float(known[key] @ vector) for chunk, key in keys.items()}

    def _made(self, passages: Sequence[Passage], headers: dict[int, str]) -> Vectors:
        """The vectors (n, d) of the passages, every text and every header embedded once."""
        own = [headers.get(passage.id, "") for passage in passages]
        texts = list(dict.fromkeys([passage.text for passage in passages] + [header for header in own if header]))
        places = dict(zip(texts, range(len(texts)), strict=True))
        embedded_texts = self._embedder.embed_documents(texts)
        rows = embedded_texts[[places[passage.text] for passage in passages]]
        named = [row for row, header in enumerate(own) if header]
        if named:
            rows[named] = embedded.added(rows[named], embedded_texts[[places[own[row]] for row in named]])
        return rows
