"""The store: SQLite is the truth, FAISS searches short codes of its vectors.

One connection per thread. Readers see a snapshot (WAL) while one process at a time writes; every commit changes the
generation, and with its next search a reader takes over what is new.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import sqlite3
import threading
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from local_rag.core.errors import DiskFull, IndexBusy, IndexDamaged, IndexMismatch, IndexMissing, LocalRagError
from local_rag.index.store import bm25, codes_file, reads, schema, writes
from local_rag.index.store import folder as index_folder
from local_rag.index.store import vector_index as views
from local_rag.index.store.folder import DATABASE, DRAFT, LOCK, rebuild
from local_rag.index.store.rows import Recipe
from local_rag.index.store.vector_index import View

if TYPE_CHECKING:
    from collections.abc import Callable

    from local_rag.core.protocols import Vectors
    from local_rag.index.store.writes import Sql

T = TypeVar("T")

BUSY_SECONDS = 5.0


class _Held:
    """A connection that closes when the thread that holds it ends."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection

    def __del__(self) -> None:
        with contextlib.suppress(sqlite3.Error):
            self.connection.close()


class Store:
    """The files of one index. Any thread may call any method."""

    def __init__(self, folder: Path) -> None:
        """Open what is there. Raises IndexMissing, IndexDamaged, and IndexMismatch for another schema."""
        if not (folder / DATABASE).is_file():
            raise IndexMissing(f"there is no index at {folder}", hint="local-rag index PATH…")
        self.folder = folder
        self._threads = threading.local()
        self._view: View | None = None
        self._view_lock = threading.Lock()
        self._frequencies = bm25.Frequencies()
        found = self.read(reads.meta).get("schema", "")
        if found != str(schema.VERSION):
            age = "older" if found.isdigit() and int(found) < schema.VERSION else "newer"
            raise IndexMismatch(
                f"the index at {folder} has schema {found or 'none'}, which is {age} than {schema.VERSION}",
                hint=rebuild(folder) if age == "older" else "git pull && python3 scripts/quickstart.py",
            )

    @classmethod
    def create(cls, folder: Path, recipe: Recipe) -> Store:
        """Make an empty index, or open the one that is there. Raises UsageError for a folder with other files."""
        if (folder / DATABASE).is_file():
            return cls(folder)
        with _translated(folder):
            index_folder.prepare(folder)
        with writer(folder), _translated(folder):
            if not (folder / DATABASE).is_file():
                _make(folder, recipe)
        return cls(folder)

    @property
    def _db(self) -> sqlite3.Connection:
        held: _Held | None = getattr(self._threads, "held", None)
        if held is None:
            held = self._threads.held = _Held(_connect(self.folder / DATABASE))
        return held.connection

    def close(self) -> None:
        """Let go of the memory and of all connections; the next call opens a new one."""
        self._view = None
        self._threads = threading.local()

    # --- transactions

    def read(self, lookup: Callable[..., T], *arguments: Any) -> T:
        """Do one lookup of `lookups`, which sees one state of the index from its first row to its last."""
        with _translated(self.folder):
            db = self._db
            if db.in_transaction:
                return lookup(db, *arguments)
            db.execute("BEGIN")
            try:
                return lookup(db, *arguments)
            finally:
                with contextlib.suppress(sqlite3.OperationalError):
                    db.execute("ROLLBACK")

    @contextmanager
    def writing(self, *, vectors_change: bool = False) -> Iterator[Sql]:
        """One transaction for the statements of `tables`: all of it, or nothing.

        Raises DiskFull and IndexBusy; what was committed before stays.
        """
        with self._transaction() as db:
            yield db
            writes.set_meta(db, {"generation": secrets.token_hex(8)})
            if vectors_change:
                writes.set_meta(db, {"epoch": secrets.token_hex(8), "base": ""})

    @contextmanager
    def _transaction(self) -> Iterator[Sql]:
        with _translated(self.folder):
            db = self._db
            db.execute("BEGIN IMMEDIATE")
            try:
                yield db
                db.execute("COMMIT")
            except BaseException:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise

    # --- vectors

    def nearest(
        self, query: Vectors, k: int, files: Collection[int] | None, exclude: Collection[int]
    ) -> list[tuple[int, float]]:
        """(chunk, cosine) of the k chunks nearest to a unit vector (d,), best first; only of these files, if given."""
        found = None
        while found is None:
            view = self._current()
            with _whole(self.folder):
                found = self.read(views.nearest, view, query, k, files, exclude)
        return found

    def matching(
        self, terms: Sequence[str], k: int, files: Collection[int] | None, exclude: Collection[int]
    ) -> list[tuple[int, float]]:
        """(chunk, BM25) of the k best chunks for FTS5 strings, best first, less is better; only of these files."""
        return self.read(bm25.best, self._frequencies, terms, k, files, exclude)

    def cosines(self, query: Vectors, chunks: Collection[int]) -> dict[int, float]:
        """The cosine of a unit vector (d,) to these chunks; chunks that are gone are left out."""
        with _whole(self.folder):
            return self.read(views.cosines, query, chunks)

    def _current(self) -> View:
        """The view of the last commit, made from the one in memory, the file of codes or the database."""
        generation = self.read(reads.meta)["generation"]
        view = self._view
        if view is None or view.generation != generation:
            with self._view_lock, _whole(self.folder):
                view = self._view
                if view is None or view.generation != generation:
                    view = self._view = self._loaded(view)
        return view

    def _loaded(self, old: View | None) -> View:
        for _ in range(2):  # a writer may put a new file in the place of the one that was just named
            view = self.read(views.load, self.folder, old)
            if view is not None:
                return view
        self._publish(patient=False)
        view = self.read(views.load, self.folder, old, True)
        assert view is not None
        return view

    def refresh(self) -> None:
        """Write a new file of codes if the old one lacks much, or holds much that is gone; no room is no error."""
        rows, last = codes_file.extent(self.folder, self.read(reads.meta).get("base", ""))
        if views.overgrown(rows, *self.read(reads.extent, last)):
            with _whole(self.folder):
                self._publish()
            self._view = None

    def cache_is_fresh(self) -> bool:
        """Whether opening reads codes from their file, and few vectors besides."""
        rows, last = codes_file.extent(self.folder, self.read(reads.meta).get("base", ""))
        return not views.overgrown(rows, *self.read(reads.extent, last))

    def _publish(self, patient: bool = True) -> None:
        """Write a file of codes, then say in the database that it is the one; nothing if it cannot be written.

        Who is not `patient` leaves that to the process that is writing to the index, if one is.
        """
        token = secrets.token_hex(8)
        try:
            if not patient and _is_written(self.folder):
                return
            epoch = self.read(views.save, self.folder, token)
            with self._transaction() as db:
                if reads.meta(db)["epoch"] == epoch:
                    writes.set_meta(db, {"base": token})
            codes_file.forget_others(self.folder, self.read(reads.meta).get("base", ""))
        except IndexDamaged:
            raise
        except LocalRagError:
            with contextlib.suppress(OSError):
                codes_file.place(self.folder, token).unlink(missing_ok=True)


