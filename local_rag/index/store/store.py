"""The store of an index: SQLite holds everything, FAISS finds its vectors, FTS5 its words.

One connection per thread. Readers see a snapshot (WAL) while one process at a time writes; every commit changes the
generation, and with its next search a reader takes over what is new.
"""

from __future__ import annotations

import contextlib
import json
import secrets
import shlex
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from sqlite3 import Connection
from typing import Any, TypeVar

from local_rag.core import cancel
from local_rag.core.errors import EarlierIndex, IndexDamaged, IndexMismatch, IndexMissing, LocalRagError
from local_rag.index.store import checks, reads, schema, vectors, writes
from local_rag.index.store import folder as index_folder
from local_rag.index.store.checks import must_be_index, translated_errors
from local_rag.index.store.connection import Connections, create_database, is_locked, write_lock
from local_rag.index.store.folder import (
    DATABASE,
    EARLIER,
    LOCK,
    anew,
    delete_other_vectors,
    has_database,
    our_files,
    sides,
    vectors_file,
)
from local_rag.index.store.schema import IndexSettings
from local_rag.index.store.vectors import StaleFile, VectorFile, VectorIndex

T = TypeVar("T")

PAGES = 1000
"""Pages of FTS5 that one step merges: .3 s. All steps take 3 s for 100,000 passages of 180 words, on one slow core."""


