"""The store of an index in a folder: SQLite holds everything, FAISS finds its vectors, FTS5 its words.

One connection per thread. Readers see a snapshot (WAL) while one process at a time writes; every commit changes the
generation, and with its next search a reader takes over what is new. Only the writer makes or deletes files of vectors.
"""

from __future__ import annotations

import contextlib
import json
import secrets
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from local_rag.core import cancel
from local_rag.core.errors import EarlierIndex, IndexMissing, LocalRagError
from local_rag.index.prepare import NewDocument, prepared
from local_rag.index.store.commands import anew
from local_rag.index.store.matrices import blob
from local_rag.index.store.protocol import EVERYTHING
from local_rag.index.store.rows import consistent, listed
from local_rag.index.store.sqlite import checks, folder, vectors
from local_rag.index.store.sqlite.checks import must_be_index, translated_errors
from local_rag.index.store.sqlite.connection import Connection, create_database, primary_code, write_lock
from local_rag.index.store.sqlite.folder import has_database, vectors_file
from local_rag.index.store.sqlite.vectors import VectorFile, VectorIndex
from local_rag.index.store.sqlite.words import FullText
from local_rag.index.store.values import FileRow, Filter, IndexSettings
from local_rag.text.identifiers import spaced

if TYPE_CHECKING:
    from local_rag.core.protocols import Vectors

T = TypeVar("T")

FORGET = "forget"
"""The row of `meta` that stands from a removal until no file holds a byte of what was removed."""

_IN = "IN (SELECT value FROM json_each($1))"


