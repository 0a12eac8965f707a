"""The stored texts of one file, as they are read to be shown: SQL only."""

from __future__ import annotations

from dataclasses import dataclass
from sqlite3 import Connection

from local_rag.index.store import reads, shapes


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """A document of a file without its text: `number` counts from 0 in the file, `characters` are code points."""

    number: int
    page: int | None
    title: str
    characters: int
    author: str = ""
    date: str = ""


def documents(db: Connection, path: str) -> list[StoredDocument]:
    """The documents of a file in their order."""
    stated = ", ".join(shapes.column(db, "documents", name, "''") for name in ("author", "date"))
    rows = db.execute(
        f"SELECT page, title, length(text), {stated} FROM documents JOIN files ON files.id = file WHERE path = ?"
        " ORDER BY documents.id",
        (path,),
    )
    return [StoredDocument(number, *row) for number, row in enumerate(rows)]


def text(db: Connection, path: str, number: int) -> str:
    """The text of a document of a file; "" where there is none."""
    sql = (
        "SELECT text FROM documents JOIN files ON files.id = file WHERE path = ? ORDER BY documents.id LIMIT 1 OFFSET ?"
    )
    row = db.execute(sql, (path, number)).fetchone()
    return str(row[0]) if row else ""


def number_of(db: Connection, path: str, key: str) -> int | None:
    """The number of the document of a file that a chunk is of, also by a former key; None where it is of none."""
    chunk = reads.chunks_by_key(db, [key]).get(key)
    sql = (
        "SELECT number FROM (SELECT row_number() OVER (ORDER BY documents.id) - 1 AS number, documents.id AS document"
        " FROM documents JOIN files ON files.id = file WHERE path = ?) JOIN chunks USING (document) WHERE chunks.id = ?"
    )
    row = db.execute(sql, (path, chunk)).fetchone()
    return row[0] if row else None


def with_quote(db: Connection, path: str, quote: str, start: int | None = None) -> list[int]:
    """The numbers of the documents of a file that hold a quote: at this code point, or anywhere where none is given."""
    holds = "instr(text, ?) > 0" if start is None else "substr(text, ?, length(?)) = ?"
    values = (quote,) if start is None else (start + 1, quote, quote)
    sql = (
        "SELECT number FROM (SELECT row_number() OVER (ORDER BY documents.id) - 1 AS number, text FROM documents"
        f" JOIN files ON files.id = file WHERE path = ?) WHERE {holds}"
    )
    return [row[0] for row in db.execute(sql, (path, *values))]
