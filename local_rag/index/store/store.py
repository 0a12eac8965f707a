"""The store of an index: SQLite holds everything, FAISS searches its vectors, FTS5 its words.

One connection per thread. Readers see a snapshot (WAL) while one process at a time writes; every commit changes the
generation, and with its next search a reader takes over what is new.
"""

from __future__ import annotations

import contextlib
import secrets
import threading
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from local_rag.core import cancel
from local_rag.core.errors import IndexDamaged, IndexMismatch, IndexMissing, LocalRagError
from local_rag.index.store import (
    bm25,
    embedded,
    forgetting,
    full_text,
    quantized_vectors,
    reads,
    reuse,
    schema,
    shapes,
    upgrade,
    vector_index,
    writes,
)
from local_rag.index.store import folder as index_folder
from local_rag.index.store.connection import Connections, create_database
from local_rag.index.store.errors import damaged, translated_errors
from local_rag.index.store.folder import anew, beside, delete_other_vectors, has_database, vectors_file
from local_rag.index.store.lock import is_locked, write_lock
from local_rag.index.store.schema import Recipe
from local_rag.index.store.vector_index import VectorIndex

if TYPE_CHECKING:
    from collections.abc import Callable
    from sqlite3 import Connection

    from local_rag.core.protocols import Vectors
    from local_rag.index.store.selection import Selection

T = TypeVar("T")


