"""What is read from and written to the tables on a server in another way than SQLite's."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import astuple
from pathlib import Path
from typing import TYPE_CHECKING, Any

from local_rag.index import catalog, filters
from local_rag.index.postgres import words
from local_rag.index.postgres.connection import Database
from local_rag.index.postgres.schema import nearest, partitions
from local_rag.index.store import checks, reads, vectors, writes
from local_rag.index.store.database import IN, array
from local_rag.index.store.full_text import digest
from local_rag.index.store.schema import FileRow, IndexSettings
from local_rag.text import names

if TYPE_CHECKING:
    from local_rag.core.documents import LoadedDocument
    from local_rag.core.protocols import Vectors
    from local_rag.index.store.vectors import Ids
    from local_rag.index.store.writes import NewDocument
    from local_rag.text.chunking import Chunk

EF_SEARCH = 100
"""Candidates that HNSW keeps while it looks: recall@10 is above .98 with it (docs/measurements.md)."""

_DAY = (
    "CASE WHEN d.date LIKE '%T%' THEN to_char(d.date::timestamptz, 'YYYY-MM-DD') WHEN d.date != '' THEN d.date ELSE"
    " (SELECT to_char(to_timestamp(CASE mtime_ns WHEN 0 THEN indexed_at ELSE mtime_ns / 1e9 END), 'YYYY-MM-DD')"
    " FROM files WHERE files.id = d.file) END"
)
"""As `filters` has it; moments are days by the server's time zone."""


class Nearest:
    """Nearest vectors by HNSW, in one snapshot: each partition finds its own, so that it may lie on another server."""

    def __init__(self, db: Database, *, exact: bool = False) -> None:
        self._db, self._exact = db, exact

    def candidates(self, query: Vectors, count: int, among: Ids | None) -> tuple[Ids, bool]:
        """As `vectors.Candidates`. pgvector goes on until a filter leaves enough, or it has seen 20,000."""
        import numpy as np

        settings = "SELECT set_config('hnsw.ef_search', ?, true), set_config('enable_indexscan', ?, true)"
        self._db.execute(settings, (str(min(1000, max(EF_SEARCH, count))), "off" if self._exact else "on"))
        where, values = ("", []) if among is None else (f"WHERE chunk {IN}", [array(among.tolist())])
        far = "near <#> ?::halfvec"
        part = f"(SELECT chunk, {far} AS far FROM embedded_N {where} ORDER BY {far} LIMIT ?)"
        parts = " UNION ALL ".join(part.replace("_N", f"_{n}") for n in partitions())
        vector = _text(query)
        each = [vector, *values, vector, count]
        sql = f"SELECT chunk FROM ({parts}) AS near ORDER BY far, chunk LIMIT ?"
        rows = self._db.execute(sql, [*each * len(partitions()), count])
        return np.fromiter((row[0] for row in rows), dtype=np.int64), True


def without_nearest(db: Database) -> list[int]:
    """The partitions that lie here, have no HNSW, and of which this role may make it."""
    sql = (
        "SELECT n FROM unnest(?::integer[]) AS n JOIN pg_class ON oid = to_regclass('embedded_' || n)"
        " WHERE relkind = 'r' AND pg_has_role(relowner, 'USAGE') AND to_regclass('nearest_' || n) IS NULL"
    )
    return [n for (n,) in db.execute(sql, (list(partitions()),))]


def make_nearest(db: Database, n: int) -> None:
    """Make HNSW of all vectors of a partition at once, unless another process has made it meanwhile.

    One process builds: several would need a shared memory of this size, which containers often lack.
    """
    db.execute("SET LOCAL maintenance_work_mem = '1GB'; SET LOCAL max_parallel_maintenance_workers = 0")
    db.execute("SELECT pg_advisory_xact_lock(hashtextextended(current_schema(), 1))")
    if n in without_nearest(db):
        db.execute(nearest(n))


def _text(vector: Vectors) -> str:
    return f"[{','.join(map(str, vector.tolist()))}]"


# --- reading


@vectors.embedded.register(Database)
def _embedded(db: Database) -> str:
    return (
        "SELECT e.chunk, e.vector, headers.vector FROM (SELECT *, chunk AS seq FROM embedded) AS e"
        " JOIN chunks ON chunks.document = e.document AND chunks.id = e.chunk"
        " LEFT JOIN headers ON headers.document = e.document AND headers.id = chunks.header"
    )


@vectors.is_due.register(Database)
def _is_due(db: Database) -> bool:
    return False


@checks.unusable_vectors.register(Database)
def _unusable_vectors(db: Database) -> tuple[list[int], list[int]]:
    """None: PostgreSQL stores no vector of another size."""
    return [], []


@catalog.size.register(Database)
def _size(db: Database, path: Path) -> int:
    sql = "SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relnamespace = current_schema()::regnamespace"
    return int(db.execute(f"{sql} AND relkind = 'r'").fetchone()[0] or 0)


