"""The stored passages of an index: their vectors and their neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from local_rag.index.search import document
from local_rag.index.store import full_text, reads

if TYPE_CHECKING:
    from langchain_core.documents import Document

    from local_rag.core.protocols import Vectors
    from local_rag.index.store.store import Store


def vectors(store: Store, documents: Sequence[Document]) -> list[Vectors | None]:
    """The stored vector (d,) of each document whose text is that of the passage it names, None for any other."""
    import numpy as np

    keys = [str(document.metadata.get("chunk_id", "")) for document in documents]
    known = store.read(reads.vectors_named, keys)
    vectors: list[Vectors | None] = []
    for key, given in zip(keys, documents, strict=True):
        digest, blob = known.get(key, (b"", b""))
        same = digest == full_text.digest(given.page_content)
        vectors.append(np.frombuffer(blob, dtype="<f4") if same else None)
    return vectors


def neighbours(store: Store, documents: Sequence[Document], reach: int) -> list[list[Document]]:
    """As `protocols.Corpus` says."""
    keys = [str(document.metadata.get("chunk_id", "")) for document in documents]
    near = store.read(reads.around, keys, reach)
    ids = list(dict.fromkeys(chunk for chunks in near.values() for chunk in chunks))
    by_id = {passage.id: document(passage) for passage in store.read(reads.passages, ids)}
    return [[by_id[chunk] for chunk in near.get(key, ()) if chunk in by_id] for key in keys]
