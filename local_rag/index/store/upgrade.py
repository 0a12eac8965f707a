"""An index of an earlier version brought up to date in place: its tables at once, its documents step by step.

A document has a header once its file is read again, or where that cannot be, from what is stored. Until all have one
the earlier full text answers, and vectors are searched without headers.
"""

from __future__ import annotations

from collections.abc import Collection
from sqlite3 import Connection

from local_rag.index.header import HEADER_VERSION, document_header, passage_header
from local_rag.index.store import embedded, forgetting, full_text, headers, schema, shapes
from local_rag.index.store.arrays import IN, array
from local_rag.text.urls import is_page


def add_tables(db: Connection) -> None:
    """Add the columns and tables that the index lacks; nothing of it is lost.

    Its vectors keep their numbers, so that the file of quantized vectors stays good.
    """
    for table, column, declaration in schema.NEW_COLUMNS:
        if column not in shapes.columns(db, table):
            db.execute(f"ALTER TABLE {table} ADD COLUMN {column} {declaration}")
    had_numbers = shapes.has_table(db, "embedded")
    for statement in filter(str.strip, schema.NEW_TABLES.split(";")):
        db.execute(statement)
    if not had_numbers:
        db.execute("INSERT INTO embedded (seq, chunk) SELECT chunk, chunk FROM vectors ORDER BY chunk")
    rows = {"schema": str(schema.VERSION), forgetting.DUE: "1"}  # earlier removals left words behind
    db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", rows.items())


def is_due(db: Connection) -> bool:
    """Whether an earlier version made something of the index that the next sync brings up to date."""
    if shapes.is_behind(db) or shapes.has_table(db, "words"):
        return True
    return bool(behind(db, 1))


def behind(db: Connection, limit: int = -1) -> list[int]:
    """The documents whose header is of an earlier version, or that have none; all, or so many of them."""
    sql = "SELECT id FROM documents WHERE header_version > ? AND header_version < ? LIMIT ?"
    return [row[0] for row in db.execute(sql, (-HEADER_VERSION, HEADER_VERSION, limit))]


def files_behind(db: Connection) -> set[str]:
    """The paths of the files that are read again when they can be: their header is of an earlier version, or of
    what was stored. Pages of the web are never fetched for that.
    """
    sql = "SELECT DISTINCT path FROM documents JOIN files ON files.id = documents.file WHERE header_version < ?"
    return {row[0] for row in db.execute(sql, (HEADER_VERSION,)) if not is_page(row[0])}


def documents_at(db: Connection, path: str) -> list[int]:
    """The documents of the file under this path."""
    sql = "SELECT documents.id FROM documents JOIN files ON files.id = documents.file WHERE path = ?"
    return [row[0] for row in db.execute(f"{sql} ORDER BY documents.id", (path,))]


def paths_of(db: Connection, documents: Collection[int]) -> set[str]:
    """The paths of the files that these documents are of."""
    sql = "SELECT DISTINCT path FROM documents JOIN files ON files.id = documents.file WHERE documents.id"
    return {row[0] for row in db.execute(f"{sql} {IN}", (array(documents),))}


def head(db: Connection, documents: Collection[int], *, lasting: bool = False) -> None:
    """Give documents their header, and a place in the full text, from what is stored of them.

    `lasting`: their files were read again in vain, and will not be; so it is with pages of the web.
    """
    sql = (
        "SELECT documents.id, path, root, title FROM documents JOIN files ON files.id = documents.file"
        f" WHERE documents.id {IN}"
    )
    rows = db.execute(sql, (array(documents),)).fetchall()
    certain = full_text.remove(db, full_text.held(db, documents), earlier=False)
    left = headers.of_documents(db, documents)
    for document, path, root, title in rows:
        header = document_header(path, title)
        version = HEADER_VERSION if lasting or is_page(path) else -HEADER_VERSION
        names = (*headers.path_words(path, root), header, version, document)
        db.execute("UPDATE documents SET name = ?, folders = ?, header = ?, header_version = ? WHERE id = ?", names)
        chunks = db.execute("SELECT id, heading FROM chunks WHERE document = ?", (document,)).fetchall()
        numbers = headers.numbers(db, [passage_header(header, heading) for _, heading in chunks])
        changes = [(number, chunk) for number, (chunk, _) in zip(numbers, chunks, strict=True)]
        db.executemany("UPDATE chunks SET header = ? WHERE id = ?", changes)
        embedded.take_in(db, [chunk for chunk, _ in chunks])
    full_text.add_columns(db, [row[0] for row in rows])
    headers.drop_unused(db, left)
    if not certain:
        full_text.restore(db)