@filters.day_of.register(Database)
def _day_of(db: Database) -> str:
    return _DAY


@reads.sample.register(Database)
def _sample(db: Database, table: str, limit: int) -> list[int]:
    name, key = {"names_content": ("names", "rowid"), "embedded": ("embedded", "chunk")}.get(table, (table, "id"))
    numbered = f"SELECT {key} AS id, row_number() OVER (ORDER BY {key}) - 1 AS place, count(*) OVER () AS n FROM {name}"
    sql = f"SELECT id FROM ({numbered}) AS t WHERE place % greatest(1, n / ?) = 0 ORDER BY id LIMIT ?"
    return [row[0] for row in db.execute(sql, (limit, limit))]


# --- writing


@writes.write.register(Database)
def _write(db: Database, file: FileRow, documents: Iterable[NewDocument], *, more: bool = False) -> int:
    """As `writes.write`. What is gone leaves its vectors to what comes in its place, within this call."""
    documents = list(documents)
    _lock(db, [file.path])
    known = _known(db, file.path, documents)
    if not more:
        _remove(db, [file.path])
        _insert(db, "files", {n: getattr(file, n) for n in FileRow.__dataclass_fields__} | {
            "warnings": json.dumps(file.warnings), "scans": json.dumps(file.scans)
        })  # fmt: skip
    number, stored = db.execute(
        "SELECT files.id, count(documents.id) FROM files LEFT JOIN documents ON file = files.id WHERE path = ?"
        " GROUP BY files.id",
        (file.path,),
    ).fetchone()
    titles = {row[0] for row in db.execute("SELECT DISTINCT title FROM documents WHERE file = ?", (number,))}
    below = " ".join(names.folder_words(writes.below(file)))
    reused = 0
    for position, (document, chunks) in enumerate(documents, start=stored):
        said = {name: getattr(document, name) for name in ("title", "author", "date", "subject")} | {"folders": below}
        headings = json.dumps([astuple(heading) for heading in document.headings], ensure_ascii=False)
        whole = {"page": document.page, "url": document.url, "headings": headings, "text": document.text}
        whole |= {"lines": json.dumps(document.lines)}
        name = names.name_text(file.path)
        of_file = words.lexemes(name, document.author, document.date, document.subject, prefix=words.NAMES)
        of_file = f"{of_file} {words.lexemes(below, prefix=words.FOLDERS)}"
        id = _insert(db, "documents", {"file": number, "name": name} | said | whole)
        if document.title not in titles:
            titles.add(document.title)
            called = names.called(file.path)
            row = (id, called, document.title, f"{words.lexemes(called, document.title)} {of_file}")
            db.execute("INSERT INTO names VALUES (?, ?, ?, ?::tsvector)", row)
        reused += _write_chunks(db, id, file.path, position, document, chunks, of_file, known)
    return reused


_Known = tuple[dict[bytes, bytes], dict[str, bytes]]
"""Vectors of texts by their digests, and of headers by their texts."""


def _lock(db: Database, paths: Iterable[str]) -> None:
    """Two that write the same file come one after the other; the lock ends with the transaction."""
    lock = "pg_advisory_xact_lock(hashtextextended(current_schema() || path, 1))"
    db.execute(f"SELECT {lock} FROM unnest(?::text[]) AS files (path)", (sorted(paths),))


def _known(db: Database, path: str, documents: Sequence[NewDocument]) -> _Known:
    texts = {digest(document.text[chunk.start : chunk.end]) for document, chunks in documents for chunk in chunks}
    headers = {header for document, chunks in documents for header in _headers(path, document, chunks)}
    of_texts = db.execute("SELECT digest, vector FROM vectors WHERE digest = ANY(?)", (list(texts),))
    of_headers = db.execute(
        "SELECT text, vector FROM headers WHERE vector IS NOT NULL AND text = ANY(?)", (list(headers),)
    )
    return dict(of_texts), dict(of_headers)


def _headers(path: str, document: LoadedDocument, chunks: Sequence[Chunk]) -> list[str]:
    of_document = names.document_header(path, document.title)
    return [names.passage_header(of_document, chunk.heading) for chunk in chunks]


def _insert(db: Database, table: str, values: Mapping[str, object]) -> int:
    """The id of the new row."""
    sql = f"INSERT INTO {table} ({', '.join(values)}) VALUES ({', '.join('?' * len(values))}) RETURNING id"
    return int(db.execute(sql, tuple(values.values())).fetchone()[0])


