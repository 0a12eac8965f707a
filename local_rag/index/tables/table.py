"""The tables of a document, kept as a small database in memory: typed columns, and where each row stands."""

from __future__ import annotations

import json
import re
import sqlite3
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from itertools import accumulate
from time import monotonic
from typing import Any, NamedTuple

from local_rag.index.tables.values import Column, typed
from local_rag.text.words import fold

LEAST_ROWS = 2
MOST_CELLS, MOST_COLUMNS = 2_000_000, 60
"""Limits of a table that is kept: beyond them it is searched as text alone."""
FULL = 0.9
"""Share of the rows that have texts of their own in a column that names them."""
SAME_DAY = 0.2
"""The share of empty cells in a first column of dates from which they mean the date above them."""
QUERY_SECONDS = 2.0
"""Seconds that a statement may run."""

_TOTALS = re.compile(
    r"(?:grand |sub-?)?(?:total|sum|summe|gesamt(?:summe)?|insgesamt|average|durchschnitt)s?:?", re.IGNORECASE
)
_STORED = """
CREATE TABLE about (number INTEGER PRIMARY KEY, place TEXT, start INTEGER, "end" INTEGER, columns TEXT);
CREATE TABLE texts (number INTEGER, "column" INTEGER, key TEXT, shown TEXT, count INTEGER,
    PRIMARY KEY (number, key, "column", shown)) WITHOUT ROWID;
"""


class Row(NamedTuple):
    """A row: its number in the table, code points [start, end) of its line in the document, -1 where it stands on
    another page, and a cell a column.
    """

    number: int
    start: int
    end: int
    cells: Sequence[str]


class Found(NamedTuple):
    """A table as a parser finds it: where it stands, such as a sheet, the names of its columns, and its rows.

    One that `is_large` has none, and is not kept.
    """

    place: str
    names: Sequence[str]
    rows: Sequence[Row]
    is_large: bool = False


def key_of(text: str) -> str:
    """Return a text as it is compared: its letters and digits, without case and accents."""
    return "".join(filter(str.isalnum, fold(text)))


def stored(tables: Sequence[Found]) -> bytes:
    """Return tables as bytes that a store keeps with their document; empty where none has rows enough."""
    with closing(sqlite3.connect(":memory:")) as db:
        db.executescript(f"PRAGMA page_size = 1024; {_STORED}")
        kept = [_add(db, number, table) for number, table in enumerate(tables)]
        return zlib.compress(db.serialize(), 1) if any(kept) else b""


def _add(db: sqlite3.Connection, number: int, table: Found) -> bool:
    names, width = _distinct(table.names), len(table.names)
    rows = [row for row in table.rows if _is_row(row.cells, width)]
    if len(rows) < LEAST_ROWS or not 1 < width <= MOST_COLUMNS:
        return False
    columns, filled = list[Column](), list[Sequence[Any]]()
    for place, name in enumerate(names):
        cells = [row.cells[place] for row in rows]
        column, values, units = typed(name, cells)
        columns.append(column)
        if place == 0 and column.kind == "date" and cells.count("") > SAME_DAY * len(cells):
            values = [*accumulate(values, lambda before, value: value or before)]
        filled += [cells, values, units or [None] * len(rows)]
        if column.kind == "text":
            counted = Counter(filter(None, cells))
            texts = [(number, place, key_of(shown), shown, count) for shown, count in counted.items()]
            db.executemany("INSERT INTO texts VALUES (?, ?, ?, ?, ?)", texts)
    marks = ", ".join(f"s{place}, v{place}, u{place}" for place in range(width))
    db.execute(f'CREATE TABLE t{number} (row INTEGER, start INTEGER, "end" INTEGER, total INTEGER, {marks})')
    places = [(row.number, row.start, row.end, bool(_TOTALS.fullmatch(row.cells[0]))) for row in rows]
    db.executemany(
        f"INSERT INTO t{number} VALUES ({', '.join('?' * (4 + 3 * width))})",
        ((*place, *cells) for place, cells in zip(places, zip(*filled, strict=True), strict=True)),
    )
    here = [row for row in rows if row.start >= 0] or rows
    about = (number, table.place, here[0].start, here[-1].end, json.dumps(columns))
    db.execute("INSERT INTO about VALUES (?, ?, ?, ?, ?)", about)
    return True


