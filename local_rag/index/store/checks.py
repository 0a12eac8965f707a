"""Whether a folder holds an index, and whether that is whole: every row of it is read, and compared where it can be."""

from __future__ import annotations

import contextlib
import sqlite3
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from local_rag.core import cancel
from local_rag.core.errors import IndexMissing, LocalRagError
from local_rag.index.store import reads, schema, writes
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
        return Connection(folder).snapshot(reads.tables).issuperset(schema.OWN)
    return False


def damage(db: sqlite3.Connection) -> str:
    """What SQLite finds wrong with the file, or which tables or rows are missing; "" if all is whole."""
    check = str(db.execute("PRAGMA quick_check(1)").fetchone()[0])
    if check != "ok":
        return check
    missing = set(schema.NAMES) - reads.tables(db)
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
    chunks, words = db.execute("SELECT (SELECT count(*) FROM chunks), (SELECT count(*) FROM words_docsize)").fetchone()
    if chunks != words:
        return f"{plural(chunks, 'passage')}, but {plural(words, 'row')} in the full-text index"
    try:  # FTS5 compares its own parts with each other; where nothing may be written it refuses
        db.execute("INSERT INTO words (words) VALUES ('integrity-check')")
    except sqlite3.DatabaseError as error:
        if (getattr(error, "sqlite_errorcode", 0) & 0xFF) == sqlite3.SQLITE_CORRUPT:
            return f"the full-text index: {error}"
    return ""


def unusable_vectors(db: sqlite3.Connection, unit: bool = False) -> list[int]:
    """The chunks without a vector of the right size and of numbers only, and with `unit` of length 1."""
    import numpy as np

    dimension = reads.recipe(db).dimension
    usable: set[int] = set()
    ids = reads.chunk_ids(db)
    for first in range(0, len(ids), _BATCH):
        cancel.check()
        part = ids[first : first + _BATCH].tolist()
        rows = [(chunk, vector) for chunk, vector in reads.vector_blobs(db, part) if len(vector) == 4 * dimension]
        matrix = np.frombuffer(b"".join(vector for _, vector in rows), dtype="<f4").reshape(len(rows), dimension)
        with np.errstate(over="ignore", invalid="ignore"):
            lengths = np.linalg.norm(matrix, axis=1)
            good = np.abs(lengths - 1) <= _UNIT if unit else np.isfinite(lengths)
        usable.update(chunk for (chunk, _), fine in zip(rows, good.tolist(), strict=True) if fine)
    return [chunk for chunk in ids.tolist() if chunk not in usable]


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
        digest == writes.digest(text := document.text[start:end])
        and key == writes.key(document.path, document.position, start, end, text)
        for key, digest, start, end in document.chunks
    )
