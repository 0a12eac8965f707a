"""Connections to the database of an index: how it is made and opened, the writer's lock, and snapshots."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import sqlite3
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

from local_rag.core.errors import LocalRagError
from local_rag.index.store.commands import index_name
from local_rag.index.store.files import VERSION
from local_rag.index.store.sqlite.folder import (
    DATABASE,
    DRAFT,
    LOCK,
    has_database,
    our_files,
    sides,
)
from local_rag.index.store.sqlite.schema import TABLES
from local_rag.index.store.values import IndexSettings

T = TypeVar("T")

BUSY_SECONDS = 5.0


class Connection:
    """A connection to the database of an index; it closes when nobody holds it any more.

    Where the folder or the database cannot be written it only reads. Where not even SQLite's files beside the database
    can be made, it reads the database file alone, unless its WAL holds changes; `is_kept` is False then, and the next
    read opens another connection.
    """

    def __init__(self, folder: Path) -> None:
        self.is_kept = True
        try:
            self.db = _connected(folder, "rw" if writable(folder) else "ro")
        except sqlite3.OperationalError as error:
            if writable(folder) or primary_code(error) not in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY):
                raise
            if any(file.exists() and file.stat().st_size for file in sides(folder / DATABASE)):
                raise LocalRagError(
                    f"the last changes of the index at {folder} lie beside it, and cannot be read without writing",
                    hint=f"let somebody who may write there type: local-rag status --index {index_name(folder)}",
                ) from error
            self.db, self.is_kept = _connected(folder, "ro&immutable=1"), False
        # No __del__: in a cycle of garbage it may run after SQLite's own, which warns of what was not closed.
        weakref.finalize(self, self.db.close).atexit = False  # a thread may be at work with it then

    def snapshot(self, work: Callable[[], T]) -> T:
        """Run some work that sees one state of the index from its first row to its last."""
        if self.db.in_transaction:
            return work()
        self.db.execute("BEGIN")
        try:
            return work()
        finally:
            with contextlib.suppress(sqlite3.OperationalError):
                self.db.execute("ROLLBACK")

    def execute(self, sql: str, values: Sequence[object] = ()) -> list[Any]:
        """Return the rows of a statement with these values; a list is passed as JSON, for SQLite takes few
        parameters.
        """
        return self.db.execute(sql, _named(values)).fetchall()

    def many(self, sql: str, rows: Iterable[Sequence[object]]) -> None:
        self.db.executemany(sql, map(_named, rows))


_NUMBERS = [str(number) for number in range(1, 100)]


def _named(values: Sequence[object]) -> dict[str, object]:
    """Return the values by the names $1, $2, …"""
    if list in map(type, values):
        values = [json.dumps(each) if isinstance(each, list) else each for each in values]
    return dict(zip(_NUMBERS, values, strict=False))


def _connected(folder: Path, mode: str) -> sqlite3.Connection:
    uri = f"{(folder / DATABASE).absolute().as_uri()}?mode={mode}"
    db = sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    try:
        db.execute("SELECT 1 FROM sqlite_schema")  # opens the files beside it
    except BaseException:
        db.close()
        raise
    db.execute("PRAGMA foreign_keys = ON")
    db.execute("PRAGMA trusted_schema = OFF")  # an index may come from another machine
    db.execute("PRAGMA synchronous = NORMAL")
    db.execute("PRAGMA secure_delete = ON")  # forgotten text must not lie about in free pages
    return db


def writable(folder: Path) -> bool:
    """Return whether this process may change the index."""
    return os.access(folder / DATABASE, os.W_OK) and os.access(folder, os.W_OK)


def create_database(folder: Path, settings: IndexSettings) -> None:
    """Build the tables under another name, then rename the file: a database under its own name is whole.

    It replaces that of an earlier version.
    """
    for file in our_files(folder):  # of a creation or a removal that was killed
        if file.name.startswith(DRAFT) or (file.name.startswith(DATABASE) and not has_database(folder)):
            file.unlink()
    draft = folder / DRAFT
    with contextlib.closing(sqlite3.connect(draft, isolation_level=None)) as db:
        draft.chmod(0o600)
        db.executescript(f"BEGIN; {TABLES} COMMIT;")
        meta = {"schema": VERSION, "generation": secrets.token_hex(8), "epoch": secrets.token_hex(8)}
        rows = [(name, str(value)) for name, value in {**asdict(settings), **meta}.items()]
        db.executemany("INSERT INTO meta VALUES (?, ?)", rows)
        db.execute("PRAGMA journal_mode = WAL")  # last: what lies in a WAL would not come along, were there no room
    if has_database(folder):
        with contextlib.closing(sqlite3.connect(folder / DATABASE, isolation_level=None)) as db:
            db.execute("PRAGMA journal_mode = DELETE")  # no log of it lies beside the new one then
    draft.replace(folder / DATABASE)


@contextmanager
def write_lock(folder: Path) -> Iterator[None]:
    """Hold the lock of the one process and thread that changes this index; it ends with the process, however that ends.

    Raises sqlite3.OperationalError where another still holds it after BUSY_SECONDS.
    """
    lock = folder / LOCK
    with contextlib.closing(sqlite3.connect(lock, timeout=BUSY_SECONDS, isolation_level=None)) as db:
        lock.chmod(0o600)
        db.execute("PRAGMA journal_mode = MEMORY")  # without a journal on disk it can be had on a full one, too
        db.execute("BEGIN EXCLUSIVE")
        yield


def primary_code(error: BaseException) -> int:
    """Return SQLite's primary result code, 0 for any other error: https://sqlite.org/rescode.html"""
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF
