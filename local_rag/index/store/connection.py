"""Connections to the database of an index: how it is opened, each thread's own, and what one snapshot of it shows."""

from __future__ import annotations

import contextlib
import os
import secrets
import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from local_rag.core.errors import LocalRagError
from local_rag.index.store import schema, writes
from local_rag.index.store.folder import DATABASE, DRAFT, index_name, our_files, sides
from local_rag.index.store.schema import Recipe

T = TypeVar("T")

BUSY_SECONDS = 5.0

_ATTEMPTS, _PAUSE = 20, 0.05
"""How often, and after how many seconds, a read is repeated that another process has disturbed."""


class Connection:
    """A connection to the database of an index; it closes when nobody holds it any more.

    Where the folder or the database cannot be written it only reads. Such a connection sees every commit as long as
    SQLite's files beside the database show it the others. Where there are none, nobody has the database open and all
    is in the database itself, which is then read as it lies there (`unguarded`): what was read counts while
    `is_current`. What a killed process left in the WAL is never passed over.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._seen = _on_disk(folder)
        self.writable = os.access(folder / DATABASE, os.W_OK) and os.access(folder, os.W_OK)
        self.unguarded = not self.writable and _is_closed(folder)
        mode = "rw" if self.writable else "ro&immutable=1" if self.unguarded else "ro"
        if mode == "ro" and not _side(folder, "-shm").exists():
            raise LocalRagError(
                f"the last changes of the index at {folder} are still beside it, and cannot be read without writing",
                hint=f"let somebody who may write there type: local-rag status --index {index_name(folder)}",
            )
        uri = f"{(folder / DATABASE).absolute().as_uri()}?mode={mode}"
        db = sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
        self.db = db
        db.execute("PRAGMA foreign_keys = ON")
        db.execute("PRAGMA trusted_schema = OFF")  # an index may come from another machine
        db.execute("PRAGMA synchronous = NORMAL")
        db.execute("PRAGMA secure_delete = ON")  # forgotten text must not lie about in free pages

    def __del__(self) -> None:
        with contextlib.suppress(sqlite3.Error, AttributeError):
            self.db.close()

    def is_current(self) -> bool:
        """Whether what was read is what the index held all the time."""
        return not self.unguarded or (_is_closed(self._folder) and _on_disk(self._folder) == self._seen)

    def snapshot(self, lookup: Callable[..., T], *arguments: Any) -> T:
        """Do one lookup, which sees one snapshot of the index from its first row to its last."""
        if self.db.in_transaction:
            return lookup(self.db, *arguments)
        self.db.execute("BEGIN")
        try:
            return lookup(self.db, *arguments)
        finally:
            with contextlib.suppress(sqlite3.OperationalError):
                self.db.execute("ROLLBACK")


class Connections:
    """One connection per thread, each of which closes when its thread ends."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._threads = threading.local()

    @property
    def own(self) -> Connection:
        """That of this thread."""
        connection: Connection | None = getattr(self._threads, "connection", None)
        if connection is None:
            connection = self._threads.connection = Connection(self.folder)
        return connection

    def read(self, lookup: Callable[..., T], *arguments: Any) -> T:
        """Do one lookup; again, on a new connection, where another process changed what it could not lock."""
        for attempt in range(_ATTEMPTS):
            connection, failed = None, None
            try:
                connection = self.own
                result = connection.snapshot(lookup, *arguments)
            except Exception as error:
                failed = error
            lasting = connection is not None and (connection.writable or not _passes(failed))
            if connection is not None and lasting and connection.is_current():
                if failed is None:
                    return result
                raise failed
            if failed is not None and attempt == _ATTEMPTS - 1:
                raise failed
            self._threads.connection = None
            time.sleep(_PAUSE)
        raise sqlite3.OperationalError("the index changes all the time")

    def close(self) -> None:
        """Let go of all connections; the next call opens a new one."""
        self._threads = threading.local()


def create_database(folder: Path, recipe: Recipe) -> None:
    """Build the tables under another name: a database that has its name is whole."""
    left_over = {*sides(folder / DATABASE), folder / DRAFT, *sides(folder / DRAFT)}
    for file in left_over.intersection(our_files(folder)):  # of a creation or a removal that was killed
        file.unlink()
    draft = folder / DRAFT
    with contextlib.closing(sqlite3.connect(draft, isolation_level=None)) as db:
        draft.chmod(0o600)
        db.executescript(f"BEGIN; {schema.TABLES} {schema.NEW_TABLES} COMMIT;")
        writes.set_recipe(db, recipe)
        meta = {"schema": str(schema.VERSION), "generation": secrets.token_hex(8), "epoch": secrets.token_hex(8)}
        writes.set_meta(db, meta)
        db.execute("PRAGMA journal_mode = WAL")  # last: what lies in a WAL would not come along, were there no room
    draft.replace(folder / DATABASE)


def _side(folder: Path, side: str) -> Path:
    return folder / f"{DATABASE}{side}"


def _is_closed(folder: Path) -> bool:
    """Whether nobody has the database open, and all of it is in its file.

    A process that reads or writes it keeps a WAL and its shared index: https://sqlite.org/wal.html#readonly
    """
    wal, _, journal = (_size(file) for file in sides(folder / DATABASE))
    live = _side(folder, "-wal").exists() and _side(folder, "-shm").exists()
    return not (wal or journal or live)


def _on_disk(folder: Path) -> tuple[int, int, int]:
    """What changes when anything in the database's file does."""
    with contextlib.suppress(OSError):
        status = (folder / DATABASE).stat()
        return status.st_ino, status.st_size, status.st_mtime_ns
    return 0, 0, 0


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0


def _passes(error: Exception | None) -> bool:
    """Whether it may be the short time in which another process opens or closes the database."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return isinstance(error, sqlite3.Error) and code in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY)
