"""What `reads`, `writes` and the search ask of a connection: SQL that SQLite and PostgreSQL both understand.

Where the two need statements of their own, the function is a `singledispatch` of the connection: what is written here
is for SQLite, and `index/postgres` registers its own.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol


class Rows(Protocol):
    """What a statement brings."""

    @property
    def rowcount(self) -> int: ...

    def __iter__(self) -> Iterator[Any]: ...

    def fetchone(self) -> Any: ...

    def fetchall(self) -> list[Any]: ...


class Database(Protocol):
    """A connection; ? stands for a parameter."""

    def execute(self, sql: str, parameters: Sequence[Any] = ..., /) -> Rows: ...

    def executemany(self, sql: str, parameters: Iterable[Sequence[Any]], /) -> Any: ...


IN = "IN (SELECT value FROM json_each(?))"
"""SQL behind a column: its value is among those of `array`. SQLite takes a limited number of parameters."""


class Array(list[Any]):
    """The parameter of `IN`: JSON for SQLite, an array for PostgreSQL."""

    def __conform__(self, protocol: object) -> str | None:
        return json.dumps(self) if protocol is sqlite3.PrepareProtocol else None


def array(values: Iterable[int | str]) -> Array:
    """The parameter of `IN`, of Python's numbers or NumPy's, or of texts."""
    return Array(value if isinstance(value, str) else int(value) for value in values)
