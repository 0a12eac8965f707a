"""What is written into the tables of an index: SQL only, on a connection in the middle of a transaction."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from sqlite3 import Connection
from typing import TYPE_CHECKING

from local_rag.index.header import HEADER_VERSION, document_header, passage_header
from local_rag.index.name_words import folder_words, name_text
from local_rag.index.store import embedded, forgetting, full_text, reuse, schema, shapes
from local_rag.index.store.full_text import digest
from local_rag.index.store.schema import Failure, FileRow, Recipe, Root

if TYPE_CHECKING:
    from local_rag.core.documents import LoadedDocument
    from local_rag.core.protocols import Vectors
    from local_rag.text.chunking import Chunk

    NewDocument = tuple[LoadedDocument, Sequence[Chunk]]


def upgrade(db: Connection) -> None:
    """Add the columns and tables that an index of an earlier schema lacks; nothing of it is lost.

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


def write(db: Connection, file: FileRow, documents: Iterable[NewDocument]) -> int:
    """Store a file in place of what was stored under its path; how many of its chunks have the vector of their text.

    A document comes with its chunks. A chunk whose text the index has already, in this file or another, gets the vector
    of that; the vectors of the others come later (`embedded.set_vectors`).
    """
    known = reuse.vectors_of(db, file.path)
    left = _remove(db, [file.path])
    stored = (file.path, file.root, file.sha256, json.dumps(file.warnings), *_state(file))
    sql = (
        "INSERT INTO files (path, root, sha256, warnings, size, mtime_ns, ctime_ns, inode, indexed_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
    )
    number = db.execute(sql, stored).lastrowid
    words = path_words(file)
    numbers = [
        _write_document(db, number, file.path, position, document, words) for position, document in enumerate(documents)
    ]
    full_text.add(db, numbers)
    chunks = chunks_of(db, numbers)
    reused = reuse.take_over(db, chunks, known)
    embedded.take_in(db, [chunk for chunk, _ in chunks])
    drop_unused_headers(db, left)
    return reused


def _write_document(
    db: Connection, file: int | None, path: str, position: int, new: NewDocument, words: tuple[str, str]
) -> int:
    document, chunks = new
    header = document_header(path, document.title)
    values = {
        "file": file,
        "title": document.title,
        "page": document.page,
        "text": document.text,
        "url": document.url,
        "author": document.author,
        "date": document.date,
        "subject": document.subject,
        "name": words[0],
        "folders": words[1],
        "header": header,
        "header_version": HEADER_VERSION,
    }
    sql = f"INSERT INTO documents ({', '.join(values)}) VALUES ({', '.join('?' * len(values))})"
    number = int(db.execute(sql, tuple(values.values())).lastrowid or 0)
    headers = numbers_of_headers(db, [passage_header(header, chunk.heading) for chunk in chunks])
    sql = "INSERT INTO chunks (document, key, digest, start, end, heading, header) VALUES (?, ?, ?, ?, ?, ?, ?)"
    for chunk, named in zip(chunks, headers, strict=True):
        text = document.text[chunk.start : chunk.end]
        name = key(path, position, chunk.start, chunk.end, text)
        db.execute(sql, (number, name, digest(text), chunk.start, chunk.end, chunk.heading, named))
    return number


def path_words(file: FileRow) -> tuple[str, str]:
    """The words of a file's name, and those of its folders from its root on: what lies above says nothing about it."""
    path, root = Path(file.path), Path(file.root)
    is_below = path != root and path.is_relative_to(root)
    return name_text(file.path), " ".join(
        folder_words(str(Path(root.name, path.relative_to(root))) if is_below else file.path)
    )


def numbers_of_headers(db: Connection, texts: Sequence[str]) -> list[int | None]:
    """The numbers of headers, new ones where needed; None for an empty one."""
    distinct = [text for text in dict.fromkeys(texts) if text]
    db.executemany("INSERT OR IGNORE INTO headers (text) VALUES (?)", [(text,) for text in distinct])
    sql = "SELECT text, id FROM headers WHERE text IN (SELECT value FROM json_each(?))"
    numbers: dict[str, int] = dict(db.execute(sql, (json.dumps(distinct),)))
    return [numbers.get(text) for text in texts]


def drop_unused_headers(db: Connection, headers: Collection[int]) -> None:
    """Forget those of these headers that no chunk has any more."""
    unused = "NOT EXISTS (SELECT 1 FROM chunks WHERE chunks.header = headers.id)"
    db.executemany(f"DELETE FROM headers WHERE id = ? AND {unused}", [(number,) for number in headers])


