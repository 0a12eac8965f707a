"""The names of documents, by the words in them: of their files' names and of their titles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from sqlite3 import Connection

from local_rag.index.store import shapes
from local_rag.index.store.arrays import IN, array

MATCHES = 5_000
"""Chunks that are looked at for a word; how many more documents hold a word of more chunks is estimated."""

_COUNTED = 20_000
"""Documents whose names are counted; how many there are in a larger index is estimated."""


@dataclass(frozen=True, slots=True)
class Holding:
    """Documents whose name or title holds a word, one of each title in a file; `complete`: there are no others.

    `count` says how many there are.
    """

    documents: tuple[int, ...]
    complete: bool
    count: int


def holding(db: Connection, query: str, word: str) -> Holding:
    """Those that an FTS5 query matches; of an earlier schema, whose full text has no names, also by their paths."""
    table = shapes.full_text(db)
    columns = "title name" if table == "full_text" else "title"
    sql = f"SELECT rowid FROM {table} WHERE {table} MATCH ? LIMIT ?"
    chunks = [row[0] for row in db.execute(sql, (f"{{{columns}}} : ({query})", MATCHES))]
    complete = len(chunks) < MATCHES
    sql = f"SELECT DISTINCT document FROM chunks WHERE id {IN}"
    documents = {row[0] for row in db.execute(sql, (array(chunks),))}
    if table != "full_text" and word:
        sql = (
            "SELECT documents.id FROM documents WHERE file IN (SELECT id FROM files WHERE path LIKE ? LIMIT ?) LIMIT ?"
        )
        documents |= {row[0] for row in db.execute(sql, (f"%{word}%", MATCHES, MATCHES))}
    sql = f"SELECT min(id) FROM documents WHERE id {IN} GROUP BY file, title"
    distinct = tuple(row[0] for row in db.execute(sql, (array(sorted(documents)),)))
    if complete:
        return Holding(distinct, True, len(distinct))
    (last,) = db.execute("SELECT max(id) FROM chunks").fetchone()  # FTS5 goes through the chunks in their order
    return Holding(distinct, False, round(len(distinct) * last / max(1, chunks[-1])))


def count(db: Connection) -> int:
    """How many names there are: a file's, and of a file whose documents have several titles one for each of these."""
    (documents,) = db.execute("SELECT count(*) FROM documents").fetchone()
    first = "SELECT file, title FROM documents ORDER BY file LIMIT ?"
    sql = f"SELECT count(*) FROM (SELECT DISTINCT file, title FROM ({first}))"
    (names,) = db.execute(sql, (_COUNTED,)).fetchone()
    return int(names * max(1.0, documents / _COUNTED))


def best(db: Connection, scores: Mapping[int, float], limit: int) -> list[tuple[int, str, str, bool]]:
    """(file, path, title, whether the file has other titles, too) of the documents that score highest, by file.

    Of those that score the same the shortest titles come first.
    """
    most = sorted(scores, key=lambda document: -scores[document])[: 10 * limit]
    sql = f"SELECT id, file, title FROM documents WHERE id {IN}"
    known = {document: (file, title) for document, file, title in db.execute(sql, (array(most),))}
    ranked = sorted(known, key=lambda document: (-scores[document], len(known[document][1])))
    chosen = list(dict.fromkeys(known[document] for document in ranked))[:limit]
    sql = (
        "SELECT id, path, (SELECT min(title) != max(title) FROM documents WHERE file = files.id)"
        f" FROM files WHERE id {IN}"
    )
    files = {row[0]: row[1:] for row in db.execute(sql, (array(sorted({file for file, _ in chosen})),))}
    return [(file, files[file][0], title, bool(files[file][1])) for file, title in sorted(chosen) if file in files]
