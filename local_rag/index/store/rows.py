"""Access to the tables of a store: SQL statements in which $1 is the first value, run in snapshots."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

T = TypeVar("T")
P = ParamSpec("P")
S = TypeVar("S", bound="Rows")

Run = Callable[..., list[Any]]
"""A function that executes a statement with its values and returns its rows."""


def consistent(verb: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], T]:
    """Decorate a method so that all of its statements see one snapshot."""

    @wraps(verb)
    def in_snapshot(self: S, /, *arguments: P.args, **options: P.kwargs) -> T:
        return self.snapshot(lambda: verb(self, *arguments, **options))

    return in_snapshot


def listed(values: Iterable[Any]) -> list[Any]:
    """Return texts, or numbers of Python or NumPy, as a list that SQL takes as one value."""
    return [value if isinstance(value, str) else int(value) for value in values]


class Rows(ABC):
    """The rows of an index. Any thread may call any method; methods that write are called in a transaction of
    `writing`.
    """

    _threads: threading.local
    """The values of each thread: the `meta` of its snapshot, and its connection."""

    def snapshot(self, work: Callable[[], T]) -> T:
        """Run some work of this thread in one snapshot: from its first statement to its last it sees one state of the
        index.
        """
        if getattr(self._threads, "meta", None) is not None:
            return work()

        def begun() -> T:
            self._threads.meta = {}
            return work()

        try:
            return self._in_snapshot(begun)
        finally:
            self._threads.meta = None

    @abstractmethod
    def _in_snapshot(self, work: Callable[[], T]) -> T:
        """Run some work in one snapshot, or in the transaction that this thread is in."""

    @abstractmethod
    def _execute(self, sql: str, *values: object) -> list[Any]:
        """Return the rows of a statement; outside of a snapshot or transaction it is one by itself."""

    def _column(self, sql: str, *values: object) -> list[Any]:
        """Return the first value of each row of a statement."""
        return [row[0] for row in self._execute(sql, *values)]

    def _value(self, sql: str, *values: object) -> Any:
        """Return the first value of the first row of a statement, None where there is no row."""
        return next(iter(self._column(sql, *values)), None)

    @abstractmethod
    def _many(self, sql: str, rows: Iterable[Sequence[object]]) -> None:
        """Execute a statement for each of these rows of values."""

    @staticmethod
    @abstractmethod
    def _in(number: int) -> str:
        """Return the SQL that stands behind a column to say that its value is in the list with this number."""

    def _insert(self, table: str, values: Mapping[str, object]) -> int:
        """Insert a row and return its id."""
        marks = ", ".join(f"${number}" for number in range(1, len(values) + 1))
        sql = f"INSERT INTO {table} ({', '.join(values)}) VALUES ({marks}) RETURNING id"
        return int(self._value(sql, *values.values()))
