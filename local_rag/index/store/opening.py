"""The choice of a store by its address, a folder or a PostgreSQL server, and the checks of its settings."""

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
    """Open the store at an address. Raises IndexMissing, IndexDamaged, and IndexMismatch for another version."""
    return kind_of(index)(index)


def has_index(index: IndexAddress) -> bool:
    """Return whether there is an index."""
    return kind_of(index).is_there(index)


def kind_of(index: IndexAddress) -> type[Store]:
    """Return the kind of store that keeps an index at an address. Raises ConfigError for a server without the extra."""
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
    """Raise IndexMismatch unless these settings made the index; the name of the embedder does not matter."""
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
    """Raise UsageError for passages that the embedder cannot read whole, or that overlap by more than half."""
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
