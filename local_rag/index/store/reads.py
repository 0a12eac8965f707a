"""What is read from the tables of an index: SQL only. Ids that are gone are left out of every result."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, datetime
from sqlite3 import Connection
from typing import TYPE_CHECKING

from local_rag.index.store import schema, shapes
from local_rag.index.store.arrays import IN, array
from local_rag.index.store.schema import Failure, FileName, FileRow, IndexedFile, Passage, Recipe, Root
from local_rag.text.urls import is_page

if TYPE_CHECKING:
    from local_rag.index.store.quantized_vectors import Ids

_OF_FILES = f"SELECT chunks.id FROM chunks JOIN documents ON documents.id = document WHERE documents.file {IN}"


# --- the index as a whole


def meta(db: Connection) -> dict[str, str]:
    """The rows of `meta`; what a commit renews may be missing."""
    return {"generation": "none", "epoch": "none", **dict(db.execute("SELECT name, value FROM meta"))}


def gap(db: Connection) -> str:
    """Which row of `meta` is missing or has a value that it cannot have; "" if none."""
    known = meta(db)
    for name in ("schema", *schema.RECIPE):
        if name not in known:
            return f"its table meta lacks the row {name!r}"
        if name in schema.NUMBERS and not known[name].isdigit():
            return f"{name!r} in its table meta is no number"
    return ""


def recipe(db: Connection) -> Recipe:
    known = meta(db)
    return Recipe(known["embedder"], known["fingerprint"], *(int(known[name]) for name in schema.NUMBERS))


def counts(db: Connection) -> tuple[int, int, int]:
    """How many files, documents and chunks there are."""
    sql = "SELECT (SELECT count(*) FROM files), (SELECT count(*) FROM documents), (SELECT count(*) FROM chunks)"
    numbers: tuple[int, int, int] = db.execute(sql).fetchone()
    return numbers


def content(db: Connection) -> str:
    """A digest of the keys of all chunks, which name their file, position and text."""
    (keys,) = db.execute(
        "SELECT group_concat(key || char(10), '') FROM (SELECT key FROM chunks ORDER BY key)"
    ).fetchone()
    return hashlib.sha256((keys or "").encode()).hexdigest()[:16]


# --- roots, files and pages


def roots(db: Connection) -> list[Root]:
    since_2 = ", ".join(shapes.column(db, "roots", name) for name in ("follow_links", "links_reported"))
    rows = db.execute(f"SELECT path, excludes, secrets, {since_2} FROM roots ORDER BY path")
    return [
        Root(path, tuple(json.loads(excludes)), bool(secrets), bool(follow), bool(links_reported))
        for path, excludes, secrets, follow, links_reported in rows
    ]


def excluded(db: Connection) -> dict[str, tuple[str, ...]]:
    """What was excluded from roots that were forgotten, by their paths."""
    return {path: tuple(json.loads(excludes)) for path, excludes in db.execute("SELECT path, excludes FROM excluded")}


def reported(db: Connection) -> set[tuple[str, str]]:
    """What earlier syncs reported as skipped: (path, reason)."""
    return set(db.execute("SELECT path, reason FROM reported"))


def failures(db: Connection) -> dict[str, Failure]:
    """Path -> why its content could not be read."""
    return {row[0]: Failure(*row) for row in db.execute("SELECT path, sha256, parser, reason FROM failures")}


def files(db: Connection) -> list[FileRow]:
    return _file_rows(db, "", ())


def file_rows(db: Connection, paths: Collection[str]) -> list[FileRow]:
    """The files and pages that are stored under these paths."""
    return _file_rows(db, f"WHERE path {IN}", (array(paths),))


def pages(db: Connection, urls: Sequence[str]) -> list[FileRow]:
    """The pages that are stored under one of these URLs, or were indexed through one."""
    return _file_rows(db, f"WHERE path {IN} OR root {IN}", (array(urls),) * 2)


def _file_rows(db: Connection, where: str, values: Sequence[str]) -> list[FileRow]:
    since_2 = ", ".join(shapes.column(db, "files", name) for name in ("ctime_ns", "inode"))
    names = f"path, root, sha256, size, mtime_ns, warnings, indexed_at, id, {since_2}"
    sql = f"SELECT {names} FROM files {where} ORDER BY path"
    return [
        FileRow(path, root, sha256, size, mtime_ns, tuple(json.loads(warnings)), *rest)
        for path, root, sha256, size, mtime_ns, warnings, *rest in db.execute(sql, values)
    ]


def paths(db: Connection) -> list[str]:
    """The paths of all files, and the URLs of pages."""
    return [row[0] for row in db.execute("SELECT path FROM files ORDER BY path")]


def header_version(db: Connection) -> int:
    """The smallest version of a header that any document has; 0 for none, and for an index of an earlier schema."""
    if "header_version" not in shapes.columns(db, "documents"):
        return 0
    # of an index of SQLite the least and the greatest are looked up; -n is a header of version n from stored texts
    read = db.execute("SELECT min(header_version) FROM documents WHERE header_version >= 0").fetchone()[0]
    stored = db.execute("SELECT -max(header_version) FROM documents WHERE header_version < 0").fetchone()[0]
    return min((version for version in (read, stored) if version is not None), default=0)


def page_count(db: Connection) -> int:
    """How many of the files are pages of the web."""
    return sum(is_page(path) for (path,) in db.execute("SELECT path FROM files WHERE path LIKE 'http%'"))


def named(db: Connection) -> list[str]:
    """All that was asked to be indexed: roots, then the URLs of pages."""
    urls = {file.root for file in files(db) if is_page(file.path)}
    return [*(root.path for root in roots(db)), *sorted(urls)]


def addresses(db: Connection, paths: Collection[str]) -> dict[str, str]:
    """Where these files were saved from, as far as that is known."""
    if "url" not in shapes.columns(db, "documents"):
        return {}
    sql = f"SELECT path, url FROM documents JOIN files ON files.id = file WHERE url != '' AND path {IN}"
    return dict(db.execute(sql, (array(paths),)))


def file_names(db: Connection) -> list[FileName]:
    """Every file with what its first document says of itself; no row of a chunk is read."""
    author = shapes.column(db, "documents", "author", "''")
    rows = db.execute(
        "SELECT files.id, path, first.title, first.author FROM files"
        f" LEFT JOIN (SELECT min(id), file, title, {author} FROM documents GROUP BY file) AS first"
        " ON first.file = files.id ORDER BY path"
    )
    return [FileName(number, path, title or "", author or "") for number, path, title, author in rows]


def indexed_files(db: Connection, files: Collection[int] | None = None) -> list[IndexedFile]:
    """These files by their ids, or all of them."""
    stated = ", ".join(["title", *(shapes.column(db, "documents", name, "''") for name in ("author", "date"))])
    chosen, values = ("", ()) if files is None else (IN, (array(files),))  # type: str, tuple[str, ...]
    rows = db.execute(
        "SELECT path, size, count(DISTINCT documents.id), count(chunks.id), indexed_at, warnings,"
        " first.title, mtime_ns, first.author, first.date, count(seen.chunk) FROM files"
        f" LEFT JOIN (SELECT min(id), file, {stated} FROM documents {chosen and f'WHERE file {chosen}'}"
        " GROUP BY file) AS first ON first.file = files.id"
        " LEFT JOIN documents ON documents.file = files.id"
        " LEFT JOIN chunks ON chunks.document = documents.id"
        f" LEFT JOIN {shapes.embedded(db)} AS seen ON seen.chunk = chunks.id"
        f" {chosen and f'WHERE files.id {chosen}'} GROUP BY files.id ORDER BY path",
        values * 2,
    )
    return [
        IndexedFile(
            path,
            size,
            documents,
            chunks,
            at,
            tuple(json.loads(warnings)),
            title or "",
            mtime_ns / 1e9,
            author or "",
            date or "",
            seen,
        )
        for path, size, documents, chunks, at, warnings, title, mtime_ns, author, date, seen in rows
    ]


# --- chunks by id


def chunk_count(db: Connection) -> int:
    return int(db.execute("SELECT count(*) FROM chunks").fetchone()[0])


def is_empty(db: Connection) -> bool:
    return db.execute("SELECT 1 FROM chunks LIMIT 1").fetchone() is None


def chunk_ids(db: Connection, after: int = -1) -> Ids:
    """The ids of all chunks above one, ascending."""
    import numpy as np

    where, values = ("WHERE id > ?", (after,)) if after >= 0 else ("", ())  # all ids: SQLite reads the smallest index
    rows = db.execute(f"SELECT id FROM chunks {where}", values)
    return np.sort(np.fromiter((row[0] for row in rows), dtype=np.int64))


def chunks_of(db: Connection, files: Collection[int]) -> list[int]:
    """The chunks of these files."""
    return [row[0] for row in db.execute(_OF_FILES, (array(files),))]


def chunks_by_file(db: Connection) -> dict[int, list[int]]:
    """The chunks of every file that has any, in the order of the files' paths and of the text."""
    rows = db.execute(
        "SELECT files.id, chunks.id FROM chunks JOIN documents ON documents.id = chunks.document"
        " JOIN files ON files.id = documents.file ORDER BY files.path, chunks.id"
    )
    chunks: dict[int, list[int]] = {}
    for file, chunk in rows:
        chunks.setdefault(file, []).append(chunk)
    return chunks