class SqliteStore(FullText):
    """A store in the files of one folder."""

    address: Path
    _embedded = vectors.EMBEDDED

    def __init__(self, address: Path) -> None:
        with translated_errors(address):
            if not has_database(address):
                raise IndexMissing(f"there is no index at {address}", hint=anew(address))
        super().__init__(address)
        self._check_version()

    @classmethod
    def create(cls, address: Path, settings: IndexSettings) -> Self:
        """Make or open the index as `Store.create` does. Raises UsageError for a folder with other files."""
        with translated_errors(address):
            folder.prepare(address)
            with write_lock(address):
                with contextlib.suppress(IndexMissing, EarlierIndex):
                    return cls(address)
                create_database(address, settings)
        return cls(address)

    @staticmethod
    def is_there(address: Path) -> bool:
        return has_database(address)

    @staticmethod
    def destroy(address: Path) -> None:
        """Delete the files of the index, and the folder if nothing else is in it; what a kill leaves can be deleted
        again.
        """
        with translated_errors(address):
            must_be_index(address)
            with write_lock(address):
                folder.delete_all(address)
            for file in folder.our_files(address):
                file.unlink(missing_ok=True)
            if not any(address.iterdir()):
                address.rmdir()

    # --- transactions

    @property
    def _connection(self) -> Connection:
        """Return the connection of this thread, which closes when the thread ends."""
        known: Connection | None = getattr(self._threads, "connection", None)
        if known is None or not (known.is_kept or known.db.in_transaction):
            known = self._threads.connection = Connection(self.address)
        return known

    def _in_snapshot(self, work: Callable[[], T]) -> T:
        with translated_errors(self.address):
            return self._connection.snapshot(work)

    def _execute(self, sql: str, *values: object) -> list[Any]:
        with translated_errors(self.address):
            return self._connection.execute(sql, values)

    def _many(self, sql: str, rows: Iterable[Sequence[object]]) -> None:
        with translated_errors(self.address):
            self._connection.many(sql, rows)

    @staticmethod
    def _in(number: int) -> str:
        return f"IN (SELECT value FROM json_each(${number}))"

    @contextmanager
    def locked(self, roots: Collection[str] = (), *, alone: bool = False) -> Iterator[None]:
        with contextlib.ExitStack() as held:
            with translated_errors(self.address):
                held.enter_context(write_lock(self.address))
            yield

    @contextmanager
    def writing(self) -> Iterator[None]:
        with translated_errors(self.address):
            db = self._connection.db
            db.execute("BEGIN IMMEDIATE")
            try:
                yield
                self.set_meta({"generation": secrets.token_hex(8)})
                db.execute("COMMIT")
            except BaseException:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise

    # --- files come and go

    def replace(self, file: FileRow, documents: Sequence[NewDocument], *, more: bool = False) -> int:
        if not more:
            self.remove([file.path])
        number, stored, titles = self._row_of(file, is_new=not more)
        numbers = []
        for document in prepared(file, documents, stored):
            numbers.append(self._insert("documents", {"file": number, **document.columns}))
            about = document.said("title", "author", "date", "subject", "folders")
            if about[0] not in titles:  # the pages of a file share one row
                titles.add(about[0])
                sql = "INSERT INTO names (rowid, name, title, author, date, subject, folders) VALUES"
                self._execute(f"{sql} ($1, $2, $3, $4, $5, $6, $7)", numbers[-1], document.called, *map(spaced, about))
            headers = self._headers([chunk.header for chunk in document.chunks])
            sql = 'INSERT INTO chunks (document, key, digest, start, "end", heading, header) VALUES'
            rows = [(numbers[-1], *chunk[:5], headers.get(chunk.header)) for chunk in document.chunks]
            self._many(f"{sql} ($1, $2, $3, $4, $5, $6, $7)", rows)
        self._write_words(numbers)
        self._show(f"document {_IN}", numbers)
        reused = f"SELECT count(*) FROM chunks JOIN vectors USING (digest) WHERE document {_IN}"
        return int(self._value(reused, numbers))

    def _headers(self, texts: Sequence[str]) -> dict[str, int]:
        """Return the numbers of headers by their texts; new headers are inserted."""
        distinct = [text for text in dict.fromkeys(texts) if text]
        self._many("INSERT OR IGNORE INTO headers (text) VALUES ($1)", [(text,) for text in distinct])
        return dict(self._execute(f"SELECT text, id FROM headers WHERE text {_IN}", distinct))

    def remove(self, paths: Collection[str]) -> None:
        """Remove files as `Store.remove` does. The vectors of their texts stay until `forget`: a text may come again in
        another file.
        """
        for path in paths:
            sql = "SELECT id FROM documents WHERE file IN (SELECT id FROM files WHERE path = $1 OR container = $1)"
            documents = self._column(sql, path)
            self._write_words(documents, remove=True)
            self._execute(f"DELETE FROM names WHERE rowid {_IN}", documents)
            if self._execute("DELETE FROM files WHERE path = $1 OR container = $1 RETURNING id", path):
                self.set_meta({FORGET: "1"})
            self.forget_unread([path])

    def must_forget(self) -> bool:
        return FORGET in self.meta()

    def forget(self) -> None:
        """Erase what was removed from the three places that keep more than the tables, whose free pages SQLite zeroes
        itself (`PRAGMA secure_delete`).

        FTS5 only notes a deletion, and drops the words when it merges all it has
        (https://sqlite.org/fts5.html#the_optimize_command: 3 s for 100,000 passages); the WAL holds pages as they were;
        the file of vectors is written again now and then. What is interrupted, or held up by a reader, the next writer
        does. Raises DiskFull and Stopped.
        """
        if not self.must_forget():
            return
        cancel.check()
        with self.writing():
            unused = "(SELECT digest FROM vectors EXCEPT SELECT digest FROM chunks)"
            self._execute(f"DELETE FROM vectors WHERE digest IN {unused}")
            self._execute("DELETE FROM headers WHERE id IN (SELECT id FROM headers EXCEPT SELECT header FROM chunks)")
            for table in ("full_text", "names"):
                self._execute(f"INSERT INTO {table} ({table}) VALUES ('optimize')")
        if self._gone():
            self._write_vectors()
        if not self._value("PRAGMA wal_checkpoint(TRUNCATE)") and not self._gone():
            with self.writing():
                self._execute("DELETE FROM meta WHERE name = $1", FORGET)

    def _gone(self) -> int:
        """Count the vectors in the file whose chunks are gone."""
        return vectors.counted(self._execute, VectorFile.of(self.meta()))[2]

    # --- vectors

    def set_vectors(self, chunks: Sequence[int], texts: Mapping[int, Any], headers: Mapping[int, Any]) -> None:
        digests = self._execute(f"SELECT digest, id FROM chunks WHERE id {_IN}", listed(texts))
        rows = [(digest, blob(texts[chunk])) for digest, chunk in digests]
        self._many("INSERT OR REPLACE INTO vectors VALUES ($1, $2)", rows)
        of_headers = [(blob(vector), number) for number, vector in headers.items()]
        self._many("UPDATE headers SET vector = $1 WHERE id = $2", of_headers)
        self._show(f"chunks.id IN ({self._sharing})", listed({*chunks, *texts}), listed(headers))

    _sharing = (
        f"SELECT id FROM chunks WHERE digest IN (SELECT digest FROM chunks WHERE id {_IN})"
        " UNION SELECT id FROM chunks WHERE header IN (SELECT value FROM json_each($2))"
    )
    """SQL for the chunks whose text is that of one of the chunks in $1, or whose header is one of the headers in $2."""

    def _show(self, where: str, *values: object) -> None:
        """Let vector search see those of these chunks that have all their vectors."""
        self._execute(
            "INSERT OR IGNORE INTO embedded (chunk) SELECT chunks.id FROM chunks CROSS JOIN vectors USING (digest)"
            " LEFT JOIN headers ON headers.id = chunks.header"
            f" WHERE {where} AND (chunks.header IS NULL OR headers.vector IS NOT NULL) ORDER BY chunks.id",
            *values,
        )

    def set_settings(self, settings: IndexSettings) -> None:
        super().set_settings(settings)
        self.set_meta({"epoch": secrets.token_hex(8)})  # vectors in memory or in a file are those of another one
        self._execute("DELETE FROM meta WHERE name = 'vectors'")

    def drop_vectors(self, *, unusable: bool) -> None:
        if not unusable:
            for sql in ("DELETE FROM vectors", "DELETE FROM embedded", "UPDATE headers SET vector = NULL"):
                self._execute(sql)
            return
        chunks, headers = checks.unusable_vectors(self._execute, self.settings().dimension)
        self._execute(f"DELETE FROM embedded WHERE chunk IN ({self._sharing})", chunks, headers)
        self._execute(f"DELETE FROM vectors WHERE digest IN (SELECT digest FROM chunks WHERE id {_IN})", chunks)
        self._execute(f"UPDATE headers SET vector = NULL WHERE id {_IN}", headers)

    @consistent
    def nearest(self, vector: Vectors, k: int, filter: Filter = EVERYTHING) -> list[tuple[int, float]]:
        """Return the nearest chunks as `Store.nearest` does: FAISS proposes candidates, the database says how near they
        are.
        """
        among, left_out = self._passing(filter), self._left_out(filter)
        if among and among.few is not None and len(among.few) <= vectors.COMPARED:
            return self._exact(vector, [chunk for chunk in among.few if chunk not in left_out])[:k]
        index, mask = self._current_vectors(), among.mask if among else None

        def near(count: int, every: bool) -> list[tuple[int, float]]:
            chunks = index.candidates(vector, count, mask, every=every)
            return self._exact(vector, [chunk for chunk in chunks if chunk not in left_out])[:k]

        wanted = k + max(vectors.SPARE, k // 2) + len(left_out)
        every = wanted > vectors.WIDE or (among is not None and among.few is not None)
        found = near(wanted, every)
        if len(found) < k and index.index is not None:  # some that the file names are gone, others lie in further lists
            found = near(wanted + self._gone(), True)
        return found

    def _current_vectors(self) -> VectorIndex:
        meta = self.meta()
        index, dimension = self._mapped_file(meta), int(meta["dimension"])
        last = 0 if index is None else VectorFile.of(meta).last
        make = partial(vectors.combined, self._execute, "e.seq > $1", last, dimension)
        return VectorIndex(index, *self._cache.get("tail", (meta["generation"], last), make))

    def _mapped_file(self, meta: dict[str, str]) -> Any:
        """Return FAISS's index of the file, None where it is missing or damaged: all vectors are compared then."""
        file = VectorFile.of(meta)
        make = partial(vectors.opened, self.address, file, mapped=True)
        return self._cache.get("file", (meta["epoch"], file), make)

    def refresh(self) -> None:
        """Write a new file of vectors if the old one lacks many, or holds many that are gone. A disk without room is no
        error.
        """
        if not (self.is_fresh() and self._is_whole()):
            self._write_vectors()

    def _is_whole(self) -> bool:
        file = VectorFile.of(self.meta())
        return not file.token or vectors.opened(self.address, file, mapped=True) is not None

    def is_fresh(self) -> bool:
        file = VectorFile.of(self.meta())
        return max(vectors.counted(self._execute, file)[1:]) <= file.may_lack()

    def degraded(self) -> str:
        meta = self.meta()
        if "vectors" in meta and self._mapped_file(meta) is None:
            return "the file that finds near vectors is missing or damaged: until it is made anew all are compared"
        return ""

    def _write_vectors(self) -> None:
        """Write a file, name it in the database, and delete all others; do nothing where it cannot be written."""
        token = secrets.token_hex(8)
        try:
            index, file = self.snapshot(lambda: vectors.renewed(self._execute, self.address, self.meta()))
            values = {} if index is None else {"vectors": json.dumps(vectors.save(self.address, index, file, token))}
            with self.writing():
                self._execute("DELETE FROM meta WHERE name = 'vectors'")
                self.set_meta(values)
            folder.delete_other_vectors(self.address, token)
        except (OSError, RuntimeError, LocalRagError):
            with contextlib.suppress(OSError):
                vectors_file(self.address, token).unlink(missing_ok=True)

    # --- whether it is whole

    def verify(self, *, deep: bool) -> bool:
        self.snapshot(lambda: checks.verify(self._execute, self.address, self.settings().dimension))
        try:  # FTS5 compares its own parts with each other; where nothing may be written it refuses
            self._connection.execute("INSERT INTO full_text (full_text) VALUES ('integrity-check')")
        except sqlite3.DatabaseError as error:
            if primary_code(error) == sqlite3.SQLITE_CORRUPT:
                raise checks.mendable(self.address, f"the full-text index: {error}") from error
        return super().verify(deep=deep) and self._is_whole()

    def size(self) -> int:
        return folder.size(self.address)
