"""Connections to the database of an index: how one is opened, the writer's lock, and SQLite's errors as ours."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from local_rag.core.errors import DiskFull, IndexBusy, IndexDamaged, LocalRagError
from local_rag.index.store import schema, writes
from local_rag.index.store.folder import DATABASE, DRAFT, LOCK, rebuild
from local_rag.index.store.schema import Recipe

BUSY_SECONDS = 5.0


def connect(folder: Path) -> sqlite3.Connection:
    """A connection; where nothing may be written it takes no locks, which would be files beside the database."""
    file = folder / DATABASE
    mode = "rw" if os.access(file, os.W_OK) and os.access(folder, os.W_OK) else "ro&immutable=1"
    uri = f"{file.absolute().as_uri()}?mode={mode}"
    db = sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    db.execute("PRAGMA foreign_keys = ON")
    db.execute("PRAGMA trusted_schema = OFF")  # an index may come from another machine
    db.execute("PRAGMA synchronous = NORMAL")
    db.execute("PRAGMA secure_delete = ON")  # forgotten text must not lie about in free pages
    return db


def create_database(folder: Path, recipe: Recipe) -> None:
    """Build the tables under another name: a database that has its name is whole."""
    for left_over in folder.glob(f"{DRAFT}*"):
        left_over.unlink()
    draft = folder / DRAFT
    with contextlib.closing(sqlite3.connect(draft, isolation_level=None)) as db:
        draft.chmod(0o600)
        db.execute("PRAGMA journal_mode = WAL")
        db.executescript(f"BEGIN; {schema.TABLES} {schema.NEW_TABLES} COMMIT;")
        writes.set_recipe(db, recipe)
        meta = {"schema": str(schema.VERSION), "generation": secrets.token_hex(8), "epoch": secrets.token_hex(8)}
        writes.set_meta(db, meta)
    draft.replace(folder / DATABASE)


@contextmanager
def write_lock(folder: Path) -> Iterator[None]:
    """Be the one process and thread that changes this index; the lock ends with the process, however that ends.

    Raises IndexBusy if another one still is after `BUSY_SECONDS`.
    """
    with translated_errors(folder):
        db = sqlite3.connect(folder / LOCK, timeout=BUSY_SECONDS, isolation_level=None)
        try:
            (folder / LOCK).chmod(0o600)
            db.execute("BEGIN EXCLUSIVE")
        except BaseException:
            db.close()
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
            db.execute("BEGIN EXCLUSIVE")
    except sqlite3.Error:
        return True
    return False


@contextmanager
def translated_errors(folder: Path) -> Iterator[None]:
    """Errors of SQLite and of the disk as ours. Result codes: https://sqlite.org/rescode.html"""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise _translated(folder, error) from error


def _translated(folder: Path, error: sqlite3.Error | OSError) -> LocalRagError:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    number = error.errno if isinstance(error, OSError) else None
    if code == sqlite3.SQLITE_FULL or number in (errno.ENOSPC, errno.EDQUOT):
        return DiskFull(
            f"no space left for the index at {folder}; what it already holds is kept",
            hint="free some space on that disk, then type the same command again: it continues where it stopped",
        )
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return IndexBusy(
            f"another process is writing to the index at {folder}",
            hint="wait until it is done, then type the same command again",
        )
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR):
        return IndexDamaged(f"the index at {folder} is damaged: {error}", hint=rebuild(folder))
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN) or isinstance(error, PermissionError):
        return LocalRagError(
            f"you have no permission to write the index at {folder}",
            hint="make that folder yours, or put the index elsewhere: --index PATH",
        )
    return LocalRagError(f"the index at {folder} cannot be used: {error}", hint="local-rag doctor")