def opening(db: Connection, file: int, title: str | None, limit: int) -> list[tuple[int, str]]:
    """(chunk, heading) of the first chunks of a file, or of what has this title in it, in the order of the text."""
    where, values = ("AND title = ?", [title]) if title is not None else ("", [])
    sql = (
        "SELECT chunks.id, heading FROM chunks JOIN documents ON documents.id = document"
        f" WHERE file = ? {where} ORDER BY documents.id, start LIMIT ?"
    )
    return db.execute(sql, [file, *values, limit]).fetchall()


def chunks_named(db: Connection, keys: Collection[str]) -> list[int]:
    """The ids of the chunks with these keys."""
    return list(chunks_by_key(db, keys).values())


def chunks_by_key(db: Connection, keys: Collection[str]) -> dict[str, int]:
    """The chunks with these keys, also where a key is that of the place that the file was in before it moved."""
    values = (array(keys),)
    former = f"SELECT key, chunk FROM former_keys WHERE key {IN}"
    chunks = dict(db.execute(former, values)) if shapes.has_table(db, "former_keys") else {}
    return chunks | dict(db.execute(f"SELECT key, id FROM chunks WHERE key {IN}", values))


def former_paths(db: Connection, paths: Iterable[str]) -> list[str]:
    """Where these files were before they moved; what quotes them names these paths."""
    if not shapes.has_table(db, "former_paths"):
        return []
    sql = f"SELECT former_paths.path FROM former_paths JOIN files ON files.id = file WHERE files.path {IN}"
    return [row[0] for row in db.execute(sql, (array(paths),))]


