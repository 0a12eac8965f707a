"""The store of an index, by where that lies: a folder, or a PostgreSQL server, for which the extra is needed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from local_rag.config.server_index import ServerIndex
from local_rag.core.errors import ConfigError
from local_rag.index.store import folder as folders
from local_rag.index.store import store
from local_rag.index.store.schema import IndexSettings
from local_rag.index.store.store import Store

if TYPE_CHECKING:
    from types import ModuleType


def opened(path: Path) -> Store:
    """Raises IndexMissing, IndexDamaged, IndexMismatch for another version."""
    return _server().ServerStore(path) if isinstance(path, ServerIndex) else Store(path)


def created(path: Path, settings: IndexSettings) -> Store:
    """Make an empty index, or open the one that is there."""
    return _server().ServerStore.make(path, settings) if isinstance(path, ServerIndex) else Store.create(path, settings)


def is_current(path: Path) -> bool:
    """Whether there is an index of this version."""
    return has_index(path) if isinstance(path, ServerIndex) else store.is_current(path)


def has_index(path: Path) -> bool:
    """Whether there is an index."""
    return bool(_server().is_there(path)) if isinstance(path, ServerIndex) else folders.has_database(path)


def destroy(path: Path) -> None:
    """Delete an index, damaged or not, and nothing else. Raises IndexMissing and IndexBusy."""
    (_server() if isinstance(path, ServerIndex) else store).destroy(path)


def _server() -> ModuleType:
    """What speaks to a server. Raises ConfigError without the extra."""
    try:
        from local_rag.index.postgres import store as server
    except ImportError as error:
        raise ConfigError(
            f"an index on a server needs psycopg, which is not installed ({error})",
            hint="pip install 'local-rag[postgres]'",
        ) from error
    return server
