"""What is written into the tables of an index: SQL only, on a connection in the middle of a transaction."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from sqlite3 import Connection
from typing import TYPE_CHECKING

from local_rag.index.header import HEADER_VERSION, document_header, passage_header
from local_rag.index.store import embedded, forgetting, former, full_text, headers, reuse, upgrade
from local_rag.index.store.arrays import IN, array
from local_rag.index.store.full_text import digest
from local_rag.index.store.schema import Failure, FileRow, Recipe, Root

if TYPE_CHECKING:
    from local_rag.core.documents import LoadedDocument
    from local_rag.core.protocols import Vectors
    from local_rag.text.chunking import Chunk

    NewDocument = tuple[LoadedDocument, Sequence[Chunk]]


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
    of that; the vectors of the others come later (`embedded.set_vectors`). What has moved keeps its former paths, and
    its former keys where a chunk is as it was.
    """
    known = reuse.vectors_of(db, file.path)
    before = former.of_file(db, file.path)
    left = _remove(db, [file.path])
    stored = (file.path, file.root, file.sha256, json.dumps(file.warnings), *_state(file))
    sql = (
        "INSERT INTO files (path, root, sha256, warnings, size, mtime_ns, ctime_ns, inode, indexed_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
    )
    number = db.execute(sql, stored).lastrowid
    words = headers.path_words(file.path, file.root)
    numbers = [
        _write_document(db, number, file.path, position, document, words) for position, document in enumerate(documents)
    ]
    former.add(db, file.path, before)
    full_text.add(db, numbers)
    chunks = chunks_of(db, numbers)
    reused = reuse.take_over(db, chunks, known)
    reuse.set_aside(db, known)
    embedded.take_in(db, [chunk for chunk, _ in chunks])
    headers.drop_unused(db, left)
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
    numbers = headers.numbers(db, [passage_header(header, chunk.heading) for chunk in chunks])
    sql = "INSERT INTO chunks (document, key, digest, start, end, heading, header) VALUES (?, ?, ?, ?, ?, ?, ?)"
    for chunk, named in zip(chunks, numbers, strict=True):
        text = document.text[chunk.start : chunk.end]
        name = key(path, position, chunk.start, chunk.end, text)
        db.execute(sql, (number, name, digest(text), chunk.start, chunk.end, chunk.heading, named))
    return number


def chunks_of(db: Connection, documents: Sequence[int]) -> list[tuple[int, bytes]]:
    """(chunk, digest) of all chunks of these documents, in their order."""
    sql = f"SELECT id, digest FROM chunks WHERE document {IN} ORDER BY id"
    return db.execute(sql, (array(documents),)).fetchall()


def touch(db: Connection, files: Iterable[FileRow]) -> None:
    """The same content with another time of change, or found from another root."""
    rows = [(file.root, *_state(file), file.path) for file in files]
    columns = "root = ?, size = ?, mtime_ns = ?, ctime_ns = ?, inode = ?, indexed_at = ?"
    db.executemany(f"UPDATE files SET {columns} WHERE path = ?", rows)


def _state(file: FileRow) -> tuple[float, ...]:
    return file.size, file.mtime_ns, file.ctime_ns, file.inode, file.indexed_at


def remove(db: Connection, paths: Iterable[str]) -> None:
    """Take files out, with everything that was made of them."""
    headers.drop_unused(db, _remove(db, paths))


def _remove(db: Connection, paths: Iterable[str]) -> set[int]:
    """Take files out, but not the headers that they had: the numbers of these."""
    certain, left = True, set[int]()
    for path in paths:
        documents = upgrade.documents_at(db, path)
        certain = full_text.remove(db, documents) and certain
        left |= headers.of_documents(db, documents)
        db.execute("DELETE FROM failures WHERE path = ?", (path,))
        if db.execute("DELETE FROM files WHERE path = ?", (path,)).rowcount:
            set_meta(db, {forgetting.DUE: "1"})
    if not certain:
        restore_words(db)
    return left


def restore_words(db: Connection) -> None:
    """Make the full-text index anew from the stored texts."""
    set_meta(db, {forgetting.DUE: "1"})
    full_text.restore(db)


def add_fresh(db: Connection, ids: Sequence[int], vectors: Vectors) -> None:
    """Keep vectors of another embedder until all are there; chunks of equal texts get the same."""
    rows = [(number, embedded.blob(vector)) for number, vector in zip(ids, vectors, strict=True)]
    db.executemany("INSERT OR REPLACE INTO fresh VALUES (?, ?)", rows)
    reuse.spread(db, ids, "fresh")


def add_fresh_headers(db: Connection, numbers: Sequence[int], vectors: Vectors) -> None:
    """The same for headers, by their numbers."""
    rows = [(number, embedded.blob(vector)) for number, vector in zip(numbers, vectors, strict=True)]
    db.executemany("INSERT OR REPLACE INTO fresh_headers VALUES (?, ?)", rows)


def drop_fresh(db: Connection, fingerprint: str) -> None:
    """Forget collected vectors of any other embedder than this one."""
    known = db.execute("SELECT value FROM meta WHERE name = 'fresh'").fetchone()
    if known != (fingerprint,):
        db.execute("DELETE FROM fresh")
        db.execute("DELETE FROM fresh_headers")
        set_meta(db, {"fresh": fingerprint})


def adopt_fresh(db: Connection) -> None:
    """Put the collected vectors in the place of the old ones, of which none stays for texts that come back."""
    reuse.drop_spare(db)
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
