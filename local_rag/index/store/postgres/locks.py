"""Who writes to an index on a server: locks of the server, which end with their connection."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import psycopg

from local_rag.config.server_index import ServerIndex
from local_rag.core.errors import IndexBusy
from local_rag.index.store.postgres.connection import pool

_BUSY = 2
"""Seconds that a lock is waited for."""


@contextmanager
def connected(index: ServerIndex) -> Iterator[psycopg.Connection[Any]]:
    with pool(index) as connections, connections.connection() as connection:
        yield connection


@contextmanager
def alone_on(index: ServerIndex) -> Iterator[psycopg.Connection[Any]]:
    """A connection that is the only writer of an index."""
    with connected(index) as connection:
        take(connection, index, (), alone=True)
        try:
            yield connection
        finally:
            unlock(connection)


def has_schema(connection: psycopg.Connection[Any], index: ServerIndex) -> bool:
    sql = "SELECT 1 FROM pg_namespace WHERE nspname = $1"
    return connection.execute(sql, (index.schema,)).fetchone() is not None


def take(connection: psycopg.Connection[Any], index: ServerIndex, roots: Collection[str], alone: bool) -> None:
    names = {index.schema: "pg_advisory_lock" if alone else "pg_advisory_lock_shared"}
    names |= {f"{index.schema}\n{root}": "pg_advisory_lock" for root in sorted(roots)}
    connection.execute(f"SET lock_timeout = '{_BUSY}s'".encode())
    for name, lock in names.items():
        try:
            connection.execute(f"SELECT {lock}(hashtextextended($1, 0))".encode(), (name,))
        except psycopg.errors.LockNotAvailable as error:
            what = name.partition("\n")[2]
            raise IndexBusy(
                f"another process {f'syncs {what} in' if what else 'writes to'} the index {index}",
                hint="wait until it is done, then type the same command again",
            ) from error


def unlock(connection: psycopg.Connection[Any]) -> None:
    with suppress(psycopg.OperationalError):  # the server forgets the locks of a connection that ended
        connection.execute("SELECT pg_advisory_unlock_all(); SET lock_timeout = 0")