def _connect(file: Path) -> sqlite3.Connection:
    """A connection; where nothing may be written it takes no locks, which would be files beside the database."""
    mode = "rw" if os.access(file, os.W_OK) and os.access(file.parent, os.W_OK) else "ro&immutable=1"
    uri = f"{file.absolute().as_uri()}?mode={mode}"
    db = sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    db.execute("PRAGMA foreign_keys = ON")
    db.execute("PRAGMA trusted_schema = OFF")  # an index may come from another machine
    db.execute("PRAGMA synchronous = NORMAL")
    db.execute("PRAGMA secure_delete = ON")  # forgotten text must not lie about in free pages
    return db


def _make(folder: Path, recipe: Recipe) -> None:
    """Build the tables beside their place: a database that has its name is whole."""
    draft = folder / DRAFT
    for left_over in folder.glob(f"{DRAFT}*"):
        left_over.unlink()
    with contextlib.closing(sqlite3.connect(draft, isolation_level=None)) as db:
        draft.chmod(0o600)
        db.execute("PRAGMA journal_mode = WAL")
        db.executescript(f"BEGIN; {schema.TABLES} COMMIT;")
        writes.set_recipe(db, recipe)
        state = {"schema": str(schema.VERSION), "generation": secrets.token_hex(8), "epoch": secrets.token_hex(8)}
        writes.set_meta(db, state)
    draft.replace(folder / DATABASE)


@contextmanager
def writer(folder: Path) -> Iterator[None]:
    """Be the one process and thread that changes this index; the lock ends with the process, however that ends.

    Raises IndexBusy if another one still is after `BUSY_SECONDS`.
    """
    with _translated(folder):
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


def _is_written(folder: Path) -> bool:
    """Whether a process holds the writer's lock just now."""
    if not (folder / LOCK).exists():
        return False
    try:
        with contextlib.closing(sqlite3.connect(folder / LOCK, timeout=0, isolation_level=None)) as db:
            db.execute("BEGIN EXCLUSIVE")
    except sqlite3.Error:
        return True
    return False


def destroy(folder: Path) -> None:
    """Delete the files of an index, and its folder if nothing else is in it. Raises IndexMissing and IndexBusy."""
    index_folder.must_be_index(folder)
    with writer(folder), _translated(folder):
        for file in index_folder.our_files(folder):
            if file.name != LOCK:
                file.unlink(missing_ok=True)
    with _translated(folder):
        (folder / LOCK).unlink(missing_ok=True)
        if not any(folder.iterdir()):
            folder.rmdir()


@contextmanager
def _whole(folder: Path) -> Iterator[None]:
    """A chunk without a whole vector as an error of ours."""
    try:
        yield
    except ValueError as error:
        raise IndexDamaged(f"the index at {folder} has lost vectors", hint=rebuild(folder)) from error


@contextmanager
def _translated(folder: Path) -> Iterator[None]:
    """Errors of SQLite and of the disk as ours. Result codes: https://sqlite.org/rescode.html"""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code == sqlite3.SQLITE_FULL:
            raise _full(folder) from error
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise IndexBusy(
                f"another process is writing to the index at {folder}",
                hint="wait until it is done, then type the same command again",
            ) from error
        if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR):
            raise IndexDamaged(f"the index at {folder} is damaged: {error}", hint=rebuild(folder)) from error
        if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN):
            raise _forbidden(folder) from error
        raise LocalRagError(f"the index at {folder} cannot be used: {error}", hint="local-rag doctor") from error
    except PermissionError as error:
        raise _forbidden(folder) from error
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise _full(folder) from error
        raise LocalRagError(f"the index at {folder} cannot be used: {error}", hint="local-rag doctor") from error


def _forbidden(folder: Path) -> LocalRagError:
    return LocalRagError(
        f"the index at {folder} may not be written",
        hint="make that folder yours, or put the index elsewhere: --index PATH",
    )


def _full(folder: Path) -> DiskFull:
    return DiskFull(
        f"no space left for the index at {folder}; what it already holds is kept",
        hint="free some space on that disk, then type the same command again: it goes on where it stopped",
    )
