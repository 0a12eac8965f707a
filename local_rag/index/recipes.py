"""Whether an embedder and a chunking fit each other, and the index that is there."""

from __future__ import annotations

from local_rag.core.errors import IndexMismatch, UsageError
from local_rag.core.protocols import Embedder
from local_rag.index.store import folder, reads
from local_rag.index.store.rows import Recipe
from local_rag.index.store.store import Store


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