def chunks_of(db: Connection, documents: Sequence[int]) -> list[tuple[int, bytes]]:
    """(chunk, digest) of all chunks of these documents, in their order."""
    sql = "SELECT id, digest FROM chunks WHERE document IN (SELECT value FROM json_each(?)) ORDER BY id"
    return db.execute(sql, (json.dumps(documents),)).fetchall()


def touch(db: Connection, files: Iterable[FileRow]) -> None:
    """The same content with another time of change, or found from another root."""
    rows = [(file.root, *_state(file), file.path) for file in files]
    columns = "root = ?, size = ?, mtime_ns = ?, ctime_ns = ?, inode = ?, indexed_at = ?"
    db.executemany(f"UPDATE files SET {columns} WHERE path = ?", rows)


def _state(file: FileRow) -> tuple[float, ...]:
    return file.size, file.mtime_ns, file.ctime_ns, file.inode, file.indexed_at


def remove(db: Connection, paths: Iterable[str]) -> None:
    """Take files out, with everything that was made of them."""
    drop_unused_headers(db, _remove(db, paths))


def _remove(db: Connection, paths: Iterable[str]) -> set[int]:
    """Take files out, but not the headers that they had: the numbers of these."""
    certain, headers = True, set[int]()
    for path in paths:
        sql = "SELECT documents.id FROM documents JOIN files ON files.id = documents.file WHERE path = ?"
        documents = [row[0] for row in db.execute(sql, (path,))]
        certain = full_text.remove(db, documents) and certain
        sql = "SELECT DISTINCT header FROM chunks WHERE document IN (SELECT value FROM json_each(?))"
        headers |= {row[0] for row in db.execute(sql, (json.dumps(documents),)) if row[0] is not None}
        db.execute("DELETE FROM failures WHERE path = ?", (path,))
        if db.execute("DELETE FROM files WHERE path = ?", (path,)).rowcount:
            set_meta(db, {forgetting.DUE: "1"})
    if not certain:
        restore_words(db)
    return headers


def restore_words(db: Connection) -> None:
    """Make the full-text index anew from the stored texts."""
    set_meta(db, {forgetting.DUE: "1"})
    full_text.restore(db)


def set_vectors(db: Connection, chunks: Sequence[int], vectors: Vectors) -> None:
    """Store vectors of texts in the place of those that these chunks had, if they had any."""
    embedded.set_vectors(db, chunks, dict(zip(chunks, vectors, strict=True)))


def set_headers(db: Connection, headers: Sequence[int], vectors: Vectors) -> None:
    """The same for headers, by their numbers."""
    embedded.set_vectors(db, (), {}, dict(zip(headers, vectors, strict=True)))


def add_fresh(db: Connection, ids: Sequence[int], vectors: Vectors) -> None:
    """Keep vectors of another embedder until all are there; chunks of equal texts get the same."""
    rows = [(number, embedded.blob(vector)) for number, vector in zip(ids, vectors, strict=True)]
    db.executemany("INSERT OR REPLACE INTO fresh VALUES (?, ?)", rows)
    reuse.spread(db, ids, "fresh")


def add_fresh_headers(db: Connection, headers: Sequence[int], vectors: Vectors) -> None:
    """The same for headers, by their numbers."""
    rows = [(number, embedded.blob(vector)) for number, vector in zip(headers, vectors, strict=True)]
    db.executemany("INSERT OR REPLACE INTO fresh_headers VALUES (?, ?)", rows)


def drop_fresh(db: Connection, fingerprint: str) -> None:
    """Forget collected vectors of any other embedder than this one."""
    known = db.execute("SELECT value FROM meta WHERE name = 'fresh'").fetchone()
    if known != (fingerprint,):
        db.execute("DELETE FROM fresh")
        db.execute("DELETE FROM fresh_headers")
        set_meta(db, {"fresh": fingerprint})


def adopt_fresh(db: Connection) -> None:
    """Put the collected vectors in the place of the old ones."""
    db.execute("DELETE FROM vectors")
    db.execute("INSERT INTO vectors SELECT chunk, vector FROM fresh")
    db.execute("UPDATE headers SET vector = (SELECT vector FROM fresh_headers WHERE header = headers.id)")
    db.execute("DELETE FROM fresh")
    db.execute("DELETE FROM fresh_headers")
    db.execute("DELETE FROM embedded")
    embedded.take_in(db, [row[0] for row in db.execute("SELECT id FROM chunks ORDER BY id")])
    db.execute("DELETE FROM meta WHERE name = 'fresh'")


def key(path: str, position: int, start: int, end: int, text: str) -> str:
    """What names a chunk: its file, which of its documents it is in, where, and its text."""
    return _hash(f"{path}\0{position}\0{start}\0{end}\0{text}").hex()


def _hash(text: str) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=12).digest()
