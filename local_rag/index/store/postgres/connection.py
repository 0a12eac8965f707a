"""Connections to the server of an index: transactions, the locks of writers, and the translation of errors into
ours.
"""

from __future__ import annotations

import logging
import shlex
import socket
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import psycopg
from psycopg import errors
from psycopg.types.numeric import FloatLoader
from psycopg_pool import ConnectionPool, PoolTimeout

from local_rag.config.server_index import ServerIndex
from local_rag.core.errors import DiskFull, IndexBusy, IndexDamaged, IndexMissing, LocalRagError
from local_rag.index.store.postgres.schema import quoted
from local_rag.index.store.values import UnusableRow, UnusableVector
from local_rag.text.display import shorten

WAITED = 5.0
"""Seconds that a connection is waited for."""

CONNECTIONS = 8
"""The most connections of one process."""


class _Connection(psycopg.Connection[Any]):
    """A connection that Python's audit hooks see as they see a socket: libpq's own calls raise no event."""

    @classmethod
    def connect(cls, conninfo: str = "", **parameters: Any) -> _Connection:
        where = parameters["hostaddr"] or parameters["host"]
        if not where.startswith("/"):
            with socket.socket() as unused:
                sys.audit("socket.connect", unused, (where, int(parameters["port"])))
        made = super().connect(conninfo, **parameters)
        made.adapters.register_loader("numeric", FloatLoader)
        made.cursor_factory = psycopg.RawCursor  # which takes $1
        return made


def pool(index: ServerIndex) -> ConnectionPool[Any]:
    """Return a pool of connections, which are made when they are needed. Raises as `ServerIndex.connection` does."""
    logging.getLogger("psycopg.pool").setLevel(logging.CRITICAL)  # what fails is raised, in one line
    given = index.connection() | {"connect_timeout": int(WAITED), "application_name": "local-rag"}
    made: ConnectionPool[Any] = ConnectionPool(
        kwargs=given | {"autocommit": True, "prepare_threshold": None},  # a pooler between may lend another session
        connection_class=_Connection,
        min_size=0,
        max_size=CONNECTIONS,
        max_idle=60,
        timeout=WAITED,
        reconnect_timeout=WAITED,
        open=True,
        check=ConnectionPool.check_connection,
    )
    return made


@contextmanager
def transaction(
    connections: ConnectionPool[Any], index: ServerIndex, *, writes: bool = False
) -> Iterator[psycopg.Connection[Any]]:
    """Run one transaction on the tables of an index; one that only reads sees one snapshot from its first row to its
    last.

    What it sets ends with it, so that poolers may stand between.
    """
    mode = "" if writes else "ISOLATION LEVEL REPEATABLE READ READ ONLY"
    path = f"SET LOCAL search_path TO {quoted(index.schema)}, public"
    if writes:  # what is written looks up few rows: workers would take longer to start than to read them
        path += "; SET LOCAL max_parallel_workers_per_gather = 0"
    with connections.connection() as connection:
        connection.execute(f"BEGIN {mode}; {path}; SET LOCAL hnsw.iterative_scan = strict_order".encode())
        try:
            yield connection
            connection.execute(b"COMMIT")
        except BaseException:
            if not connection.broken and not connection.closed:
                connection.execute(b"ROLLBACK")
            raise


@contextmanager
def translated_errors(index: ServerIndex) -> Iterator[None]:
    """Translate errors of PostgreSQL into ours, each in one line."""
    try:
        yield
    except (psycopg.Error, PoolTimeout, UnusableRow, UnusableVector) as error:
        raise _translated_error(index, error) from error


def is_lost(error: BaseException) -> bool:
    """Return whether the connection ended and another may do, as where the server was restarted."""
    ended = isinstance(error, psycopg.OperationalError) and error.sqlstate in (None, "57P01", "57P02", "57P03")
    return ended and not isinstance(error, PoolTimeout)


def _translated_error(index: ServerIndex, error: Exception) -> LocalRagError:
    which = f"--index {shlex.quote(str(index))}"
    said = shorten((str(error).strip() or type(error).__name__).splitlines()[0], 200)
    match error:
        case UnusableRow() | UnusableVector():
            return IndexDamaged(f"the index at {index} is damaged: {said}", hint=f"local-rag doctor {which}")
        case errors.DiskFull():
            return DiskFull(
                f"no space left on the server of the index {index}; what it already holds is kept",
                hint="free some space on that server, then type the same command again: it continues where it stopped",
            )
        case errors.InsufficientPrivilege() | errors.ReadOnlySqlTransaction():
            hint = f"local-rag doctor {which}   prints the roles and what they may do"
            return LocalRagError(f"you may not do that with the index {index}: {said}", hint=hint)
        case errors.UndefinedTable() | errors.InvalidSchemaName():
            return missing(index)
        case errors.DeadlockDetected() | errors.SerializationFailure() | errors.UniqueViolation():
            return IndexBusy(
                f"another process wrote the same file of the index {index}", hint="type the same command again"
            )
    if isinstance(error, PoolTimeout) or is_lost(error) or isinstance(error, errors.CannotConnectNow):
        return unreachable(index, _why(index))
    return LocalRagError(f"the index at {index} cannot be used: {said}", hint=f"local-rag doctor {which}")


def missing(index: ServerIndex) -> IndexMissing:
    """Return the error that there is no such index on the server, or that this role may not see it."""
    hint = f"local-rag index FOLDER --index {shlex.quote(str(index))}"
    return IndexMissing(f"there is no index at {index}, or you may not see it", hint=hint)


def unreachable(index: ServerIndex, why: str) -> LocalRagError:
    return LocalRagError(
        f"the server of the index {index} does not answer{why and f' ({why})'}; what was committed is kept",
        hint="start it, then type the same command again: it continues where it stopped",
    )


def _why(index: ServerIndex) -> str:
    """Return what another attempt to connect fails with, for a pool does not tell; "" where it connects."""
    try:
        _Connection.connect(**index.connection(), connect_timeout=2).close()
    except psycopg.Error as error:
        return str(error).strip().splitlines()[0].removeprefix("connection failed: ")
    return ""


# --- who writes: locks of the server, which end with their connection

_BUSY = 2
"""Seconds that a lock is waited for."""


@contextmanager
def connected(index: ServerIndex) -> Iterator[psycopg.Connection[Any]]:
    with pool(index) as connections, connections.connection() as connection:
        yield connection


@contextmanager
def alone_on(index: ServerIndex) -> Iterator[psycopg.Connection[Any]]:
    """Yield a connection that is the only writer of an index."""
    with connected(index) as connection, locked(connection, index, alone=True):
        yield connection


def has_schema(connection: psycopg.Connection[Any], index: ServerIndex) -> bool:
    sql = "SELECT 1 FROM pg_namespace WHERE nspname = $1"
    return connection.execute(sql, (index.schema,)).fetchone() is not None


@contextmanager
def locked(
    connection: psycopg.Connection[Any], index: ServerIndex, roots: Collection[str] = (), *, alone: bool = False
) -> Iterator[None]:
    """Hold the locks of a writer, as `Store.locked` says."""
    try:
        _take(connection, index, roots, alone)
        yield
    finally:
        with suppress(psycopg.OperationalError):  # the server forgets the locks of a connection that ended
            connection.execute("SELECT pg_advisory_unlock_all(); SET lock_timeout = 0")


def _take(connection: psycopg.Connection[Any], index: ServerIndex, roots: Collection[str], alone: bool) -> None:
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