def around(db: Connection, keys: Collection[str], reach: int) -> dict[str, list[int]]:
    """For each of these chunks those of its document in the order of the text, at most `reach` on either side of it."""
    named = chunks_by_key(db, keys)
    sql = f"SELECT id, document FROM chunks WHERE id {IN}"
    documents = dict(db.execute(sql, (array(named.values()),)))
    before = "SELECT id FROM chunks WHERE document = ? AND id <= ? ORDER BY id DESC LIMIT ?"
    after = "SELECT id FROM chunks WHERE document = ? AND id > ? ORDER BY id LIMIT ?"
    near = {}
    for key, chunk in named.items():
        document = documents[chunk]
        first = [row[0] for row in db.execute(before, (document, chunk, reach + 1))]
        near[key] = [*reversed(first), *(row[0] for row in db.execute(after, (document, chunk, reach)))]
    return near


def span(db: Connection, key: str, start: int, end: int) -> str:
    """Code points [start, end) of the document that a chunk is of; "" where the chunk is gone."""
    start, length = max(0, start), max(0, end - max(0, start))
    document = "FROM documents JOIN chunks ON chunks.document = documents.id WHERE chunks.id = ?"
    chunk = chunks_by_key(db, [key]).get(key)
    row = db.execute(f"SELECT substr(text, ?, ?) {document}", (start + 1, length, chunk)).fetchone()
    if row and len(row[0]) < length:  # the text ends before; or SQLite counts no further than a NUL in it
        row = db.execute(f"SELECT text {document}", (chunk,)).fetchone()
        return str(row[0][start : start + length])
    return row[0] if row else ""


def chunks_at(db: Connection, path: str) -> list[int]:
    """The chunks of the file under this path, in the order of its text."""
    sql = (
        "SELECT chunks.id FROM files JOIN documents ON documents.file = files.id"
        " JOIN chunks ON chunks.document = documents.id WHERE path = ? ORDER BY chunks.id"
    )
    return [row[0] for row in db.execute(sql, (path,))]


def digests(db: Connection, ids: Iterable[int]) -> dict[int, bytes]:
    """What tells texts apart, by chunk."""
    return dict(db.execute(f"SELECT id, digest FROM chunks WHERE id {IN}", (array(ids),)))


