"""Copies of an index between a folder and a server, either way: texts and vectors are taken over, nothing is
embedded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from local_rag.config.server_index import IndexAddress
from local_rag.core import cancel
from local_rag.core.errors import UsageError
from local_rag.index.catalog import ABOUT
from local_rag.index.prepare import digest
from local_rag.index.store.commands import index_name
from local_rag.index.store.matrices import matrix_of
from local_rag.index.store.opening import check_settings, kind_of, opened
from local_rag.index.store.protocol import Store
from local_rag.index.store.values import EMBEDDING_PACE, TEXT_PACE
from local_rag.index.sync.embed import embed_pending
from local_rag.index.sync.report import Pace, Tell, silent
from local_rag.text.chunking import Chunk
from local_rag.text.display import plural

if TYPE_CHECKING:
    from local_rag.core.protocols import Vectors

PASSAGES_AT_ONCE = 500
"""Passages after which a transaction ends; a file is never parted."""

_META = ("last_sync", TEXT_PACE, EMBEDDING_PACE, ABOUT)


def copy(source: IndexAddress, target: IndexAddress, tell: Tell) -> tuple[int, int]:
    """Copy the index in one place into another, which is made, and return the numbers of files copied and already
    there.

    An interrupted copy is continued. Raises UsageError where the target holds other files, IndexMismatch where another
    embedder or chunking made it, and what the stores raise.
    """
    ours = opened(source)
    made = ours.settings()
    theirs = kind_of(target).create(target, made)
    try:
        check_settings(theirs, made)
        with theirs.locked(alone=True):
            return _copied(ours, theirs, tell)
    finally:
        ours.close()
        theirs.close()


def _copied(ours: Store, theirs: Store, tell: Tell) -> tuple[int, int]:
    states, known = ours.states(), theirs.states()
    if others := known.keys() - states.keys():
        raise UsageError(
            f"the index at {theirs.address} holds other files, such as {min(others)}",
            hint="copy into an index that is not there yet",
        )
    todo = [path for path, state in states.items() if known.get(path) != state]
    if waiting := len(ours.pending()):
        raise UsageError(
            f"{plural(waiting, 'passage')} of the index at {ours.address} have no vector yet",
            hint=f"local-rag index --index {index_name(ours.address)}",
        )
    pace, done = Pace(len(todo)), 0
    for batch in _batches(todo, states):
        cancel.check()
        with theirs.writing():
            for path in batch:
                row, spans = ours.file(path), ours.spans(path)
                assert row is not None
                documents = [
                    (document, [Chunk(*span[2:]) for span in spans if span[1] == document.id])
                    for document in ours.documents(path)
                ]
                theirs.replace(row, documents)
        done += len(batch)
        tell(pace.progress(done, done, len(todo), done, batch[-1]))
    embed_pending(theirs, _known_vectors(ours), silent)
    meta = ours.meta()
    with theirs.writing():
        theirs.set_roots(ours.roots())
        for failure in ours.failures().values():
            theirs.set_failure(failure)
        theirs.set_reported(ours.reported())
        theirs.set_meta({name: meta[name] for name in _META if name in meta})
    return len(todo), len(states) - len(todo)


def _batches(paths: list[str], states: dict[str, tuple[str, int, int]]) -> Iterator[list[str]]:
    batch, chunks = list[str](), 0
    for path in paths:
        batch.append(path)
        chunks += states[path][1]
        if chunks >= PASSAGES_AT_ONCE:
            yield batch
            batch, chunks = [], 0
    if batch:
        yield batch


def _known_vectors(store: Store) -> Callable[[Sequence[str]], Vectors]:
    """Return a function that embeds texts by looking their vectors up in an index."""
    dimension = store.settings().dimension

    def embed(texts: Sequence[str]) -> Vectors:
        of_headers, known = store.header_vectors(texts), store.vectors(map(digest, texts))
        rows = [of_text or of_headers.get(text, b"") for text, of_text in zip(texts, known, strict=True)]
        return matrix_of(rows, dimension)

    return embed
