"""The store of an index on a PostgreSQL server: pgvector finds vectors, tsvector ranks words. The extra [postgres].

Any process may read, and several may write. A lock of the server keeps two from syncing the same root; two that write
the same file come one after the other. All locks end with their connection.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, Self, TypeVar

import psycopg
from psycopg_pool import ConnectionPool

from local_rag.config.server_index import ServerIndex
from local_rag.core import cancel
from local_rag.core.errors import EarlierIndex
from local_rag.index.prepare import DocumentRow, NewDocument, digest, prepared
from local_rag.index.store.matrices import Stored, blob, searched
from local_rag.index.store.postgres import schema, words
from local_rag.index.store.postgres.connection import (
    alone_on,
    connected,
    has_schema,
    is_lost,
    locked,
    missing,
    pool,
    transaction,
    translated_errors,
)
from local_rag.index.store.postgres.words import FullText
from local_rag.index.store.protocol import EVERYTHING
from local_rag.index.store.rows import consistent, listed
from local_rag.index.store.values import FileRow, Filter, IndexSettings
from local_rag.index.store.words import STEMMED
from local_rag.text.languages import stems

if TYPE_CHECKING:
    from local_rag.core.protocols import Vectors

T = TypeVar("T")

_ATTEMPTS, _PAUSE = 3, 1.0
"""The attempts at a read whose connection ended, and the seconds between: the server may be restarting."""

EF_SEARCH = 100
"""Candidates that HNSW keeps while it looks: recall@10 is above .98 with it (docs/measurements.md)."""


class PostgresStore(FullText):
    """A store in the tables of one schema on a server."""

    address: ServerIndex

    _embedded = (
        "SELECT chunk, embedded.vector, headers.vector FROM embedded JOIN chunks ON chunks.id = chunk"
        " LEFT JOIN headers ON headers.id = header"
    )

    def __init__(self, address: ServerIndex) -> None:
        """Open an index as `Store` does. Raises NotLocal, too."""
        super().__init__(address)
        self._opened: ConnectionPool[Any] | None = None
        self._opening = threading.Lock()
        try:
            if not self.meta().get("schema"):
                raise missing(address)  # row-level security shows no row
            self._check_version()
        except BaseException:
            self.close()
            raise

    @classmethod
    def create(cls, address: ServerIndex, settings: IndexSettings) -> Self:
        with translated_errors(address), alone_on(address) as connection:
            if has_schema(connection, address):
                try:
                    return cls(address)
                except EarlierIndex:
                    connection.execute(schema.dropped(address).encode())
            with connection.transaction():
                connection.execute("CREATE EXTENSION IF NOT EXISTS vector WITH SCHEMA public")
                for statement in schema.tables(address, settings):
                    connection.execute(statement.encode())
        return cls(address)

    @staticmethod
    def is_there(address: ServerIndex) -> bool:
        """Return whether there is an index that this role may see."""
        with translated_errors(address), connected(address) as connection:
            return has_schema(connection, address)

    @staticmethod
    def destroy(address: ServerIndex) -> None:
        """Delete the schema of the index, which only its owner may."""
        with translated_errors(address), alone_on(address) as connection:
            if not has_schema(connection, address):
                raise missing(address)
            connection.execute(schema.dropped(address).encode())

    @property
    def _pool(self) -> ConnectionPool[Any]:
        with self._opening:
            if self._opened is None:
                self._opened = pool(self.address)
            return self._opened

    def close(self) -> None:
        with self._opening:
            connections, self._opened = self._opened, None
        super().close()
        if connections is not None:
            connections.close(timeout=1)

    # --- transactions

    @property
    def _current(self) -> psycopg.Connection[Any] | None:
        """Return the connection of this thread's transaction, None outside of one."""
        return getattr(self._threads, "connection", None)

    def _in_snapshot(self, work: Callable[[], T]) -> T:
        """Run some work in one snapshot, again where the connection ended meanwhile."""
        if self._current is not None:
            return work()
        with translated_errors(self.address):
            for attempt in range(_ATTEMPTS):
                cancel.check()
                try:
                    with self._transaction():
                        return work()
                except psycopg.OperationalError as error:
                    if attempt == _ATTEMPTS - 1 or not is_lost(error):
                        raise
                time.sleep(_PAUSE)
        raise AssertionError

    @contextmanager
    def _transaction(self, *, writes: bool = False) -> Iterator[None]:
        with transaction(self._pool, self.address, writes=writes) as self._threads.connection:
            try:
                yield
            finally:
                self._threads.connection = None

    def _execute(self, sql: str, *values: object) -> list[Any]:
        if self._current is None:
            return self.snapshot(lambda: self._execute(sql, *values))
        cursor = self._current.execute(sql.encode(), values)
        return cursor.fetchall() if cursor.description else []

    def _many(self, sql: str, rows: Iterable[Sequence[object]]) -> None:
        assert self._current is not None, "only a transaction writes"
        self._current.cursor().executemany(sql.encode(), list(rows))

    @staticmethod
    def _in(number: int) -> str:
        return f"= ANY(${number})"

    @contextmanager
    def writing(self) -> Iterator[None]:
        with translated_errors(self.address), self._transaction(writes=True):
            yield
            self.set_meta({"generation": secrets.token_hex(8)})

    @contextmanager
    def locked(self, roots: Collection[str] = (), *, alone: bool = False) -> Iterator[None]:
        with ExitStack() as held:
            with translated_errors(self.address):
                connection = held.enter_context(self._pool.connection())
                held.enter_context(locked(connection, self.address, roots, alone=alone))
            yield

    # --- files come and go

    def replace(self, file: FileRow, documents: Sequence[NewDocument], *, more: bool = False) -> int:
        """Store a file as `Store.replace` does. What it replaces leaves its vectors to equal texts within this call."""
        self._lock([file.path])
        texts = {digest(document.text[start:end]) for document, chunks in documents for start, end, _ in chunks}
        of_texts = dict(self._execute("SELECT digest, vector FROM vectors WHERE digest = ANY($1)", list(texts)))
        headers = {chunk.header for document in prepared(file, documents, 0) for chunk in document.chunks}
        of_headers = self.header_vectors(headers)
        if not more:
            self.remove([file.path])
        number, stored, titles = self._row_of(file, is_new=not more)
        reused = 0
        for document in prepared(file, documents, stored):
            id = self._insert("documents", {"file": number, **document.columns})
            title, *about = document.said("title", "name", "author", "date", "subject", "folders")
            of_file = words.of_file(*about)
            if title not in titles:
                titles.add(title)
                lexemes = f"{words.lexemes(document.called, title)} {of_file}"
                self._execute(
                    "INSERT INTO names VALUES ($1, $2, $3, $4::tsvector)", id, document.called, title, lexemes
                )
            reused += self._write_chunks(id, document, title, of_file, of_texts, of_headers)
        return reused

    def _write_chunks(
        self,
        id: int,
        document: DocumentRow,
        title: str,
        of_file: str,
        of_texts: Mapping[bytes, bytes],
        of_headers: Mapping[str, bytes],
    ) -> int:
        """Store the chunks of a document, and return how many have their vectors already."""
        distinct = list(dict.fromkeys(chunk.header for chunk in document.chunks if chunk.header))
        values = "SELECT $1, * FROM unnest($2::text[], $3::bytea[])"
        sql = f"INSERT INTO headers (document, text, vector) {values} RETURNING text, id"
        numbers = dict(self._execute(sql, id, distinct, [of_headers.get(text) for text in distinct]))
        self._many(
            'INSERT INTO chunks (document, key, digest, start, "end", heading, header, words)'
            " VALUES ($1, $2, $3, $4, $5, $6, $7, $8::tsvector)",
            [
                (
                    id,
                    *chunk[:5],
                    numbers.get(chunk.header),
                    f"{words.lexemes(chunk.text, chunk.heading, title)} {of_file} "
                    + words.lexemes(
                        " ".join(stems(f"{chunk.text}\n{chunk.heading}\n{title}", str(document.columns["language"]))),
                        field=STEMMED,
                    ),
                )
                for chunk in document.chunks
            ],
        )
        ids = dict(self._execute("SELECT key, id FROM chunks WHERE document = $1", id))
        return self._show([
            (ids[chunk.key], of_texts[chunk.digest], of_headers.get(chunk.header))
            for chunk in document.chunks
            if chunk.digest in of_texts and (not chunk.header or chunk.header in of_headers)
        ])  # fmt: skip

    def _show(self, rows: Sequence[Stored]) -> int:
        """Let vector search see chunks."""
        if rows:
            _, near = searched(rows, len(rows[0][1]) // 4)
            # in one order: two that write the same chunks never wait for each other
            values = sorted(
                (row[0], row[1], schema.vector_text(vector)) for row, vector in zip(rows, near, strict=True)
            )
            self._many("INSERT INTO embedded VALUES ($1, $2, $3::halfvec) ON CONFLICT DO NOTHING", values)
        return len(rows)

    def _lock(self, paths: Iterable[str]) -> None:
        """Lock files until the transaction ends, so that two that write the same file come one after the other."""
        lock = "pg_advisory_xact_lock(hashtextextended(current_schema() || path, 1))"
        self._execute(f"SELECT {lock} FROM unnest($1::text[]) AS files (path)", sorted(paths))

    def remove(self, paths: Collection[str]) -> None:
        self._lock(paths)
        self._execute("DELETE FROM files WHERE path = ANY($1) OR container = ANY($1)", list(paths))
        self.forget_unread(paths)

    # --- vectors

    def set_vectors(self, chunks: Sequence[int], texts: Mapping[int, Any], headers: Mapping[int, Any]) -> None:
        of_headers = [(blob(vector), number) for number, vector in sorted(headers.items())]
        self._many("UPDATE headers SET vector = $1 WHERE id = $2", of_headers)
        given = dict(self._execute("SELECT digest, id FROM chunks WHERE id = ANY($1)", listed(texts)))
        waiting = "NOT EXISTS (SELECT FROM embedded WHERE chunk = chunks.id)"
        rows = self._execute(
            "SELECT chunks.id, digest, headers.vector FROM chunks LEFT JOIN headers ON headers.id = header"
            " WHERE (chunks.id = ANY($1) OR digest = ANY($2)) AND (header IS NULL OR headers.vector IS NOT NULL)"
            f" AND {waiting}",
            listed(chunks),
            list(given),
        )
        others = [digest for _, digest, _ in rows if digest not in given]
        known = dict(self._execute("SELECT digest, vector FROM vectors WHERE digest = ANY($1)", others))
        known |= {digest: blob(texts[chunk]) for digest, chunk in given.items()}
        self._show([(chunk, known[digest], header) for chunk, digest, header in rows if digest in known])

    def set_settings(self, settings: IndexSettings) -> None:
        """Replace the settings, and the size of the column of vectors, which only the owner of the index may change."""
        super().set_settings(settings)
        if not self._execute("SELECT FROM embedded LIMIT 1"):
            self._execute(f"ALTER TABLE embedded ALTER COLUMN near TYPE public.halfvec({settings.dimension:d})")

    def drop_vectors(self, *, unusable: bool) -> None:
        """Delete all vectors where another embedder is used; none is unusable, for PostgreSQL stores no vector of
        another size.
        """
        if not unusable:
            self._execute("DELETE FROM embedded")
            self._execute("UPDATE headers SET vector = NULL")

    @consistent
    def nearest(self, vector: Vectors, k: int, filter: Filter = EVERYTHING) -> list[tuple[int, float]]:
        """Return the nearest chunks as `Store.nearest` does: HNSW proposes candidates, and goes on until enough pass a
        filter, or it has seen 20,000; where few pass all are compared.
        """
        where, values = self._passing(filter)
        number, count = len(values) + 1, k + max(20, k // 2)
        far = f"near <#> ${number}::halfvec"
        for order in (far, f"({far}) + 0")[self._is_narrow(filter) :]:  # what is added keeps HNSW out
            effort = str(min(1000, max(EF_SEARCH, count)))
            self._execute("SELECT set_config('hnsw.ef_search', $1, true)", effort)
            candidates = f"SELECT chunk FROM embedded JOIN chunks ON chunks.id = chunk WHERE {where} ORDER BY {order}"
            if where == "true":
                candidates = f"SELECT chunk FROM embedded ORDER BY {order}"
            rows = self._column(f"{candidates} LIMIT {count:d}", *values, schema.vector_text(vector))
            if len(rows) >= k:
                break
        return self._exact(vector, rows)[:k]

    def refresh(self) -> None:
        """Make HNSW if there is none yet, unless another process has made it; count frequent words again if the index
        has grown much.

        One process builds: several would need a shared memory of this size.
        """
        if self._lacks_nearest():
            with self.writing():
                self._execute("SET LOCAL maintenance_work_mem = '1GB'")
                self._execute("SET LOCAL max_parallel_maintenance_workers = 0")
                self._execute("SELECT pg_advisory_xact_lock(hashtextextended(current_schema(), 1))")
                if self._lacks_nearest():
                    self._execute(schema.NEAREST)
        with self.writing():
            self._count_frequent()

    def _lacks_nearest(self) -> bool:
        """Return whether there is no HNSW and this role may make it."""
        sql = "SELECT pg_has_role(relowner, 'USAGE') AND to_regclass('nearest') IS NULL FROM pg_class WHERE oid = "
        return bool(self._value(f"{sql} to_regclass('embedded')"))

    def described(self) -> tuple[str, str, int, list[tuple[str, str, int]]]:
        """Describe the server, the index and its grants as `schema.described` does."""
        return self.snapshot(lambda: schema.described(self._execute))

    def size(self) -> int:
        of_schema = "relnamespace = current_schema()::regnamespace AND relkind = 'r'"
        return int(self._value(f"SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE {of_schema}") or 0)
