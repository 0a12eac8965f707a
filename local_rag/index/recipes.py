"""The recipe of an index: whether an embedder and a chunking fit it, and the change to another embedder."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from local_rag.core import cancel
from local_rag.core.errors import IndexMismatch, UsageError
from local_rag.core.protocols import Embedder
from local_rag.index.store import folder, reads, writes
from local_rag.index.store.schema import Passage, Recipe
from local_rag.index.store.store import Store
from local_rag.index.sync.report import Progress

BATCH = 128
"""Passages that are embedded between two commits of `reembed`."""


def check_sizes(embedder: Embedder, size: int, overlap: int) -> None:
    """Raises UsageError for passages that the embedder cannot read whole, or that overlap by more than half."""
    if size > embedder.window:
        raise UsageError(
            f"passages of {size} tokens do not fit '{embedder.name}', which reads {embedder.window}",
            hint=f"local-rag index … --chunk-size {embedder.window}",
        )
    if not 0 <= overlap <= size // 2:
        raise UsageError(
            f"passages of {size} tokens may share up to {size // 2}, not {overlap}",
            hint="local-rag index … --chunk-overlap 0",
        )


def check_same(store: Store, wanted: Recipe) -> None:
    """Raises IndexMismatch unless this recipe made the index; the name of the embedder does not matter."""
    made = store.read(reads.recipe)
    if (made.size, made.overlap) != (wanted.size, wanted.overlap):
        raise IndexMismatch(
            f"the index at {store.folder} has passages of {made.size} tokens with {made.overlap} shared, "
            f"not {wanted.size} with {wanted.overlap}",
            hint=folder.rebuild(store.folder, store.read(reads.named)),
        )
    if (made.fingerprint, made.dimension) != (wanted.fingerprint, wanted.dimension):
        raise IndexMismatch(
            f"the index at {store.folder} was made with the embedder '{made.embedder}' ({made.fingerprint}), "
            f"not with '{wanted.embedder}' ({wanted.fingerprint})",
            hint=f"local-rag index --reembed --index {folder.quoted(store.folder)}",
        )


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
