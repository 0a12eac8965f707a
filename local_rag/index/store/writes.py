"""What is written into the tables of an index: SQL only, on a connection in the middle of a transaction."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, astuple
from functools import singledispatch
from pathlib import Path
from typing import TYPE_CHECKING, Any

from local_rag.index.store import full_text
from local_rag.index.store.database import IN, Database, array
from local_rag.index.store.full_text import digest
from local_rag.index.store.schema import Failure, FileRow, IndexSettings, Root
from local_rag.text import names
from local_rag.text.names import document_header, passage_header

if TYPE_CHECKING:
    from local_rag.core.documents import LoadedDocument
    from local_rag.text.chunking import Chunk

    NewDocument = tuple[LoadedDocument, Sequence[Chunk]]

FORGET = "forget"
"""The row of `meta` that stands from a removal until no file holds a byte of what was removed."""


def set_meta(db: Database, values: Mapping[str, str]) -> None:
    sql = "INSERT INTO meta VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value"
    db.executemany(sql, list(values.items()))


@singledispatch
def set_settings(db: Database, settings: IndexSettings) -> None:
    """Say what makes the index from now on; vectors in memory or in a file are those of another one."""
    set_meta(db, {name: str(value) for name, value in asdict(settings).items()} | {"epoch": secrets.token_hex(8)})
    db.execute("DELETE FROM meta WHERE name = 'vectors'")


def set_roots(db: Database, roots: Sequence[Root]) -> None:
    rows = [(root.path, json.dumps(root.excludes), root.secrets, root.follow_links) for root in roots]
    db.executemany("DELETE FROM roots WHERE path = ?", [(root.path,) for root in roots])
    db.executemany("INSERT INTO roots VALUES (?, ?, ?, ?)", rows)
    db.executemany("DELETE FROM excluded WHERE path = ?", [(root.path,) for root in roots])


def forget_roots(db: Database, paths: Iterable[str]) -> None:
    """Forget roots, but not what a person excluded from them."""
    listed = array(paths)
    kept = f"SELECT path, excludes FROM roots WHERE path {IN} AND excludes != '[]'"
    db.execute(f"DELETE FROM excluded WHERE path IN (SELECT path FROM roots WHERE path {IN})", (listed,))
    db.execute(f"INSERT INTO excluded (path, excludes) {kept}", (listed,))
    db.execute(f"DELETE FROM roots WHERE path {IN}", (listed,))


def set_reported(db: Database, warnings: Iterable[tuple[str, str]]) -> None:
    """Remember the (path, reason) pairs that were reported, and no others."""
    db.execute("DELETE FROM reported")
    db.executemany("INSERT INTO reported VALUES (?, ?) ON CONFLICT DO NOTHING", list(warnings))


def set_failures(db: Database, failures: Iterable[Failure]) -> None:
    rows = [astuple(failure) for failure in failures]
    db.executemany("DELETE FROM failures WHERE path = ?", [row[:1] for row in rows])
    db.executemany("INSERT INTO failures VALUES (?, ?, ?, ?)", rows)


def forget_unread(db: Database, paths: Iterable[str], *, reported: bool = False) -> None:
    """Forget that files could not be read, and where `reported` is set, that it was reported."""
    db.execute(f"DELETE FROM failures WHERE path {IN}", (listed := array(paths),))
    if reported:
        db.execute(f"DELETE FROM reported WHERE path {IN}", (listed,))


# --- files


@singledispatch
def write(db: Database, file: FileRow, documents: Iterable[NewDocument], *, more: bool = False) -> int:
    """Store a file in place of what was stored under its path; how many of its chunks have the vector of their text.

    A document comes with its chunks. `more`: they follow those that are stored of the file already. A chunk whose text
    the index has already, in this file or another, gets the vector of that; the vectors of the others come later.
    """
    folders = " ".join(names.folder_words(below(file)))
    if not more:
        remove(db, [file.path])
        values = {name: getattr(file, name) for name in FileRow.__dataclass_fields__}
        lists = {"warnings": json.dumps(file.warnings), "scans": json.dumps(file.scans)}
        _insert(db, "files", values | lists)
    number, stored = db.execute(
        "SELECT files.id, count(documents.id) FROM files LEFT JOIN documents ON file = files.id WHERE path = ?",
        (file.path,),
    ).fetchone()
    titles = {row[0] for row in db.execute("SELECT DISTINCT title FROM documents WHERE file = ?", (number,))}
    numbers = []
    for position, (document, chunks) in enumerate(documents, start=stored):
        said = {name: getattr(document, name) for name in ("title", "author", "date", "subject")} | {"folders": folders}
        headings = json.dumps([astuple(heading) for heading in document.headings], ensure_ascii=False)
        whole = {"page": document.page, "url": document.url, "headings": headings, "lines": json.dumps(document.lines)}
        name = names.name_text(file.path)
        numbers.append(_insert(db, "documents", {"file": number, "name": name, "text": document.text} | said | whole))
        if document.title not in titles:  # the pages of a file share one row
            titles.add(document.title)
            _insert(db, "names", {"rowid": numbers[-1], "name": names.called(file.path)} | said)
        _write_chunks(db, numbers[-1], file.path, position, document, chunks)
    full_text.add(db, numbers)
    _show(db, f"document {IN}", listed := array(numbers))
    sql = f"SELECT count(*) FROM chunks JOIN vectors USING (digest) WHERE document {IN}"
    return int(db.execute(sql, (listed,)).fetchone()[0])


def below(file: FileRow) -> str:
    """The path of a file from its root on: what lies above says nothing about it."""
    path, root = Path(file.path), Path(file.root)
    is_below = path != root and path.is_relative_to(root)
    return str(Path(root.name, path.relative_to(root))) if is_below else file.path


def _insert(db: Database, table: str, values: Mapping[str, object]) -> int:
    """The id of the new row."""
    sql = f"INSERT INTO {table} ({', '.join(values)}) VALUES ({', '.join('?' * len(values))})"
    db.execute(sql, tuple(values.values()))
    return int(db.execute("SELECT last_insert_rowid()").fetchone()[0])


def _write_chunks(
    db: Database, number: int, path: str, position: int, document: LoadedDocument, chunks: Sequence[Chunk]
) -> None:
    header = document_header(path, document.title)
    headers = _headers(db, [passage_header(header, chunk.heading) for chunk in chunks])
    sql = "INSERT INTO chunks (document, key, digest, start, end, heading, header) VALUES (?, ?, ?, ?, ?, ?, ?)"
    for chunk, named in zip(chunks, headers, strict=True):
        text = document.text[chunk.start : chunk.end]
        name = key(path, position, chunk.start, chunk.end, text)
        db.execute(sql, (number, name, digest(text), *chunk, named))


def _headers(db: Database, texts: Sequence[str]) -> list[int | None]:
    """The numbers of headers, new ones where needed; None for an empty one."""
    distinct = [text for text in dict.fromkeys(texts) if text]
    db.executemany("INSERT OR IGNORE INTO headers (text) VALUES (?)", [(text,) for text in distinct])
    known: dict[str, int] = dict(db.execute(f"SELECT text, id FROM headers WHERE text {IN}", (array(distinct),)))
    return [known.get(text) for text in texts]


def finish(db: Database, file: FileRow) -> None:
    """All parts of a file are stored: it has this content. Until then a later sync reads it again."""
    values = (file.sha256, json.dumps(file.warnings), json.dumps(file.scans), file.path)
    db.execute("UPDATE files SET sha256 = ?, warnings = ?, scans = ? WHERE path = ?", values)


def touch(db: Database, files: Iterable[FileRow]) -> None:
    """The same content with another time of change, or found from another root."""
    rows = [(f.root, f.size, f.mtime_ns, f.ctime_ns, f.inode, f.indexed_at, f.path, f.path) for f in files]
    columns = "root = ?, size = ?, mtime_ns = ?, ctime_ns = ?, inode = ?, indexed_at = ?"
    db.executemany(f"UPDATE files SET {columns} WHERE path = ? OR container = ?", rows)


@singledispatch
def remove(db: Database, paths: Iterable[str]) -> None:
    """Take files out, with everything that was made of them and of what lies inside of them.

    The vectors of their texts stay until `drop_unused`: what left one file may come in another.
    """
    for path in paths:
        sql = "SELECT id FROM documents WHERE file IN (SELECT id FROM files WHERE path = ? OR container = ?)"
        documents = [row[0] for row in db.execute(sql, (path, path))]
        full_text.remove(db, documents)
        db.execute(f"DELETE FROM names WHERE rowid {IN}", (array(documents),))
        if db.execute("DELETE FROM files WHERE path = ? OR container = ?", (path, path)).rowcount:
            set_meta(db, {FORGET: "1"})
        db.execute("DELETE FROM failures WHERE path = ?", (path,))


def drop_unused(db: Database) -> None:
    """Forget what only a text that is gone needed: vectors and headers. What is compared lies in indexes."""
    unused = "(SELECT digest FROM vectors EXCEPT SELECT digest FROM chunks)"
    db.execute(f"DELETE FROM vectors WHERE digest IN {unused}")
    db.execute("DELETE FROM headers WHERE id IN (SELECT id FROM headers EXCEPT SELECT header FROM chunks)")


def key(path: str, position: int, start: int, end: int, text: str) -> str:
    """What names a chunk: its file, which of its documents it is in, where, and its text."""
    named = f"{path}\0{position}\0{start}\0{end}\0{text}"
    return hashlib.blake2b(named.encode(), digest_size=12).hexdigest()


# --- vectors


@singledispatch
def set_vectors(db: Database, chunks: Sequence[int], texts: Mapping[int, Any], headers: Mapping[int, Any]) -> None:
    """Store the vectors (d,) of texts, by chunk, and of headers, by their number, and let vector search see them.

    Chunks of equal texts share a vector. Chunks and headers that are gone by now are left out.
    """
    digests = db.execute(f"SELECT digest, id FROM chunks WHERE id {IN}", (array(texts),)).fetchall()
    rows = [(digest, blob(texts[chunk])) for digest, chunk in digests]
    db.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", rows)
    db.executemany("UPDATE headers SET vector = ? WHERE id = ?", [(blob(v), number) for number, v in headers.items()])
    _show(db, f"chunks.id IN ({_SHARING})", array([*chunks, *texts]), array(headers))


_SHARING = (
    f"SELECT id FROM chunks WHERE digest IN (SELECT digest FROM chunks WHERE id {IN})"
    f" UNION SELECT id FROM chunks WHERE header {IN}"
)
"""The chunks whose text is that of one of these chunks, or whose header is one of these headers."""


def _show(db: Database, where: str, *values: object) -> None:
    """Let vector search see those of these chunks that have all their vectors."""
    db.execute(
        "INSERT OR IGNORE INTO embedded (chunk) SELECT chunks.id FROM chunks CROSS JOIN vectors USING (digest)"
        " LEFT JOIN headers ON headers.id = chunks.header"
        f" WHERE {where} AND (chunks.header IS NULL OR headers.vector IS NOT NULL) ORDER BY chunks.id",
        values,
    )


@singledispatch
def drop_vectors(db: Database, chunks: Collection[int] | None = None, headers: Collection[int] = ()) -> None:
    """Forget the vectors of the texts of these chunks, and those of headers, by their number: both wait for others.

    Without chunks all are forgotten.
    """
    if chunks is None:
        for statement in ("DELETE FROM vectors", "DELETE FROM embedded", "UPDATE headers SET vector = NULL"):
            db.execute(statement)
        return
    db.execute(f"DELETE FROM embedded WHERE chunk IN ({_SHARING})", (array(chunks), array(headers)))
    db.execute(f"DELETE FROM vectors WHERE digest IN (SELECT digest FROM chunks WHERE id {IN})", (array(chunks),))
    db.execute(f"UPDATE headers SET vector = NULL WHERE id {IN}", (array(headers),))


def blob(vector: Any) -> bytes:
    """A vector (d,) as it is stored."""
    stored: bytes = vector.astype("<f4").tobytes()
    return stored
