"""The store of an index, by where that lies: a folder, or a PostgreSQL server, for which the extra is needed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from local_rag.config.server_index import ServerIndex
from local_rag.core.errors import ConfigError, IndexMismatch, UsageError
from local_rag.core.protocols import Embedder
from local_rag.index.store.protocol import Store
from local_rag.index.store.sqlite import store as sqlite
from local_rag.index.store.sqlite.folder import anew, has_database, index_name
from local_rag.index.store.values import IndexSettings

if TYPE_CHECKING:
    from types import ModuleType


def opened(path: Path) -> Store:
    """Raises IndexMissing, IndexDamaged, IndexMismatch for another version."""
    store: Store = _server().PostgresStore(path) if isinstance(path, ServerIndex) else sqlite.SqliteStore(path)
    return store


def created(path: Path, settings: IndexSettings) -> Store:
    """Make an empty index, or open the one that is there."""
    kind = _server().PostgresStore if isinstance(path, ServerIndex) else sqlite.SqliteStore
    store: Store = kind.create(path, settings)
    return store


def is_current(path: Path) -> bool:
    """Whether there is an index of this version."""
    return has_index(path) if isinstance(path, ServerIndex) else sqlite.is_current(path)


def has_index(path: Path) -> bool:
    """Whether there is an index."""
    return bool(_server().is_there(path)) if isinstance(path, ServerIndex) else has_database(path)


def destroy(path: Path) -> None:
    """Delete an index, damaged or not, and nothing else. Raises IndexMissing and IndexBusy."""
    (_server() if isinstance(path, ServerIndex) else sqlite).destroy(path)


def _server() -> ModuleType:
    """What speaks to a server. Raises ConfigError without the extra."""
    try:
        from local_rag.index.store.postgres import store as server
    except ImportError as error:
        raise ConfigError(
            f"an index on a server needs psycopg, which is not installed ({error})",
            hint="pip install 'local-rag[postgres]'",
        ) from error
    return server


# --- whether an index fits what is asked of it


def check_settings(store: Store, wanted: IndexSettings) -> None:
    """Raises IndexMismatch unless these settings made the index; the name of the embedder does not matter."""
    made, folder = store.settings(), store.folder
    if (made.size, made.overlap) != (wanted.size, wanted.overlap):
        which = f"{wanted.size}-{wanted.overlap}" if wanted.overlap else f"{wanted.size}"
        options = f" --chunk-size {wanted.size} --chunk-overlap {wanted.overlap}"
        raise IndexMismatch(
            f"the index at {folder} has passages of {made.size} tokens with {made.overlap} shared, "
            f"not {wanted.size} with {wanted.overlap}",
            hint=anew(folder.with_name(f"{folder.name}-{which}"), store.named(), options),
        )
    if (made.fingerprint, made.dimension) != (wanted.fingerprint, wanted.dimension):
        raise IndexMismatch(
            f"the index at {folder} was made with the embedder '{made.embedder}' ({made.fingerprint}), "
            f"not with '{wanted.embedder}' ({wanted.fingerprint})",
            hint=f"local-rag index --reembed --index {index_name(folder)}",
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
