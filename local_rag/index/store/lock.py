"""The writer's lock of an index, which ends with the process that holds it, however that ends."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from local_rag.core.errors import LocalRagError
from local_rag.index.store import connection
from local_rag.index.store.errors import translated_errors
from local_rag.index.store.folder import LOCK, quoted


@contextmanager
def write_lock(folder: Path) -> Iterator[None]:
    """Be the one process and thread that changes this index. Raises IndexBusy if another still is one then."""
    with translated_errors(folder):
        db = sqlite3.connect(folder / LOCK, timeout=connection.BUSY_SECONDS, isolation_level=None)
        try:
            (folder / LOCK).chmod(0o600)
            _lock(db)
        except BaseException as error:
            db.close()
            if getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_NOTADB:
                raise _no_lock(folder / LOCK) from error
            raise
    try:
        yield
    finally:
        db.close()


def is_locked(folder: Path) -> bool:
    """Whether a process holds the writer's lock just now."""
    if not (folder / LOCK).exists():
        return False
    try:
        with contextlib.closing(sqlite3.connect(folder / LOCK, timeout=0, isolation_level=None)) as db:
            _lock(db)
    except sqlite3.Error:
        return True
    return False


def _no_lock(file: Path) -> LocalRagError:
    return LocalRagError(
        f"{file} is empty as long as it is ours, and now it is not", hint=f"rm {quoted(file)}   then the same command"
    )


def _lock(db: sqlite3.Connection) -> None:
    """Nothing is ever written: without a journal on disk the lock can be had on a full one, too."""
    db.execute("PRAGMA journal_mode = MEMORY")
    db.execute("BEGIN EXCLUSIVE")