def passages(db: Connection, ids: Sequence[int]) -> list[Passage]:
    """The chunks with their text, in the order of `ids`."""
    rows = db.execute(
        "SELECT documents.id, mtime_ns, chunks.id, key, path, title, page, heading, start, end FROM chunks"
        " JOIN documents ON documents.id = chunks.document JOIN files ON files.id = documents.file"
        f" WHERE chunks.id {IN}",
        (array(ids),),
    ).fetchall()
    told = ", ".join(shapes.column(db, "documents", name, "''") for name in ("author", "date"))
    sql = f"SELECT id, text, {told} FROM documents WHERE id {IN}"
    texts = {number: (text, *rest) for number, text, *rest in db.execute(sql, (array({row[0] for row in rows}),))}
    by_id = {}
    for document, changed, number, key, path, title, page, heading, start, end in rows:
        text, author, date = texts[document]
        about = (key, path, title, page, heading, start, end)
        by_id[number] = Passage(number, *about, text[start:end], author, date, _moment(changed))
    return [by_id[number] for number in ids if number in by_id]


def _moment(mtime_ns: int) -> str:
    """When a file was last changed, to the minute in UTC; empty where it is not known, and for a page of the web."""
    return f"{datetime.fromtimestamp(mtime_ns / 1e9, UTC):%Y-%m-%dT%H:%MZ}" if mtime_ns > 0 else ""


def places(db: Connection, ids: Sequence[int]) -> list[tuple[str, str, str]]:
    """(title, heading, path) of the chunks, in the order of `ids`; no text is read."""
    rows = db.execute(
        "SELECT chunks.id, title, heading, path FROM chunks JOIN documents ON documents.id = document"
        f" JOIN files ON files.id = file WHERE chunks.id {IN}",
        (array(ids),),
    )
    by_id = {number: (title, heading, path) for number, title, heading, path in rows}
    return [by_id[number] for number in ids if number in by_id]


def sample(db: Connection, limit: int) -> list[int]:
    """Up to `limit` chunks, spread evenly over the index; of a very large one not all ids are read."""
    first, last = db.execute("SELECT min(id), max(id) FROM chunks").fetchone()
    if first is None or last - first < 50 * limit:
        ids = chunk_ids(db)
        return [int(number) for number in ids[:: max(1, -(-len(ids) // limit))]]
    sql = "SELECT id FROM chunks WHERE id >= ? ORDER BY id LIMIT 1"
    steps = (first + (last - first) * step // limit for step in range(limit))
    return list(dict.fromkeys(db.execute(sql, (step,)).fetchone()[0] for step in steps))


# --- vectors


def vector_blobs(db: Connection, ids: Collection[int]) -> list[tuple[int, bytes]]:
    """(chunk, vector of its text as it is stored) of these chunks, by chunk."""
    sql = f"SELECT chunk, vector FROM vectors WHERE chunk {IN} ORDER BY chunk"
    return db.execute(sql, (array(ids),)).fetchall()


def vectors_named(db: Connection, keys: Collection[str]) -> dict[str, tuple[bytes, bytes]]:
    """(digest of the text, vector of the text) of those of the chunks with these keys that have one."""
    named = chunks_by_key(db, keys)
    sql = f"SELECT id, digest, vector FROM chunks JOIN vectors ON chunk = id WHERE id {IN}"
    by_id = {chunk: (digest, vector) for chunk, digest, vector in db.execute(sql, (array(named.values()),))}
    return {key: by_id[chunk] for key, chunk in named.items() if chunk in by_id}


def not_fresh(db: Connection) -> list[int]:
    """The chunks that have no vector of the new embedder yet, one of each text."""
    sql = "SELECT min(id) FROM chunks WHERE id NOT IN (SELECT chunk FROM fresh) GROUP BY digest ORDER BY min(id)"
    return [row[0] for row in db.execute(sql)]


def headers_not_fresh(db: Connection) -> list[tuple[int, str]]:
    """(header, text) of those that have no vector of the new embedder yet."""
    sql = "SELECT id, text FROM headers WHERE id NOT IN (SELECT header FROM fresh_headers) ORDER BY id"
    return db.execute(sql).fetchall()


# --- titles


def titles(db: Connection, limit: int) -> list[str]:
    """The titles with the most text under them, by where the last chunk of a document ends: texts are not read."""
    sql = (
        "SELECT title FROM (SELECT document, max(end) AS length FROM chunks GROUP BY document)"
        " JOIN documents ON documents.id = document"
        " WHERE title != '' GROUP BY title ORDER BY sum(length) DESC, title LIMIT ?"
    )
    return [row[0] for row in db.execute(sql, (limit,))]


def headings(db: Connection, limit: int) -> list[str]:
    """The headings with the most chunks under them, of 10,000 chunks if there are more."""
    sql = (
        f"SELECT heading FROM chunks WHERE heading != '' AND id {IN}"
        " GROUP BY heading ORDER BY count(*) DESC, heading LIMIT ?"
    )
    return [row[0] for row in db.execute(sql, (array(sample(db, 10_000)), limit))]
