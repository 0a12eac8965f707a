"""What a person may know of an index without loading a model."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from local_rag.index.store import folder, reads
from local_rag.index.store.store import Store


@dataclass(frozen=True, slots=True)
class IndexStatus:
    """`bytes` is on disk, with caches; `last_sync` is ISO 8601 in UTC, "" before the first; sizes are in tokens.

    `pages` of the web are no `files`; documents and chunks are of both.
    """

    path: Path
    files: int
    documents: int
    chunks: int
    bytes: int
    embedder: str
    fingerprint: str
    dimension: int
    chunk_size: int
    chunk_overlap: int
    roots: tuple[str, ...]
    last_sync: str
    cache_fresh: bool
    pages: int = 0


def inspect(store: Store) -> IndexStatus:
    """Read it from the store."""
    files, documents, chunks = store.read(reads.counts)
    pages = store.read(reads.page_count)
    recipe = store.read(reads.recipe)
    synced = store.read(reads.meta).get("last_sync")
    return IndexStatus(
        path=store.folder,
        files=files - pages,
        documents=documents,
        chunks=chunks,
        bytes=folder.size(store.folder),
        embedder=recipe.embedder,
        fingerprint=recipe.fingerprint,
        dimension=recipe.dimension,
        chunk_size=recipe.size,
        chunk_overlap=recipe.overlap,
        roots=tuple(root.path for root in store.read(reads.roots)),
        last_sync=datetime.fromtimestamp(float(synced), UTC).isoformat(timespec="seconds") if synced else "",
        cache_fresh=store.cache_is_fresh(),
        pages=pages,
    )
