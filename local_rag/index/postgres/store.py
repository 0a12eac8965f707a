"""The store of an index on a server: any process may read, and several may write.

A lock of the server keeps two from syncing the same root; two that write the same file come one after the other. All
locks end with their connection.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any, TypeVar

import psycopg
from psycopg_pool import ConnectionPool

from local_rag.config.server_index import ServerIndex
from local_rag.core import cancel
from local_rag.core.errors import IndexBusy, IndexDamaged, IndexMismatch
from local_rag.index.postgres import schema, words
from local_rag.index.postgres.connection import (
    Database,
    is_lost,
    missing,
    pool,
    transaction,
    translated_errors,
)
from local_rag.index.postgres.tables import Nearest, make_nearest, without_nearest
from local_rag.index.store import checks, reads, writes
from local_rag.index.store.schema import IndexSettings
from local_rag.index.store.store import Store
from local_rag.text.display import plural

T = TypeVar("T")

_ATTEMPTS, _PAUSE = 3, 1.0
"""How often, and after how many seconds, a read is repeated whose connection ended: a server that is restarted."""


_BUSY = 2
"""Seconds that a lock is waited for."""


class ServerStore(Store):
    """The tables of one index. Any thread may call any method."""

    def __init__(self, index: ServerIndex) -> None:
        """Open what is there. Raises IndexMissing, IndexDamaged, IndexMismatch for another version, NotLocal."""
        self.folder = self._index = index
        self._opened: ConnectionPool[Any] | None = None
        self._opening = threading.Lock()
        try:
            made_with = int(self.read(reads.meta).get("schema", 0))
            if not made_with:
                raise missing(index)  # row-level security shows no row
            if made_with != schema.VERSION:
                raise IndexMismatch(
                    f"the index at {index} has version {made_with}, and this local-rag reads {schema.VERSION}",
                    hint=f"local-rag remove --index '{index}', then index again; or another version of local-rag",
                )
            self.read(reads.settings)
        except BaseException:
            self.close()
            raise

    @classmethod
    def make(cls, index: ServerIndex, settings: IndexSettings) -> ServerStore:
        """Make an empty index in the database, or open the one that is there."""
        with translated_errors(index), _alone(index) as connection:
            if not _is_there(connection, index):
                with connection.transaction():
                    connection.execute("CREATE EXTENSION IF NOT EXISTS vector WITH SCHEMA public")
                    for statement in schema.tables(index.server, settings):
                        connection.execute(statement.encode())
        return cls(index)

    @property
    def _pool(self) -> ConnectionPool[Any]:
        with self._opening:
            if self._opened is None:
                self._opened = pool(self._index)
            return self._opened

    def close(self) -> None:
        """Close all connections; the next call opens new ones."""
        with self._opening:
            connections, self._opened = self._opened, None
        if connections is not None:
            connections.close(timeout=1)

    # --- transactions

    def read(self, lookup: Callable[..., T], *arguments: Any) -> T:
        """Do one lookup, which sees one snapshot; it is repeated where the connection ended meanwhile."""
        with translated_errors(self._index):
            for attempt in range(_ATTEMPTS):
                cancel.check()
                try:
                    with transaction(self._pool, self._index) as db:
                        return lookup(db, *arguments)
                except psycopg.OperationalError as error:
                    if attempt == _ATTEMPTS - 1 or not is_lost(error):
                        raise
                time.sleep(_PAUSE)
        raise AssertionError

    @contextmanager
    def writing(self) -> Iterator[Database]:
        """One transaction for the statements of `writes`: all of it, or nothing."""
        with translated_errors(self._index), transaction(self._pool, self._index, writes=True) as db:
            yield db
            writes.set_meta(db, {"generation": secrets.token_hex(8)})

    @contextmanager
    def locked(self, roots: Collection[str] = (), *, alone: bool = False) -> Iterator[None]:
        """Be the only one that syncs these roots, or `alone` the only writer. Raises IndexBusy."""
        with ExitStack() as held:
            with translated_errors(self._index):
                connection = held.enter_context(self._pool.connection())
                held.callback(_unlock, connection)
                _take(connection, self._index, roots, alone)
            yield

    def search(self, lookup: Callable[..., T], *arguments: Any) -> T:
        """Do one lookup, which is given the rows of `meta` and what finds vectors before its arguments."""
        return self.read(lambda db: lookup(db, reads.meta(db), Nearest(db), *arguments))

    # --- what SQLite and FAISS need, or need in another way

    def forget(self) -> None:
        """Nothing: PostgreSQL overwrites what was removed when it vacuums (docs/privacy.md)."""

    def refresh(self) -> None:
        """Make HNSW where there is none yet; count frequent words anew if the index has grown much."""
        for n in self.read(without_nearest):
            with self.writing() as db:  # of its own: it waits for those who write to this partition, and holds no other
                make_nearest(db, n)
        with self.writing() as db:
            words.refresh(db)

    def verify(self, *, deep: bool) -> bool:
        """Compare the tables with each other. Raises IndexDamaged."""
        lost = "SELECT count(*) FROM chunks WHERE NOT EXISTS (SELECT FROM documents WHERE documents.id = document)"
        if count := self.read(lambda db: db.execute(lost).fetchone()[0]):
            hint = f"local-rag remove --index '{self._index}', then index again"
            raise IndexDamaged(f"{plural(count, 'passage')} of the index {self._index} belong to nothing", hint=hint)
        if deep and (paths := self.read(checks.changed)):
            raise IndexDamaged(
                f"the index at {self._index} holds text that has changed, such as {paths[0]}",
                hint=f"local-rag remove '{paths[0]}' --index '{self._index}', then index again",
            )
        return True


def is_there(index: ServerIndex) -> bool:
    """Whether the server has an index of that name that this role may see."""
    with translated_errors(index), _connected(index) as connection:
        return _is_there(connection, index)


def destroy(index: ServerIndex) -> None:
    """Delete an index, but what other servers hold of it; only its owner may. Raises IndexMissing and IndexBusy."""
    with translated_errors(index), _alone(index) as connection:
        if not _is_there(connection, index):
            raise missing(index)
        connection.execute(f"DROP SCHEMA {schema.quoted(index.server.schema)} CASCADE".encode())
        for n in schema.partitions():
            connection.execute(f"DROP SERVER IF EXISTS {schema.elsewhere(index.server, n)} CASCADE".encode())


@contextmanager
def _connected(index: ServerIndex) -> Iterator[psycopg.Connection[Any]]:
    with pool(index) as connections, connections.connection() as connection:
        yield connection


@contextmanager
def _alone(index: ServerIndex) -> Iterator[psycopg.Connection[Any]]:
    """A connection that is the only writer of an index."""
    with _connected(index) as connection:
        _take(connection, index, (), alone=True)
        try:
            yield connection
        finally:
            _unlock(connection)


def _is_there(connection: psycopg.Connection[Any], index: ServerIndex) -> bool:
    sql = "SELECT 1 FROM pg_namespace WHERE nspname = %s"
    return connection.execute(sql, (index.server.schema,)).fetchone() is not None


def _take(connection: psycopg.Connection[Any], index: ServerIndex, roots: Collection[str], alone: bool) -> None:
    names = {index.server.schema: "pg_advisory_lock" if alone else "pg_advisory_lock_shared"}
    names |= {f"{index.server.schema}\n{root}": "pg_advisory_lock" for root in sorted(roots)}
    connection.execute(f"SET lock_timeout = '{_BUSY}s'".encode())
    for name, lock in names.items():
        try:
            connection.execute(f"SELECT {lock}(hashtextextended(%s, 0))".encode(), (name,))
        except psycopg.errors.LockNotAvailable as error:
            what = name.partition("\n")[2]
            raise IndexBusy(
                f"another process {f'syncs {what} in' if what else 'writes to'} the index {index}",
                hint="wait until it is done, then type the same command again",
            ) from error


def _unlock(connection: psycopg.Connection[Any]) -> None:
    with suppress(psycopg.Error):  # the server forgets the locks of a connection that ended
        connection.execute("SELECT pg_advisory_unlock_all(); SET lock_timeout = 0")
