"""The store of an index: SQLite holds everything, FAISS finds its vectors, FTS5 its words.

One connection per thread. Readers see a snapshot (WAL) while one process at a time writes; every commit changes the
generation, and with its next search a reader takes over what is new.
"""

from __future__ import annotations

import contextlib
import json
import secrets
import sqlite3
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from local_rag.core import cancel
from local_rag.core.errors import EarlierIndex, IndexMismatch, IndexMissing, LocalRagError
from local_rag.index.store import checks, reads, schema, vectors, writes
from local_rag.index.store import folder as index_folder
from local_rag.index.store.checks import must_be_index, translated_errors
from local_rag.index.store.connection import (
    Connection,
    create_database,
    is_locked,
    write_lock,
)
from local_rag.index.store.database import Database
from local_rag.index.store.folder import (
    anew,
    delete_all,
    delete_other_vectors,
    has_database,
    our_files,
    vectors_file,
)
from local_rag.index.store.schema import IndexSettings
from local_rag.index.store.vectors import VectorIndex

T = TypeVar("T")


class Store:
    """The files of one index. Any thread may call any method."""

    def __init__(self, folder: Path) -> None:
        """Open what is there. Raises IndexMissing, IndexDamaged, and IndexMismatch for another version."""
        with translated_errors(folder):
            if not has_database(folder):
                raise IndexMissing(f"there is no index at {folder}", hint=anew(folder))
        self.folder = folder
        self._threads = threading.local()
        self._vectors: VectorIndex | None = None
        self._vectors_lock = threading.Lock()
        made_with = int(self.read(reads.meta).get("schema", 0))
        if made_with > schema.VERSION:
            raise IndexMismatch(
                f"the index at {folder} was made by a newer version", hint="pip install --upgrade local-rag"
            )
        if made_with < schema.VERSION:
            raise EarlierIndex(
                f"the index at {folder} was made by an earlier version", hint=f"{anew(folder)}   makes it again"
            )
        self.read(reads.settings)

    @classmethod
    def create(cls, folder: Path, settings: IndexSettings) -> Store:
        """Make an empty index, also in the place of an earlier version's, or open the one that is there.

        Raises UsageError for a folder with other files.
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
        known: Connection | None = getattr(self._threads, "connection", None)
        if known is None or not known.is_kept:
            known = self._threads.connection = Connection(self.folder)
        return known

    def close(self) -> None:
        """Let go of the memory and of all connections; the next call opens a new one."""
        self._vectors = None
        self._threads = threading.local()

    # --- transactions

    def read(self, lookup: Callable[..., T], *arguments: Any) -> T:
        """Do one lookup of `reads`, which sees one snapshot of the index from its first row to its last."""
        with translated_errors(self.folder):
            return self.connection.snapshot(lookup, *arguments)

    @contextmanager
    def locked(self, roots: Collection[str] = (), *, alone: bool = False) -> Iterator[None]:
        """Be the only writer of this index. Raises IndexBusy.

        On a server there may be others, but none of the same `roots`; none at all where this one is `alone`.
        """
        with contextlib.ExitStack() as held:
            with translated_errors(self.folder):
                held.enter_context(write_lock(self.folder))
            yield

    @contextmanager
    def writing(self) -> Iterator[Database]:
        """One transaction for the statements of `writes`: all of it, or nothing.

        Raises DiskFull and IndexBusy; what was committed before stays.
        """
        with translated_errors(self.folder):
            db = self.connection.db
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
        and drops the words when it merges all it has (https://sqlite.org/fts5.html#the_optimize_command: 3 s for
        100,000 passages); the WAL holds pages as they were; the file of vectors is written anew now and then. The
        caller holds the writer's lock. What is interrupted, or held up by a reader, the next writer does. Raises
        DiskFull and Stopped.
        """
        if not self.read(must_forget):
            return
        cancel.check()
        with self.writing() as db:
            writes.drop_unused(db)
            for table in ("full_text", "names"):
                db.execute(f"INSERT INTO {table} ({table}) VALUES ('optimize')")
        if self.read(vectors.gone):
            self._write_vectors(self.read(vectors.renewed, self.folder))
        with translated_errors(self.folder):
            busy = self.connection.db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
        if not busy and not self.read(vectors.gone):
            with self.writing() as db:
                db.execute("DELETE FROM meta WHERE name = ?", (writes.FORGET,))

    # --- vectors

    def search(self, lookup: Callable[..., T], *arguments: Any) -> T:
        """Do one lookup, which is given the rows of `meta` and the vectors of its snapshot before its arguments."""

        def search(db: sqlite3.Connection) -> T:
            meta = reads.meta(db)
            return lookup(db, meta, self._current_vectors(db, meta), *arguments)

        before = self._vectors
        result = self.read(search)
        if (now := self._vectors) is not None and now is not before and now.is_unsaved and not is_locked(self.folder):
            self._write_vectors(now)  # a process that is writing makes a file itself
        return result

    def _current_vectors(self, db: sqlite3.Connection, meta: dict[str, str]) -> VectorIndex:
        with self._vectors_lock:
            if self._vectors is None or self._vectors.generation != meta["generation"]:
                self._vectors = vectors.load(db, self.folder, meta, self._vectors)
            return self._vectors

    def refresh(self) -> None:
        """Write a new file of vectors if the old one lacks much, or holds much that is gone; no room is no error.

        The caller holds the writer's lock.
        """
        if self.read(vectors.is_due):
            self._write_vectors(self.read(vectors.renewed, self.folder))

    def verify(self, *, deep: bool) -> bool:
        """Read all files. Raises IndexDamaged; False if only the file of vectors was not whole, which is made anew."""
        self.read(checks.verify, self.folder, deep)
        whole = self.read(vectors.is_whole, self.folder)
        if not (whole or is_locked(self.folder)):
            self._write_vectors(self.read(vectors.renewed, self.folder))
        return whole

    def _write_vectors(self, renewed: VectorIndex) -> None:
        """Write a file, name it in the database, and delete any others; nothing where it cannot be written."""
        token = secrets.token_hex(8)
        try:
            values = {"vectors": json.dumps(vectors.save(self.folder, renewed, token))} if renewed.is_unsaved else {}
            with self.writing() as db:
                if reads.meta(db)["epoch"] == renewed.epoch:
                    db.execute("DELETE FROM meta WHERE name = 'vectors'")
                    writes.set_meta(db, values)
            delete_other_vectors(self.folder, token)
        except (OSError, RuntimeError, LocalRagError):
            with contextlib.suppress(OSError):
                vectors_file(self.folder, token).unlink(missing_ok=True)


def is_current(folder: Path) -> bool:
    """Whether there is an index of this version in a folder."""
    try:
        Store(folder).close()
    except (IndexMissing, EarlierIndex):
        return False
    return True


def destroy(folder: Path) -> None:
    """Delete the files of an index, and its folder if nothing else is in it; what a kill leaves can be deleted again.

    Raises IndexMissing and IndexBusy.
    """
    with translated_errors(folder):
        must_be_index(folder)
        with write_lock(folder):
            delete_all(folder)
        for file in our_files(folder):
            file.unlink(missing_ok=True)
        if not any(folder.iterdir()):
            folder.rmdir()


def must_forget(db: Database) -> bool:
    """Whether something was removed that the files may still hold."""
    return writes.FORGET in reads.meta(db)
