"""The store of an index, by where that lies: a folder, or a PostgreSQL server, for which the extra is needed."""

from __future__ import annotations

from pathlib import Path

from local_rag.config.server_index import IndexAddress
from local_rag.core.errors import ConfigError, IndexMismatch, UsageError
from local_rag.core.protocols import Embedder
from local_rag.index.store.commands import anew, index_name
from local_rag.index.store.protocol import Store
from local_rag.index.store.sqlite.store import SqliteStore
from local_rag.index.store.values import IndexSettings


def opened(index: IndexAddress) -> Store:
    """Raises IndexMissing, IndexDamaged, IndexMismatch for another version."""
    return _kind(index)(index)


def created(index: IndexAddress, settings: IndexSettings) -> Store:
    """Make an empty index, also in the place of an earlier version's, or open the one that is there."""
    return _kind(index).create(index, settings)


def has_index(index: IndexAddress) -> bool:
    """Whether there is an index."""
    return _kind(index).is_there(index)


def destroy(index: IndexAddress) -> None:
    """Delete an index, damaged or not, and nothing else. Raises IndexMissing and IndexBusy."""
    _kind(index).destroy(index)


def _kind(index: IndexAddress) -> type[Store]:
    """Raises ConfigError for a server without the extra."""
    if isinstance(index, Path):
        return SqliteStore
    try:
        from local_rag.index.store.postgres.store import PostgresStore
    except ImportError as error:
        raise ConfigError(
            f"an index on a server needs psycopg, which is not installed ({error})",
            hint="pip install 'local-rag[postgres]'",
        ) from error
    return PostgresStore


# --- whether an index fits what is asked of it


def check_settings(store: Store, wanted: IndexSettings) -> None:
    """Raises IndexMismatch unless these settings made the index; the name of the embedder does not matter."""
    made, index = store.settings(), store.address
    if (made.size, made.overlap) != (wanted.size, wanted.overlap):
        which = f"{wanted.size}-{wanted.overlap}" if wanted.overlap else f"{wanted.size}"
        options = f" --chunk-size {wanted.size} --chunk-overlap {wanted.overlap}"
        raise IndexMismatch(
            f"the index at {index} has passages of {made.size} tokens with {made.overlap} shared, "
            f"not {wanted.size} with {wanted.overlap}",
            hint=anew(index.with_name(f"{index.name}-{which}"), store.named(), options),
        )
    if (made.fingerprint, made.dimension) != (wanted.fingerprint, wanted.dimension):
        raise IndexMismatch(
            f"the index at {index} was made with the embedder '{made.embedder}' ({made.fingerprint}), "
            f"not with '{wanted.embedder}' ({wanted.fingerprint})",
            hint=f"local-rag index --reembed --index {index_name(index)}",
        )


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
