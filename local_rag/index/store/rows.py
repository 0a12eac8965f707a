"""How the tables of a store are asked: statements of SQL in which $1 is the first value, in snapshots."""

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
"""Executes a statement with its values, and gives its rows."""


def consistent(verb: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], T]:
    """All statements of a verb see one snapshot."""

    @wraps(verb)
    def in_snapshot(self: S, /, *arguments: P.args, **options: P.kwargs) -> T:
        return self.snapshot(lambda: verb(self, *arguments, **options))

    return in_snapshot


def listed(values: Iterable[Any]) -> list[Any]:
    """Texts, or numbers of Python or NumPy, as a value of SQL."""
    return [value if isinstance(value, str) else int(value) for value in values]


class Rows(ABC):
    """Rows of an index. Any thread may call any method; what writes is called in a transaction of `writing`."""

    _threads: threading.local
    """What each thread has: the `meta` of its snapshot, and its connection."""

    def snapshot(self, work: Callable[[], T]) -> T:
        """Do some work of this thread that sees one state of the index from its first statement to its last."""
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
        """Do some work in one snapshot, or in the transaction that this thread is in."""

    @abstractmethod
    def _execute(self, sql: str, *values: object) -> list[Any]:
        """The rows of a statement; outside of a snapshot or transaction it is one by itself."""

    @abstractmethod
    def _many(self, sql: str, rows: Iterable[Sequence[object]]) -> None:
        """Execute a statement for each of these rows of values."""

    @staticmethod
    @abstractmethod
    def _in(number: int) -> str:
        """SQL behind a column: its value is in the list that is the value of this number."""

    def _insert(self, table: str, values: Mapping[str, object]) -> int:
        """The id of the new row."""
        marks = ", ".join(f"${number}" for number in range(1, len(values) + 1))
        sql = f"INSERT INTO {table} ({', '.join(values)}) VALUES ({marks}) RETURNING id"
        return int(self._execute(sql, *values.values())[0][0])