class Store:
    """The files of one index. Any thread may call any method."""

    def __init__(self, folder: Path) -> None:
        """Open what is there. Raises IndexMissing, IndexDamaged, and IndexMismatch for another schema."""
        with translated_errors(folder):
            if not has_database(folder):
                raise IndexMissing(f"there is no index at {folder}", hint=anew(folder))
        self.folder = folder
        self._connections = Connections(folder)
        self._vectors: VectorIndex | None = None
        self._vectors_lock = threading.Lock()
        self._frequencies = bm25.Frequencies()
        gap = self.read(reads.gap)
        if gap:
            raise damaged(folder, gap)
        version = self.read(reads.meta)["schema"]
        if not (version.isdigit() and schema.OLDEST <= int(version) <= schema.VERSION):
            age = "older" if version.isdigit() and int(version) < schema.OLDEST else "newer"
            raise IndexMismatch(
                f"the index at {folder} has schema {version!r}, which is {age} than {schema.VERSION}",
                hint=anew(beside(folder, "new")) if age == "older" else "git pull && python3 scripts/quickstart.py",
            )

    @classmethod
    def create(cls, folder: Path, recipe: Recipe) -> Store:
        """Make an empty index, or open the one that is there. Raises UsageError for a folder with other files."""
        with translated_errors(folder):
            if has_database(folder):
                return cls(folder)
            index_folder.prepare(folder)
        with write_lock(folder), translated_errors(folder):
            if not has_database(folder):
                create_database(folder, recipe)
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
        """Be the only writer of this index, which gets today's schema. Raises IndexBusy."""
        with write_lock(self.folder):
            if self.read(shapes.is_behind):
                with self._transaction() as db:
                    upgrade.add_tables(db)
            yield

    @contextmanager
    def writing(self, *, vectors_change: bool = False) -> Iterator[Connection]:
        """One transaction for the statements of `writes`: all of it, or nothing.

        Raises DiskFull and IndexBusy; what was committed before stays.
        """
        with self._transaction() as db:
            yield db
            writes.set_meta(db, {"generation": secrets.token_hex(8)})
            if vectors_change:
                writes.set_meta(db, {"epoch": secrets.token_hex(8), "base": ""})

    @contextmanager
    def _transaction(self) -> Iterator[Connection]:
        with translated_errors(self.folder):
            db = self.connection
            db.execute("BEGIN IMMEDIATE")
            try:
                yield db
                db.execute("COMMIT")
            except BaseException:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise

    def forget(self) -> None:
        """Let no byte of the files keep what was removed from the index; nothing to do if nothing was.

        The caller holds the writer's lock. What is interrupted, or held up by a reader, the next writer does. Raises
        DiskFull and Stopped.
        """
        if not self.read(forgetting.is_due):
            return
        with self._transaction() as db:
            reuse.drop_spare(db)
        while self.read(full_text.has_retired):
            cancel.check()
            with self._transaction() as db:
                full_text.drop_step(db)
        first = more = True
        while more:
            cancel.check()
            with self._transaction() as db:
                more = forgetting.merge(db, first=first)
            first = False
        if self.read(vector_index.gone, self.folder):
            self._write_vectors_file()
            self._vectors = None
        with translated_errors(self.folder):
            emptied = forgetting.empty_wal(self.connection)
        if emptied and not self.read(vector_index.gone, self.folder):
            with self._transaction() as db:
                forgetting.done(db)

    # --- search

    def nearest(
        self, query: Vectors, k: int, chosen: Selection | None, exclude: Collection[int]
    ) -> list[tuple[int, float]]:
        """(chunk, cosine) of the k chunks nearest to a unit vector (d,), best first; only chosen ones, if given."""
        ranking = None
        while ranking is None:
            vectors = self._current_vectors()
            with self._lost_vectors_are_damage():
                ranking = self.read(vector_index.nearest, vectors, query, k, chosen, exclude)
        return ranking

    def matching(
        self,
        terms: Sequence[str],
        k: int,
        chosen: Selection | None,
        exclude: Collection[int],
        weights: Sequence[float] = full_text.WEIGHTS,
    ) -> list[tuple[int, float]]:
        """(chunk, BM25) of the k best chunks for FTS5 strings, best first, less is better; only of the chosen ones.

        `weights` are those of the columns, see `full_text.COLUMNS`.
        """
        return self.read(bm25.best, self._frequencies, terms, k, chosen, exclude, weights)

    def highest(self, terms: Sequence[str]) -> float:
        """What the BM25 of any text for these terms stays below, names of files aside; 0 where none of them occurs."""
        return self.read(bm25.highest, self._frequencies, terms)

    def cosines(self, query: Vectors, chunks: Collection[int]) -> dict[int, float]:
        """The cosine of a unit vector (d,) to these chunks; those that are gone or have no vector are left out."""
        with self._lost_vectors_are_damage():
            return self.read(vector_index.cosines, query, chunks)

    def _current_vectors(self) -> VectorIndex:
        """The vectors of the last commit, made from those in memory, the file or the database."""
        generation = self.read(reads.meta)["generation"]
        vectors = self._vectors
        if vectors is None or vectors.generation != generation:
            with self._vectors_lock, self._lost_vectors_are_damage():
                vectors = self._vectors
                if vectors is None or vectors.generation != generation:
                    vectors = self._vectors = self._loaded(vectors)
        return vectors

    def _loaded(self, old: VectorIndex | None) -> VectorIndex:
        for _ in range(2):  # a writer may put a new file in the place of the one that was just named
            vectors = self.read(vector_index.load, self.folder, old)
            if vectors is not None:
                return vectors
        if not is_locked(self.folder):  # a process that is writing makes a new file itself
            self._write_vectors_file()
        vectors = self.read(vector_index.load, self.folder, old, True)
        assert vectors is not None
        return vectors

    @contextmanager
    def _lost_vectors_are_damage(self) -> Iterator[None]:
        try:
            yield
        except ValueError as error:
            raise damaged(self.folder, str(error)) from error

    # --- the file of quantized vectors

    def refresh(self) -> None:
        """Write a new file if the old one lacks much, or holds much that is gone; no room is no error.

        Files that a killed process left go. The caller holds the writer's lock.
        """
        if self.cache_is_fresh():
            delete_other_vectors(self.folder, self.read(reads.meta).get("base", ""))
            return
        with self._lost_vectors_are_damage():
            self._write_vectors_file()
        self._vectors = None

    def mend_vectors_file(self, *, deep: bool = False) -> bool:
        """False if the file was not whole, and is made anew; `deep` compares all of it with the database."""
        whole = self.read(vector_index.file_is_whole, self.folder, deep)
        if not (whole or is_locked(self.folder)):
            self._write_vectors_file()
            self._vectors = None
        return whole

    def cache_is_fresh(self) -> bool:
        """Whether opening reads vectors from their file, and few besides."""
        token = self.read(reads.meta).get("base", "")
        rows, last = quantized_vectors.extent(vectors_file(self.folder, token))
        return not vector_index.overgrown(rows, *self.read(embedded.extent, last))

    def _write_vectors_file(self) -> None:
        """Write a file, then name it in the database; nothing if it cannot be written."""
        token = secrets.token_hex(8)
        try:
            epoch = self.read(vector_index.save, self.folder, token)
            with self._transaction() as db:
                if reads.meta(db)["epoch"] == epoch:
                    writes.set_meta(db, {"base": token})
            delete_other_vectors(self.folder, self.read(reads.meta).get("base", ""))
        except IndexDamaged:
            raise
        except LocalRagError:
            with contextlib.suppress(OSError):
                vectors_file(self.folder, token).unlink(missing_ok=True)