class Store:
    """The files of one index. Any thread may call any method."""

    def __init__(self, folder: Path) -> None:
        """Open what is there. Raises IndexMissing, IndexDamaged, and IndexMismatch for another version."""
        with translated_errors(folder):
            if not has_database(folder):
                raise IndexMissing(f"there is no index at {folder}", hint=anew(folder))
        self.folder = folder
        self._connections = Connections(folder)
        self._vectors: VectorIndex | None = None
        self._vectors_lock = threading.Lock()
        made_with = self.read(_schema)
        if made_with > schema.VERSION:
            raise IndexMismatch(
                f"the index at {folder} was made by a newer version", hint="pip install --upgrade local-rag"
            )
        if made_with < schema.VERSION:
            roots, excludes = self.read(_earlier_roots)
            raise EarlierIndex(
                f"the index at {folder} was made by an earlier version",
                hint=f"{anew(folder, roots, excludes)}   makes it again",
            )
        self.read(reads.settings)

    @classmethod
    def create(cls, folder: Path, settings: IndexSettings) -> Store:
        """Make an empty index, or open the one that is there. Raises UsageError for a folder with other files.

        One of an earlier version is set aside until the new one is whole.
        """
        with translated_errors(folder):
            index_folder.prepare(folder)
            with write_lock(folder):
                if not is_current(folder):
                    create_database(folder, settings)
        return cls(folder)

    @property
    def connection(self) -> Connection:
        """That of this thread; it closes when the thread ends."""
        return self._connections.own.db

    def close(self) -> None:
        """Let go of the memory and of all connections; the next call opens a new one."""
        self._vectors = None
        self._connections.close()

    # --- transactions

    def read(self, lookup: Callable[..., T], *arguments: Any) -> T:
        """Do one lookup of `reads`, which sees one snapshot of the index from its first row to its last."""
        with translated_errors(self.folder):
            return self._connections.read(lookup, *arguments)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Be the only writer of this index. Raises IndexBusy."""
        with contextlib.ExitStack() as held:
            with translated_errors(self.folder):
                held.enter_context(write_lock(self.folder))
            yield

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """One transaction for the statements of `writes`: all of it, or nothing.

        Raises DiskFull and IndexBusy; what was committed before stays.
        """
        with translated_errors(self.folder):
            db = self.connection
            db.execute("BEGIN IMMEDIATE")
            try:
                yield db
                writes.set_meta(db, {"generation": secrets.token_hex(8)})
                db.execute("COMMIT")
            except BaseException:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise

    def forget(self) -> None:
        """Let no byte of the files keep what was removed from the index; nothing to do if nothing was.

        SQLite zeroes what it frees (`PRAGMA secure_delete`), but three places keep more: FTS5 only notes a deletion,
        and drops the words when it merges all it has (https://sqlite.org/fts5.html#the_merge_command); the WAL holds
        pages as they were; the file of vectors is written anew now and then. The caller holds the writer's lock. What
        is interrupted, or held up by a reader, the next writer does. Raises DiskFull and Stopped.
        """
        if not self.read(must_forget):
            return
        with self.writing() as db:
            writes.drop_unused(db)
        for table in ("full_text", "names"):
            pages, more = -PAGES, True
            while more:
                cancel.check()
                with self.writing() as db:
                    more = _merged(db, table, pages)
                pages = PAGES
        if self.read(vectors.holds_gone):
            self._write_vectors()
        with translated_errors(self.folder):
            busy = self.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
        if not busy and not self.read(vectors.holds_gone):
            with self.writing() as db:
                db.execute("DELETE FROM meta WHERE name = ?", (writes.FORGET,))

    def replaced_earlier(self) -> None:
        """Delete the index of an earlier version, in whose place this one is whole now."""
        with translated_errors(self.folder):
            (self.folder / EARLIER).unlink(missing_ok=True)

    # --- vectors

    def search(self, lookup: Callable[..., T], *arguments: Any) -> T:
        """Do one lookup, which is given the rows of `meta` and the vectors of its snapshot before its arguments."""

        def search(db: Connection, whole: bool) -> T:
            meta = reads.meta(db)
            return lookup(db, meta, self._current_vectors(db, meta, whole), *arguments)

        try:
            return self.read(search, False)
        except StaleFile:
            if not is_locked(self.folder):  # a process that is writing makes a new file itself
                self._write_vectors()
            return self.read(search, True)

    def _current_vectors(self, db: Connection, meta: dict[str, str], whole: bool) -> VectorIndex:
        with self._vectors_lock:
            if self._vectors is None or self._vectors.generation != meta["generation"]:
                self._vectors = vectors.load(db, self.folder, meta, self._vectors, whole)
            return self._vectors

    def refresh(self) -> None:
        """Write a new file of vectors if the old one lacks much, or holds much that is gone; no room is no error.

        Files that a killed process left go. The caller holds the writer's lock.
        """
        if self.read(vectors.is_due):
            self._write_vectors()
        delete_other_vectors(self.folder, VectorFile.of(self.read(reads.meta)).token)

    def has_fresh_vectors(self) -> bool:
        """Whether opening reads vectors from their file, and few besides."""
        return not self.read(vectors.is_due)

    def verify(self, *, deep: bool) -> bool:
        """Read all files. Raises IndexDamaged; False if only the file of vectors was not whole, which is made anew."""
        self.read(checks.verify, self.folder, deep)
        whole = self.read(vectors.is_whole, self.folder)
        if not (whole or is_locked(self.folder)):
            self._write_vectors()
        return whole

    def _write_vectors(self) -> None:
        """Write a file, then name it in the database; nothing if it cannot be written."""
        token = secrets.token_hex(8)
        try:
            epoch, file = self.read(vectors.save, self.folder, token)
            with self.writing() as db:
                if reads.meta(db)["epoch"] == epoch and file:
                    writes.set_meta(db, {"vectors": json.dumps(file)})
                elif file is None:
                    db.execute("DELETE FROM meta WHERE name = 'vectors'")
        except IndexDamaged:
            raise
        except LocalRagError:
            with contextlib.suppress(OSError):
                vectors_file(self.folder, token).unlink(missing_ok=True)


def is_current(folder: Path) -> bool:
    """Whether there is an index of this version in a folder."""
    if not has_database(folder):
        return False
    try:
        Store(folder).close()
    except EarlierIndex:
        return False
    return True


def destroy(folder: Path) -> None:
    """Delete the files of an index, and its folder if nothing else is in it; what a kill leaves can be deleted again.

    Raises IndexMissing and IndexBusy.
    """
    with translated_errors(folder):
        must_be_index(folder)
        database, locks = folder / DATABASE, [*sides(folder / LOCK), folder / LOCK]
        with write_lock(folder):
            if has_database(folder):  # one that loses its WAL to a kill must not answer with what it said before
                with contextlib.suppress(sqlite3.Error, LocalRagError):
                    Connections(folder).own.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            for file in our_files(folder):
                if file != database and file not in locks:
                    file.unlink(missing_ok=True)
            database.unlink(missing_ok=True)
        for file in locks:
            file.unlink(missing_ok=True)
        if not any(folder.iterdir()):
            folder.rmdir()


def must_forget(db: Connection) -> bool:
    """Whether something was removed that the files may still hold."""
    return writes.FORGET in reads.meta(db)


def _merged(db: Connection, table: str, pages: int) -> bool:
    """One step towards a single segment without the words of deleted rows; False when there was nothing to do."""
    before = db.total_changes
    db.execute(f"INSERT INTO {table} ({table}, rank) VALUES ('merge', ?)", (pages,))
    return db.total_changes - before >= 2


def _schema(db: Connection) -> int:
    return int(reads.meta(db).get("schema", 0))


def _earlier_roots(db: Connection) -> tuple[list[str], str]:
    """What an index of an earlier version was made of, and its excludes as options."""
    rows = db.execute("SELECT path, excludes FROM roots ORDER BY path").fetchall()
    urls = db.execute("SELECT DISTINCT root FROM files WHERE path LIKE 'http%' ORDER BY root").fetchall()
    excludes = dict.fromkeys(pattern for _, listed in rows for pattern in json.loads(listed))
    options = "".join(f" --exclude {shlex.quote(pattern)}" for pattern in excludes)
    return [row[0] for row in (*rows, *urls)], options