def _write_chunks(
    db: Database,
    number: int,
    path: str,
    position: int,
    document: LoadedDocument,
    chunks: Sequence[Chunk],
    of_file: str,
    known: _Known,
) -> int:
    """Store the chunks of a document; how many have their vectors already."""
    texts = [document.text[chunk.start : chunk.end] for chunk in chunks]
    headers = _headers(path, document, chunks)
    distinct = list(dict.fromkeys(filter(None, headers)))
    sql = (
        "INSERT INTO headers (document, text, vector) SELECT ?, * FROM unnest(?::text[], ?::bytea[]) RETURNING text, id"
    )
    numbers = dict(db.execute(sql, (number, distinct, [known[1].get(text) for text in distinct])).fetchall())
    ids = [row[0] for row in db.execute("SELECT nextval('chunk_ids') FROM generate_series(1, ?)", (len(chunks),))]
    rows = [
        (number, id, writes.key(path, position, chunk.start, chunk.end, text), digest(text), *chunk,
         numbers.get(header), f"{words.lexemes(text, chunk.heading, document.title)} {of_file}")
        for id, chunk, text, header in zip(ids, chunks, texts, headers, strict=True)
    ]  # fmt: skip
    db.executemany("INSERT INTO chunks VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?::tsvector)", rows)
    return _show(db, [
        (number, id, known[0][digest(text)], known[1].get(header))
        for id, text, header in zip(ids, texts, headers, strict=True)
        if digest(text) in known[0] and (not header or header in known[1])
    ])  # fmt: skip


def _show(db: Database, rows: Sequence[tuple[int, int, bytes, bytes | None]]) -> int:
    """Let vector search see chunks: (document, chunk, vector of its text, that of its header)."""
    if not rows:
        return 0
    dimension = len(rows[0][2]) // 4
    nothing = bytes(4 * dimension)
    texts = vectors.matrix_of([vector for _, _, vector, _ in rows], dimension)
    headers = vectors.matrix_of([vector or nothing for *_, vector in rows], dimension)
    near = vectors.with_headers(texts, headers)
    # in one order: two that write the same chunks never wait for each other
    values = sorted((*row[:3], _text(vector)) for row, vector in zip(rows, near, strict=True))
    db.executemany("INSERT INTO embedded VALUES (?, ?, ?, ?::halfvec) ON CONFLICT DO NOTHING", values)
    return len(rows)


@writes.remove.register(Database)
def _remove(db: Database, paths: Iterable[str]) -> None:
    listed = array(paths)
    _lock(db, listed)
    of_files = f"SELECT id FROM files WHERE path {IN} OR container {IN}"
    of_documents = f"SELECT id FROM documents WHERE file IN ({of_files})"
    documents = array(row[0] for row in db.execute(of_documents, (listed, listed)))
    for table, key in (("embedded", "document"), ("chunks", "document"), ("headers", "document"), ("names", "rowid")):
        db.execute(f"DELETE FROM {table} WHERE {key} {IN}", (documents,))
    db.execute(f"DELETE FROM files WHERE path {IN} OR container {IN}", (listed, listed))
    db.execute(f"DELETE FROM failures WHERE path {IN}", (listed,))


@writes.set_vectors.register(Database)
def _set_vectors(db: Database, chunks: Sequence[int], texts: Mapping[int, Any], headers: Mapping[int, Any]) -> None:
    of_headers = [(writes.blob(vector), number) for number, vector in sorted(headers.items())]
    db.executemany("UPDATE headers SET vector = ? WHERE id = ?", of_headers)
    digests = [row[0] for row in db.execute(f"SELECT digest FROM chunks WHERE id {IN}", (array(texts),))]
    sharing = [row[0] for row in db.execute("SELECT id FROM chunks WHERE digest = ANY(?)", (digests,))]
    rows = db.execute(
        "SELECT chunks.document, chunks.id, digest, headers.vector FROM chunks"
        " LEFT JOIN headers ON headers.document = chunks.document AND headers.id = header"
        f" WHERE chunks.id {IN} AND (header IS NULL OR headers.vector IS NOT NULL)"
        " AND NOT EXISTS (SELECT FROM embedded AS e WHERE e.document = chunks.document AND e.chunk = chunks.id)",
        (array({*chunks, *sharing}),),
    ).fetchall()
    known: dict[bytes, bytes] = {row[2]: writes.blob(texts[row[1]]) for row in rows if row[1] in texts}
    missing = [row[2] for row in rows if row[2] not in known]
    known |= dict(db.execute("SELECT digest, vector FROM vectors WHERE digest = ANY(?)", (missing,)))
    _show(db, [(row[0], row[1], known[row[2]], row[3]) for row in rows if row[2] in known])


@writes.set_settings.register(Database)
def _set_settings(db: Database, settings: IndexSettings) -> None:
    """The column of vectors, too, gets another size; only the owner of the index may do that."""
    writes.set_settings.dispatch(object)(db, settings)
    if db.execute("SELECT NOT EXISTS (SELECT FROM embedded)").fetchone()[0]:
        db.execute(f"ALTER TABLE embedded ALTER COLUMN near TYPE public.halfvec({settings.dimension:d})")


@writes.drop_vectors.register(Database)
def _drop_vectors(db: Database, chunks: Collection[int] | None = None, headers: Collection[int] = ()) -> None:
    """All of them, which is what another embedder asks for; single ones are never unusable."""
    if chunks is None:
        db.execute("DELETE FROM embedded")
        db.execute("UPDATE headers SET vector = NULL")
