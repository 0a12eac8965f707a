"""The recipe of an index: whether an embedder and a chunking fit it, and the change to another embedder."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from local_rag.core import cancel
from local_rag.core.errors import IndexMismatch, UsageError
from local_rag.core.protocols import Embedder
from local_rag.index.store import checks, embedded, folder, reads, writes
from local_rag.index.store.schema import Passage, Recipe
from local_rag.index.store.store import Store
from local_rag.index.sync.report import Pace, Progress

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
            hint=_another_index(store, wanted.size, wanted.overlap),
        )
    if (made.fingerprint, made.dimension) != (wanted.fingerprint, wanted.dimension):
        raise IndexMismatch(
            f"the index at {store.folder} was made with the embedder '{made.embedder}' ({made.fingerprint}), "
            f"not with '{wanted.embedder}' ({wanted.fingerprint})",
            hint=f"local-rag index --reembed --index {folder.index_name(store.folder)}",
        )


def reembed(store: Store, embedder: Embedder, recipe: Recipe, progress: Callable[[Progress], None] | None) -> int:
    """Collect vectors of another embedder batch by batch, then put all of them in force in one transaction.

    Gives the passages embedded, equal texts counted once. The caller holds the writer's lock. Raises IndexMismatch if a
    passage is longer than the embedder reads.
    """
    with store.writing() as db:
        writes.drop_fresh(db, recipe.fingerprint)
    missing = store.read(reads.not_fresh)
    _embed(store, embedder, missing, progress, writes.add_fresh)
    _embed_headers(store, embedder, store.read(reads.headers_not_fresh), writes.add_fresh_headers)
    with store.writing(vectors_change=True) as db:
        writes.adopt_fresh(db)
        writes.set_recipe(db, recipe)
    store.refresh()
    return len(missing)


def mend(store: Store) -> None:
    """Make the full text anew, and drop the vectors that are none: their passages wait for others.

    The full text is one transaction, minutes long in a large index: a kill leaves the index as it was. The caller holds
    the writer's lock.
    """
    with store.writing() as db:
        writes.restore_words(db)
    broken, headers = store.read(checks.unusable_vectors, True), store.read(checks.unusable_headers, True)
    with store.writing() as db:
        embedded.drop_vectors(db, broken, headers)
        embedded.take_in(db, reads.chunk_ids(db).tolist())


def _embed(
    store: Store,
    embedder: Embedder,
    chunks: Sequence[int],
    progress: Callable[[Progress], None] | None,
    write: Callable[..., None],
) -> None:
    """Embed the texts of these chunks batch by batch, and write each batch."""
    pace = Pace(len(chunks))
    for first in range(0, len(chunks), BATCH):
        cancel.check()
        passages = store.read(reads.passages, chunks[first : first + BATCH])
        _must_fit(store, embedder, passages)
        vectors = embedder.embed_documents([passage.text for passage in passages])
        with store.writing() as db:
            write(db, [passage.id for passage in passages], vectors)
        if progress is not None:
            done = first + len(passages)
            progress(pace.progress(done, done, len(chunks), done, passages[-1].source, phase="vectors"))


def _embed_headers(
    store: Store,
    embedder: Embedder,
    headers: Sequence[tuple[int, str]],
    write: Callable[..., None],
) -> None:
    """Embed headers (number, text) batch by batch, and write each batch."""
    for first in range(0, len(headers), BATCH):
        cancel.check()
        part = headers[first : first + BATCH]
        vectors = embedder.embed_documents([text for _, text in part])
        with store.writing() as db:
            write(db, [number for number, _ in part], vectors)


def _must_fit(store: Store, embedder: Embedder, passages: Sequence[Passage]) -> None:
    for passage in passages:
        tokens = len(embedder.token_ends(passage.text))
        if tokens > embedder.window:
            raise IndexMismatch(
                f"'{embedder.name}' reads {embedder.window} tokens: a passage of {passage.source} has {tokens}",
                hint=_another_index(store, embedder.window, 0, f" --embedder {embedder.name}"),
            )


def _another_index(store: Store, size: int, overlap: int, options: str = "") -> str:
    """The command that makes an index of other passages beside this one."""
    options = f"{options} --chunk-size {size} --chunk-overlap {overlap}"
    which = f"{size}-{overlap}" if overlap else f"{size}"
    return folder.anew(folder.beside(store.folder, which), store.read(reads.named), options)
