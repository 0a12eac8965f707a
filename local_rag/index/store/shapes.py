"""How an index of an earlier schema is read as it is: SQL in the place of the tables and columns that it lacks."""

from __future__ import annotations

from sqlite3 import Connection

from local_rag.index.store import schema


def columns(db: Connection, table: str) -> list[str]:
    """The names of the columns of a table."""
    return [row[0] for row in db.execute("SELECT name FROM pragma_table_info(?)", (table,))]


def tables(db: Connection) -> set[str]:
    """The names of all tables."""
    return {row[0] for row in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}


def has_table(db: Connection, name: str) -> bool:
    return db.execute("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?", (name,)).fetchone() is not None


def is_behind(db: Connection) -> bool:
    """Whether the index is of an earlier schema, or lacks a column that later indexes of the same schema have."""
    row = db.execute("SELECT value FROM meta WHERE name = 'schema'").fetchone()
    lacking = any(column not in columns(db, table) for table, column, _ in schema.NEW_COLUMNS)
    return lacking or row != (str(schema.VERSION),)


def column(db: Connection, table: str, name: str, instead: str = "0") -> str:
    """The column in SQL, or what stands for it where the index lacks it."""
    return name if name in columns(db, table) else f"{instead} AS {name}"


def embedded(db: Connection) -> str:
    """`embedded` in SQL; of an earlier schema all chunks, in the order of their ids."""
    return "embedded" if has_table(db, "embedded") else "(SELECT id AS seq, id AS chunk, NULL AS header FROM chunks)"


def full_text(db: Connection) -> str:
    """The table whose words are ranked: that of the earlier schema for as long as it is there."""
    return "words" if has_table(db, "words") else "full_text"


def stems(db: Connection) -> str:
    """The table that counts in how many chunks each stem occurs."""
    return "vocabulary" if has_table(db, "vocabulary") else "stems"
