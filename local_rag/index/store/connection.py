"""Connections to the database of an index: how it is made and opened, the writer's lock, and what one snapshot
shows.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

from local_rag.core.errors import LocalRagError
from local_rag.index.store import schema
from local_rag.index.store.folder import (
    DATABASE,
    DRAFT,
    EARLIER,
    LOCK,
    has_database,
    index_name,
    our_files,
    quoted,
    sides,
)

T = TypeVar("T")

BUSY_SECONDS = 5.0

_ATTEMPTS, _PAUSE = 20, 0.05
"""How often, and after how many seconds, a read is repeated that another process has disturbed."""


class Connection:
    """A connection to the database of an index; it closes when nobody holds it any more.

    Where the folder or the database cannot be written it only reads. Where not even SQLite's files beside the database
    can be made, the database is read as it lies there (`immutable`): what was read counts while `is_current`. What a
    killed process left in the WAL is never passed over.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._seen = _on_disk(folder)
        self.writable = os.access(folder / DATABASE, os.W_OK) and os.access(folder, os.W_OK)
        self.immutable = False
        try:
            self.db = _connected(folder, "rw" if self.writable else "ro")
        except sqlite3.OperationalError as error:
            if self.writable or primary_code(error) not in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY):
                raise
            if not _is_closed(folder):
                raise LocalRagError(
                    f"the last changes of the index at {folder} lie beside it, and cannot be read without writing",
                    hint=f"let somebody who may write there type: local-rag status --index {index_name(folder)}",
                ) from error
            self.immutable = True
            self.db = _connected(folder, "ro&immutable=1")
        self.db.execute("PRAGMA foreign_keys = ON")
        self.db.execute("PRAGMA trusted_schema = OFF")  # an index may come from another machine
        self.db.execute("PRAGMA synchronous = NORMAL")
        self.db.execute("PRAGMA secure_delete = ON")  # forgotten text must not lie about in free pages

    def __del__(self) -> None:
        with contextlib.suppress(sqlite3.Error, AttributeError):
            self.db.close()

    def is_current(self) -> bool:
        """Whether what was read is what the index held all the time."""
        return not self.immutable or (_is_closed(self._folder) and _on_disk(self._folder) == self._seen)

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
        """Do one lookup; again, on a new connection, where another process changed what could not be locked."""
        for attempt in range(_ATTEMPTS):
            try:
                connection = self.own
                result = connection.snapshot(lookup, *arguments)
                if connection.is_current():
                    return result
            except sqlite3.Error as error:
                known = getattr(self._threads, "connection", None)
                passing = primary_code(error) in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY)
                disturbed = passing if known is None else not known.writable and (passing or not known.is_current())
                if not disturbed or attempt == _ATTEMPTS - 1:
                    raise
            self._threads.connection = None
            time.sleep(_PAUSE)
        raise sqlite3.OperationalError("the index changes all the time")

    def close(self) -> None:
        """Let go of all connections; the next call opens a new one."""
        self._threads = threading.local()


def create_database(folder: Path, settings: schema.IndexSettings) -> None:
    """Build the tables under another name: a database that has its name is whole.

    One of another schema is set aside until the new one is whole, too.
    """
    left_over = {*sides(folder / DRAFT), folder / DRAFT}
    if not has_database(folder):
        left_over |= {*sides(folder / DATABASE)}
    for file in left_over.intersection(our_files(folder)):  # of a creation or a removal that was killed
        file.unlink()
    draft = folder / DRAFT
    with contextlib.closing(sqlite3.connect(draft, isolation_level=None)) as db:
        draft.chmod(0o600)
        db.executescript(f"BEGIN; {schema.TABLES} COMMIT;")
        meta = {"schema": schema.VERSION, "generation": secrets.token_hex(8), "epoch": secrets.token_hex(8)}
        rows = [(name, str(value)) for name, value in {**asdict(settings), **meta}.items()]
        db.executemany("INSERT INTO meta VALUES (?, ?)", rows)
        db.execute("PRAGMA journal_mode = WAL")  # last: what lies in a WAL would not come along, were there no room
    if has_database(folder):
        with contextlib.closing(sqlite3.connect(folder / DATABASE, isolation_level=None)) as db:
            db.execute("PRAGMA journal_mode = DELETE")  # all of it is in its file then
        (folder / DATABASE).replace(folder / EARLIER)
    draft.replace(folder / DATABASE)


@contextmanager
def write_lock(folder: Path) -> Iterator[None]:
    """Be the one process and thread that changes this index; the lock ends with the process, however that ends.

    Raises sqlite3.OperationalError where another still is one after BUSY_SECONDS.
    """
    db = sqlite3.connect(folder / LOCK, timeout=BUSY_SECONDS, isolation_level=None)
    try:
        (folder / LOCK).chmod(0o600)
        _lock(db)
    except sqlite3.DatabaseError as error:
        db.close()
        if primary_code(error) == sqlite3.SQLITE_NOTADB:
            raise LocalRagError(
                f"{folder / LOCK} is empty as long as it is ours, and now it is not",
                hint=f"rm {quoted(folder / LOCK)}   then the same command",
            ) from error
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


def primary_code(error: BaseException) -> int:
    """SQLite's primary result code, 0 for any other error: https://sqlite.org/rescode.html"""
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


def _connected(folder: Path, mode: str) -> sqlite3.Connection:
    uri = f"{(folder / DATABASE).absolute().as_uri()}?mode={mode}"
    db = sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    try:
        db.execute("SELECT 1 FROM sqlite_schema")  # opens the files beside it
    except BaseException:
        db.close()
        raise
    return db


def _lock(db: sqlite3.Connection) -> None:
    """Nothing is ever written: without a journal on disk the lock can be had on a full one, too."""
    db.execute("PRAGMA journal_mode = MEMORY")
    db.execute("BEGIN EXCLUSIVE")


def _is_closed(folder: Path) -> bool:
    """Whether nothing of the database lies beside its file."""
    wal, _, journal = (_size(file) for file in sides(folder / DATABASE))
    return not (wal or journal)


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
