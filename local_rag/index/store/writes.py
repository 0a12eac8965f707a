"""What is written into the tables of an index: SQL only, on a connection in the middle of a transaction."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from sqlite3 import Connection
from typing import TYPE_CHECKING, Any

from local_rag.index.store import forgetting, schema
from local_rag.index.store.reads import columns
from local_rag.index.store.schema import Failure, FileRow, Recipe, Root

if TYPE_CHECKING:
    from local_rag.core.documents import LoadedDocument
    from local_rag.core.protocols import Vectors
    from local_rag.text.chunking import Chunk

    NewDocument = tuple[LoadedDocument, Sequence[Chunk], Iterable[Vectors]]


def upgrade(db: Connection) -> None:
    """Add the columns and tables that an index of an earlier schema lacks; nothing of it is lost."""
    for table, column, declaration in schema.NEW_COLUMNS:
        if column not in columns(db, table):
            db.execute(f"ALTER TABLE {table} ADD COLUMN {column} {declaration}")
    for statement in filter(str.strip, schema.NEW_TABLES.split(";")):
        db.execute(statement)
    set_meta(db, {"schema": str(schema.VERSION), forgetting.DUE: "1"})  # earlier removals left words behind


def set_meta(db: Connection, values: Mapping[str, str]) -> None:
    db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", values.items())


def set_recipe(db: Connection, recipe: Recipe) -> None:
    set_meta(db, {name: str(value) for name, value in asdict(recipe).items()})


def set_roots(db: Connection, roots: Sequence[Root]) -> None:
    rows = [(r.path, json.dumps(r.excludes), r.secrets, r.follow_links, r.links_reported) for r in roots]
    sql = "INSERT OR REPLACE INTO roots (path, excludes, secrets, follow_links, links_reported) VALUES (?, ?, ?, ?, ?)"
    db.executemany(sql, rows)
    db.executemany("DELETE FROM excluded WHERE path = ?", [(root.path,) for root in roots])


def forget_roots(db: Connection, paths: Iterable[str]) -> None:
    """Forget roots, but not what a person excluded from them."""
    rows = [(path,) for path in paths]
    kept = "SELECT path, excludes FROM roots WHERE path = ? AND excludes != '[]'"
    db.executemany(f"INSERT OR REPLACE INTO excluded (path, excludes) {kept}", rows)
    db.executemany("DELETE FROM roots WHERE path = ?", rows)


def set_reported(db: Connection, warnings: Iterable[tuple[str, str]]) -> None:
    """Remember the (path, reason) pairs that were reported, and no others."""
    db.execute("DELETE FROM reported")
    db.executemany("INSERT OR IGNORE INTO reported VALUES (?, ?)", warnings)


def forget_reported(db: Connection, paths: Iterable[str]) -> None:
    db.executemany("DELETE FROM reported WHERE path = ?", [(path,) for path in paths])


def set_failures(db: Connection, failures: Iterable[Failure]) -> None:
    rows = [(failure.path, failure.sha256, failure.parser, failure.reason) for failure in failures]
    db.executemany("INSERT OR REPLACE INTO failures (path, sha256, parser, reason) VALUES (?, ?, ?, ?)", rows)


def forget_failures(db: Connection, paths: Iterable[str]) -> None:
    db.executemany("DELETE FROM failures WHERE path = ?", [(path,) for path in paths])


def write(db: Connection, file: FileRow, documents: Iterable[NewDocument]) -> None:
    """Store a file in place of what was stored under its path.

    A document comes with its chunks and a vector (d,) for each of them.
    """
    remove(db, [file.path])
    stored = (file.path, file.root, file.sha256, json.dumps(file.warnings), *_state(file))
    sql = (
        "INSERT INTO files (path, root, sha256, warnings, size, mtime_ns, ctime_ns, inode, indexed_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
    )
    number = db.execute(sql, stored).lastrowid
    for position, document in enumerate(documents):
        _write_document(db, number, file.path, position, document)


def _write_document(db: Connection, file: int | None, path: str, position: int, new: NewDocument) -> None:
    document, chunks, vectors = new
    sql = "INSERT INTO documents (file, title, page, text, url) VALUES (?, ?, ?, ?, ?)"
    number = db.execute(sql, (file, document.title, document.page, document.text, document.url)).lastrowid
    for chunk, vector in zip(chunks, vectors, strict=True):
        text = document.text[chunk.start : chunk.end]
        named = key(path, position, chunk.start, chunk.end, text)
        sql = "INSERT INTO chunks (document, key, digest, start, end, heading) VALUES (?, ?, ?, ?, ?, ?)"
        row = db.execute(sql, (number, named, digest(text), chunk.start, chunk.end, chunk.heading)).lastrowid
        db.execute("INSERT INTO vectors VALUES (?, ?)", (row, _blob(vector)))
        sql = "INSERT INTO words (rowid, text, heading, title) VALUES (?, ?, ?, ?)"
        db.execute(sql, (row, text, chunk.heading, document.title))


def touch(db: Connection, files: Iterable[FileRow]) -> None:
    """The same content with another time of change, or found from another root."""
    rows = [(file.root, *_state(file), file.path) for file in files]
    columns = "root = ?, size = ?, mtime_ns = ?, ctime_ns = ?, inode = ?, indexed_at = ?"
    db.executemany(f"UPDATE files SET {columns} WHERE path = ?", rows)


def _state(file: FileRow) -> tuple[float, ...]:
    return file.size, file.mtime_ns, file.ctime_ns, file.inode, file.indexed_at


def remove(db: Connection, paths: Iterable[str]) -> None:
    """Take files out, with everything that was made of them."""
    certain = True
    for path in paths:
        for document in db.execute(f"{_DOCUMENTS} WHERE files.path = ?", (path,)).fetchall():
            certain = _remove_words(db, *document) and certain
        db.execute("DELETE FROM failures WHERE path = ?", (path,))
        if db.execute("DELETE FROM files WHERE path = ?", (path,)).rowcount:
            set_meta(db, {forgetting.DUE: "1"})
    if not certain:
        restore_words(db)


_DOCUMENTS = """SELECT documents.id, CAST(title AS BLOB), CAST(text AS BLOB)
FROM documents JOIN files ON files.id = documents.file"""
"""As bytes: a damaged text may be none."""


def _remove_words(db: Connection, document: int, title: bytes, text: bytes) -> bool:
    """FTS5 needs the words again to forget them; False if they are not those that were stored."""
    rows = list(_words(db, document, title, text))
    if any(digest(chunk) != stored for _, chunk, _, _, stored in rows):
        return False
    sql = "INSERT INTO words (words, rowid, text, heading, title) VALUES ('delete', ?, ?, ?, ?)"
    db.executemany(sql, [row[:-1] for row in rows])
    return True


def _words(db: Connection, document: int, title: bytes, text: bytes) -> Iterator[tuple[int, str, str, str, bytes]]:
    """(chunk, text, heading, title, stored digest) of each chunk of a document."""
    whole, name = text.decode("utf-8", "replace"), title.decode("utf-8", "replace")
    sql = "SELECT id, start, end, CAST(heading AS BLOB), digest FROM chunks WHERE document = ?"
    for row, start, end, heading, stored in db.execute(sql, (document,)).fetchall():
        yield row, whole[start:end], heading.decode("utf-8", "replace"), name, stored


def restore_words(db: Connection) -> None:
    """Make the full-text index anew from the stored texts."""
    set_meta(db, {forgetting.DUE: "1"})
    db.execute("INSERT INTO words (words) VALUES ('delete-all')")
    sql = "INSERT INTO words (rowid, text, heading, title) VALUES (?, ?, ?, ?)"
    for document in db.execute(f"{_DOCUMENTS} ORDER BY documents.id"):
        db.executemany(sql, [row[:-1] for row in _words(db, *document)])


def set_vectors(db: Connection, ids: Sequence[int], vectors: Vectors) -> None:
    """Store vectors in the place of those that these chunks had, if they had any."""
    rows = [(number, _blob(vector)) for number, vector in zip(ids, vectors, strict=True)]
    db.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", rows)


def add_fresh(db: Connection, ids: Sequence[int], vectors: Vectors) -> None:
    """Keep vectors of another embedder until all are there."""
    rows = [(number, _blob(vector)) for number, vector in zip(ids, vectors, strict=True)]
    db.executemany("INSERT OR REPLACE INTO fresh VALUES (?, ?)", rows)


def drop_fresh(db: Connection, fingerprint: str) -> None:
    """Forget collected vectors of any other embedder than this one."""
    known = db.execute("SELECT value FROM meta WHERE name = 'fresh'").fetchone()
    if known != (fingerprint,):
        db.execute("DELETE FROM fresh")
        set_meta(db, {"fresh": fingerprint})


def adopt_fresh(db: Connection) -> None:
    """Put the collected vectors in the place of the old ones."""
    db.execute("DELETE FROM vectors")
    db.execute("INSERT INTO vectors SELECT chunk, vector FROM fresh")
    db.execute("DELETE FROM fresh")
    db.execute("DELETE FROM meta WHERE name = 'fresh'")


def key(path: str, position: int, start: int, end: int, text: str) -> str:
    """What names a chunk: its file, which of its documents it is in, where, and its text."""
    return _hash(f"{path}\0{position}\0{start}\0{end}\0{text}").hex()


def digest(text: str) -> bytes:
    """What tells texts apart, white space aside."""
    return _hash(" ".join(text.split()))


def _hash(text: str) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=12).digest()


def _blob(vector: Any) -> bytes:
    blob: bytes = vector.astype("<f4").tobytes()
    return blob