def _is_row(cells: Sequence[str], width: int) -> bool:
    """Return whether cells are a row and no title between rows."""
    return sum(map(bool, cells)) > (width > 2)


def _distinct(names: Sequence[str]) -> list[str]:
    """Return the names of columns, each once: the number of the column stands behind those that come again or have
    none.
    """
    kept = list[str]()
    for place, name in enumerate(names, 1):
        kept.append(f"{name or 'column'} ({place})" if name in kept or not name else name)
    return kept


@dataclass(frozen=True, eq=False)
class Table:
    """A table of an opened database."""

    db: sqlite3.Connection
    number: int
    place: str
    start: int
    end: int
    columns: tuple[Column, ...]
    rows: int

    def execute(self, sql: str, values: Sequence[object] = ()) -> list[Any]:
        """Return the rows of a statement. Raises ValueError where it takes too long, or the table is damaged."""
        end = monotonic() + QUERY_SECONDS
        self.db.set_progress_handler(lambda: monotonic() > end, 10_000)
        try:
            return self.db.execute(sql, values).fetchall()
        except sqlite3.DatabaseError as error:
            raise ValueError(f"the table could not be asked: {error}") from error

    def places(self, kind: str, most: int = MOST_CELLS) -> list[int]:
        """Return the numbers of the columns of a kind; of texts those with at most so many different ones."""
        return [n for n, column in enumerate(self.columns) if column.kind == kind and column.different <= most]

    def texts(self, column: int, limit: int) -> list[str]:
        """Return the commonest texts of a column."""
        sql = 'SELECT shown FROM texts WHERE number = ? AND "column" = ? ORDER BY count DESC, shown LIMIT ?'
        return [shown for (shown,) in self.execute(sql, (self.number, column, limit))]

    def range(self, column: int) -> list[str]:
        """Return the lowest and the highest cell of a column of values."""
        sql = f"SELECT s{column}, {{}}(v{column}) FROM t{self.number}"  # the cell is that of the row with the extreme
        return [self.execute(sql.format(end))[0][0] for end in ("min", "max")]

    def named(self, keys: Sequence[str]) -> list[tuple[int, str]]:
        """Return (column, text) of the texts with one of these keys."""
        marks = ", ".join("?" * len(keys))
        sql = f'SELECT "column", shown FROM texts WHERE number = ? AND key IN ({marks})'
        return self.execute(sql, (self.number, *keys))

    def holding(self, key: str, limit: int = 200) -> list[tuple[int, str]]:
        """Return (column, text) of the texts whose key holds another one."""
        sql = 'SELECT "column", shown FROM texts WHERE number = ? AND instr(key, ?) LIMIT ?'
        return self.execute(sql, (self.number, key, limit))

    @property
    def key(self) -> int:
        """Return the column that names the rows: the first of texts with hardly a repetition, else the first of
        texts.
        """
        texts = self.places("text")
        return next(iter([*(place for place in texts if not self.repeats(place)), *texts]), 0)

    def has_empty(self, place: int) -> bool:
        """Return whether a cell of a column is empty."""
        return bool(self.execute(f"SELECT 1 FROM t{self.number} WHERE s{place} = '' AND NOT total LIMIT 1"))

    def is_yearless(self, place: int) -> bool:
        """Return whether the dates of a column are days of any year."""
        ((latest,),) = self.execute(f"SELECT max(v{place}) FROM t{self.number}")
        return self.columns[place].kind == "date" and str(latest or "1") < "0001"

    def repeats(self, place: int) -> bool:
        """Return whether more than a few rows have the same cell in a column."""
        return self.columns[place].different < FULL * self.rows


@contextmanager
def opened(data: bytes) -> Iterator[list[Table]]:
    """Yield the tables of a document; none of bytes that are damaged."""
    with closing(sqlite3.connect(":memory:")) as db:
        tables = list[Table]()
        with suppress(sqlite3.DatabaseError, zlib.error, ValueError):
            db.deserialize(zlib.decompress(data))
            for number, place, start, end, columns in db.execute("SELECT * FROM about").fetchall():
                ((rows,),) = db.execute(f"SELECT count(*) FROM t{int(number)} WHERE NOT total")
                known = tuple(Column(*fields) for fields in json.loads(columns))
                tables.append(Table(db, int(number), place, start, end, known, rows))
        yield tables
