"""Whether a folder holds an index, and whether that is whole: every row of it is read, and compared where it can be."""

from __future__ import annotations

import contextlib
import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from local_rag.core import cancel
from local_rag.core.errors import IndexMissing, LocalRagError
from local_rag.index.store import full_text, reads, schema, shapes, writes
from local_rag.index.store.arrays import IN, array
from local_rag.index.store.connection import Connection
from local_rag.index.store.folder import DATABASE, LOCK, anew, has_database, our_files
from local_rag.text.display import plural

_BATCH = 8192

_UNIT = 0.01
"""How far the length of a stored vector may be from 1: bf16 rounds to .4 %."""


def is_index(folder: Path) -> bool:
    """Whether local-rag made what is there, be it damaged or half removed.

    Its lock says so, or the tables in the database; other programs have an index.sqlite, too.
    """
    names = {file.name for file in our_files(folder)} if folder.is_dir() else set()
    if LOCK in names or DATABASE not in names:
        return LOCK in names
    return not has_database(folder) or _has_our_tables(folder)


def must_be_index(folder: Path) -> None:
    """Raises IndexMissing for a folder that holds nothing of an index, or a database of others."""
    if not is_index(folder):
        raise IndexMissing(f"there is no index of local-rag at {folder}", hint=anew(folder))


def _has_our_tables(folder: Path) -> bool:
    with contextlib.suppress(sqlite3.Error, OSError, LocalRagError):
        return Connection(folder).snapshot(shapes.tables).issuperset(schema.OWN)
    return False


def damage(db: sqlite3.Connection) -> str:
    """What SQLite finds wrong with the file, or which tables or rows are missing; "" if all is whole."""
    check = str(db.execute("PRAGMA quick_check(1)").fetchone()[0])
    if check != "ok":
        return check
    needed = {*schema.NAMES, shapes.full_text(db)}
    if not shapes.is_behind(db):
        needed.update(schema.SEARCHED)
    missing = needed - shapes.tables(db)
    if missing:
        return f"it lacks the table {min(missing)}"
    if gap := reads.gap(db):
        return gap
    dangling = Counter(row[0] for row in db.execute("PRAGMA foreign_key_check"))
    if dangling:
        return ", ".join(f"{plural(count, 'row')} of {table} belong to nothing" for table, count in dangling.items())
    return ""


def derived_damage(db: sqlite3.Connection, unit: bool = False) -> str:
    """What is wrong with that which the stored texts can give again, vectors and the full-text index; "" if nothing.

    `unit` as in `unusable_vectors`.
    """
    lost = unusable_vectors(db, unit)
    if lost:
        return f"{plural(len(lost), 'passage')} without a vector, or with one that is none"
    lost = unusable_headers(db, unit)
    if lost:
        return f"{plural(len(lost), 'header')} without a vector, or with one that is none"
    table = shapes.full_text(db)
    sql = f"SELECT (SELECT count(*) FROM chunks), (SELECT count(*) FROM {table}_docsize)"
    chunks, rows = db.execute(sql).fetchone()
    if chunks != rows:
        return f"{plural(chunks, 'passage')}, but {plural(rows, 'row')} in the full-text index"
    try:  # FTS5 compares its own parts with each other; where nothing may be written it refuses
        db.execute(f"INSERT INTO {table} ({table}) VALUES ('integrity-check')")
    except sqlite3.DatabaseError as error:
        if (getattr(error, "sqlite_errorcode", 0) & 0xFF) == sqlite3.SQLITE_CORRUPT:
            return f"the full-text index: {error}"
    return ""


def unusable_vectors(db: sqlite3.Connection, unit: bool = False) -> list[int]:
    """The chunks whose text has a vector that is of another size or no numbers, and with `unit` not of length 1.

    So have those that vector search sees, and that have none. Those that wait for their vectors are no damage.
    """
    sql = f"SELECT chunk FROM {shapes.embedded(db)} UNION SELECT chunk FROM vectors ORDER BY 1"
    return _unusable(db, [row[0] for row in db.execute(sql)], "SELECT chunk, vector FROM vectors WHERE chunk", unit)


def unusable_headers(db: sqlite3.Connection, unit: bool = False) -> list[int]:
    """The same of headers, by their numbers: those with a vector, or that vector search has had one of."""
    if not shapes.has_table(db, "headers"):
        return []
    sql = (
        "SELECT id FROM headers WHERE vector IS NOT NULL"
        " UNION SELECT header FROM embedded WHERE header IS NOT NULL ORDER BY 1"
    )
    return _unusable(db, [row[0] for row in db.execute(sql)], "SELECT id, vector FROM headers WHERE id", unit)


def _unusable(db: sqlite3.Connection, ids: Sequence[int], sql: str, unit: bool) -> list[int]:
    """Those of these ids under which the query finds no usable vector."""
    import numpy as np

    dimension = reads.recipe(db).dimension
    usable: set[int] = set()
    for first in range(0, len(ids), _BATCH):
        cancel.check()
        part = array(ids[first : first + _BATCH])
        rows = db.execute(f"{sql} {IN}", (part,)).fetchall()
        rows = [(number, vector) for number, vector in rows if vector is not None and len(vector) == 4 * dimension]
        matrix = np.frombuffer(b"".join(vector for _, vector in rows), dtype="<f4").reshape(len(rows), dimension)
        with np.errstate(over="ignore", invalid="ignore"):
            lengths = np.linalg.norm(matrix, axis=1)
            good = np.abs(lengths - 1) <= _UNIT if unit else np.isfinite(lengths)
        usable.update(number for (number, _), fine in zip(rows, good.tolist(), strict=True) if fine)
    return [number for number in ids if number not in usable]


def changed_passages(db: sqlite3.Connection) -> list[str]:
    """The paths of the files with a passage whose text is not what was stored, by its digest and its key."""
    return sorted({document.path for document in _stored(db) if not _is_as_stored(document)})


class _Stored(NamedTuple):
    """A document with its place in its file, and (key, digest, start, end) of its chunks."""

    path: str
    position: int
    text: str
    chunks: list[tuple[str, bytes, int, int]]


def _stored(db: sqlite3.Connection) -> Iterator[_Stored]:
    positions: Counter[int] = Counter()
    documents = db.execute(
        "SELECT documents.id, documents.file, path, CAST(text AS BLOB) FROM documents"
        " JOIN files ON files.id = documents.file ORDER BY documents.id"
    )
    for number, file, path, text in documents:
        cancel.check()
        sql = "SELECT key, digest, start, end FROM chunks WHERE document = ?"
        yield _Stored(path, positions[file], text.decode("utf-8", "replace"), db.execute(sql, (number,)).fetchall())
        positions[file] += 1


def _is_as_stored(document: _Stored) -> bool:
    return all(
        digest == full_text.digest(text := document.text[start:end])
        and key == writes.key(document.path, document.position, start, end, text)
        for key, digest, start, end in document.chunks
    )
