"""Another embedder for the same passages."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from local_rag.core import cancel
from local_rag.core.errors import IndexMismatch
from local_rag.core.protocols import Embedder
from local_rag.index.store import folder, reads, writes
from local_rag.index.store.rows import Passage, Recipe
from local_rag.index.store.store import Store
from local_rag.index.sync.report import Progress

BATCH = 128


def reembed(store: Store, embedder: Embedder, recipe: Recipe, progress: Callable[[Progress], None] | None) -> int:
    """Collect new vectors batch by batch, then put all of them in force in one transaction; the number embedded.

    The caller holds the writer's lock. Raises IndexMismatch if a passage is longer than the embedder reads.
    """
    started = time.monotonic()
    if store.read(reads.recipe) == recipe:
        return 0
    with store.writing() as db:
        writes.drop_fresh(db, recipe.fingerprint)
    missing = store.read(reads.not_fresh)
    for first in range(0, len(missing), BATCH):
        cancel.check()
        passages = store.read(reads.passages, missing[first : first + BATCH])
        _must_fit(store, embedder, passages)
        vectors = embedder.embed_documents([passage.text for passage in passages])
        with store.writing() as db:
            writes.add_fresh(db, [passage.id for passage in passages], vectors)
        if progress is not None:
            done = first + len(passages)
            seconds = time.monotonic() - started
            progress(Progress(done, len(missing), done, passages[-1].source, seconds, done / len(missing)))
    with store.writing(vectors_change=True) as db:
        writes.adopt_fresh(db)
        writes.set_recipe(db, recipe)
    store.refresh()
    return len(missing)


def _must_fit(store: Store, embedder: Embedder, passages: Sequence[Passage]) -> None:
    for passage in passages:
        tokens = len(embedder.token_ends(passage.text))
        if tokens > embedder.window:
            raise IndexMismatch(
                f"'{embedder.name}' reads {embedder.window} tokens: a passage of {passage.source} has {tokens}",
                hint=folder.rebuild(store.folder, store.read(reads.named)),
            )
