"""Whether a folder holds an index, and whether that is whole; errors of SQLite and of the disk as ours.

Result codes: https://sqlite.org/rescode.html
"""

from __future__ import annotations

import contextlib
import errno
import os
import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from local_rag.core import cancel
from local_rag.core.disk import is_full
from local_rag.core.errors import (
    DiskFull,
    IndexBusy,
    IndexDamaged,
    IndexMismatch,
    IndexMissing,
    LocalRagError,
    UsageError,
)
from local_rag.core.protocols import Embedder
from local_rag.index.store import full_text, reads, schema, writes
from local_rag.index.store.connection import Connection, primary_code
from local_rag.index.store.folder import DATABASE, LOCK, anew, has_database, index_name, our_files, quoted, rebuild
from local_rag.text.display import plural

_BATCH = 8192

_UNIT = 0.01
"""How far the length of a stored vector may be from 1: bf16 rounds to .4 %."""

_DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR)


# --- errors


@contextmanager
def translated_errors(folder: Path) -> Iterator[None]:
    """Errors of SQLite and of the disk as ours, and rows that cannot be used as damage."""
    try:
        yield
    except (sqlite3.Error, OSError, reads.UnusableRow) as error:
        raise _translated(folder, error) from error


def _translated(folder: Path, error: Exception) -> LocalRagError:
    code, is_decoding = primary_code(error), str(error).startswith("Could not decode to UTF-8")
    number = error.errno if isinstance(error, OSError) else None
    full = code == sqlite3.SQLITE_FULL or number in (errno.ENOSPC, errno.EDQUOT)
    if full or (code == sqlite3.SQLITE_IOERR and is_full(folder)):
        return DiskFull(
            f"no space left for the index at {folder}; what it already holds is kept",
            hint="free some space on that disk, then type the same command again: it continues where it stopped",
        )
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return IndexBusy(
            f"another process is writing to the index at {folder}",
            hint="wait until it is done, then type the same command again",
        )
    if is_decoding:
        return _lost(folder, "it holds text that is not UTF-8")
    if code in _DAMAGE or isinstance(error, reads.UnusableRow):
        return damaged(folder, str(error))
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN) or isinstance(error, PermissionError):
        may_read = os.access(folder, os.R_OK | os.X_OK) and os.access(folder / DATABASE, os.R_OK)
        return LocalRagError(
            f"you have no permission to {'write' if may_read else 'read'} the index at {folder}",
            hint="make that folder yours, or put the index elsewhere: --index PATH",
        )
    hint = f"local-rag doctor --index {index_name(folder)}"
    return LocalRagError(f"the index at {folder} cannot be used: {error}", hint=hint)


def damaged(folder: Path, why: str) -> LocalRagError:
    """The error for what looked like damage to a reader: a check of the whole file says what mends it."""
    try:
        connection = Connection(folder)
        lost, derived = connection.snapshot(damage), ""
        derived = "" if lost else connection.snapshot(derived_damage)
    except (sqlite3.Error, OSError, LocalRagError) as error:
        if primary_code(error) not in _DAMAGE:
            return IndexDamaged(
                f"the index at {folder} could not be read ({why}), nor checked without writing there",
                hint=f"let somebody who may write there type: local-rag doctor --index {index_name(folder)}",
            )
        lost = str(error)
    if lost and not is_index(folder):
        return LocalRagError(f"{folder / DATABASE} is no index of local-rag: {lost}", hint=anew(folder / "index"))
    return _lost(folder, lost) if lost else _mendable(folder, derived or why)


def _lost(folder: Path, finding: str) -> IndexDamaged:
    """The error for texts that are gone or wrong: the files are read again."""
    return IndexDamaged(f"the index at {folder} is damaged: {finding}", hint=rebuild(folder, _named(folder)))


def _mendable(folder: Path, finding: str) -> IndexDamaged:
    """The error for vectors or words that are gone or wrong: they are made anew from the stored text."""
    hint = f"local-rag index --reembed --index {index_name(folder)}"
    return IndexDamaged(f"the index at {folder} is damaged: {finding}", hint=hint)


def _named(folder: Path) -> list[str]:
    with contextlib.suppress(sqlite3.Error, ValueError, LocalRagError):
        return Connection(folder).snapshot(reads.named)
    return []


# --- whether it is an index


def is_index(folder: Path) -> bool:
    """Whether local-rag made what is there, be it damaged or half removed.

    Its lock says so, or the tables in the database; other programs have an index.sqlite, too.
    """
    names = {file.name for file in our_files(folder)} if folder.is_dir() else set()
    if LOCK in names or DATABASE not in names:
        return LOCK in names
    if not has_database(folder):
        return True
    with contextlib.suppress(sqlite3.Error, OSError, LocalRagError):
        return (
            Connection(folder).snapshot(_tables).issuperset(schema.OWN - {"headers", "embedded", "full_text", "names"})
        )
    return False


def must_be_index(folder: Path) -> None:
    """Raises IndexMissing for a folder that holds nothing of an index, or a database of others."""
    if not is_index(folder):
        raise IndexMissing(f"there is no index of local-rag at {folder}", hint=anew(folder))


def _tables(db: sqlite3.Connection) -> set[str]:
    return {row[0] for row in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}


def check_settings(db: sqlite3.Connection, folder: Path, wanted: schema.IndexSettings) -> None:
    """Raises IndexMismatch unless these settings made the index; the name of the embedder does not matter."""
    made = reads.settings(db)
    if (made.size, made.overlap) != (wanted.size, wanted.overlap):
        which = f"{wanted.size}-{wanted.overlap}" if wanted.overlap else f"{wanted.size}"
        options = f" --chunk-size {wanted.size} --chunk-overlap {wanted.overlap}"
        raise IndexMismatch(
            f"the index at {folder} has passages of {made.size} tokens with {made.overlap} shared, "
            f"not {wanted.size} with {wanted.overlap}",
            hint=anew(folder.with_name(f"{folder.name}-{which}"), reads.named(db), options),
        )
    if (made.fingerprint, made.dimension) != (wanted.fingerprint, wanted.dimension):
        raise IndexMismatch(
            f"the index at {folder} was made with the embedder '{made.embedder}' ({made.fingerprint}), "
            f"not with '{wanted.embedder}' ({wanted.fingerprint})",
            hint=f"local-rag index --reembed --index {index_name(folder)}",
        )


def check_sizes(embedder: Embedder, size: int, overlap: int) -> None:
    """Raises UsageError for passages that the embedder cannot read whole, or that overlap by more than half."""
    if size > embedder.window:
        raise UsageError(
            f"passages of {size} tokens do not fit '{embedder.name}', which reads {embedder.window}",
            hint=f"local-rag index … --chunk-size {embedder.window}",
        )
    if not 0 <= overlap <= size // 2:
        raise UsageError(
            f"passages of {size} tokens may share up to {size // 2}, not {overlap}",
            hint="local-rag index … --chunk-overlap 0",
        )


# --- whether it is whole


def verify(db: sqlite3.Connection, folder: Path, deep: bool) -> None:
    """Read all files of an index. `deep` compares every row with what is stored of it. Raises IndexDamaged."""
    if lost := damage(db):
        raise IndexDamaged(f"the index at {folder} is damaged: {lost}", hint=rebuild(folder, reads.named(db)))
    if lost := derived_damage(db, deep):
        raise _mendable(folder, lost)
    if paths := _changed(db) if deep else []:
        which = index_name(folder)
        raise IndexDamaged(
            f"the index at {folder} holds text that has changed in {plural(len(paths), 'file')}, such as {paths[0]}",
            hint=f"local-rag remove {' '.join(map(quoted, paths))} --index {which}"
            f" && local-rag index --reembed --index {which}",
        )


def damage(db: sqlite3.Connection) -> str:
    """What SQLite finds wrong with the file, or which tables or rows are missing; "" if all is whole."""
    check = str(db.execute("PRAGMA quick_check(1)").fetchone()[0])
    if check != "ok":
        return check
    if missing := schema.OWN - _tables(db):
        return f"it lacks the table {min(missing)}"
    try:
        reads.settings(db)
    except reads.UnusableRow as error:
        return str(error)
    dangling = Counter(row[0] for row in db.execute("PRAGMA foreign_key_check"))
    return ", ".join(f"{plural(count, 'row')} of {table} belong to nothing" for table, count in dangling.items())


def derived_damage(db: sqlite3.Connection, deep: bool = False) -> str:
    """What is wrong with that which the stored texts can give again, vectors and the full-text index; "" if nothing."""
    texts, headers = unusable_vectors(db, deep)
    for lost, name in ((texts, "passage"), (headers, "header")):
        if lost:
            return f"{plural(len(lost), name)} without a vector, or with one that is none"
    chunks, rows = db.execute(
        "SELECT (SELECT count(*) FROM chunks), (SELECT count(*) FROM full_text_docsize)"
    ).fetchone()
    if chunks != rows:
        return f"{plural(chunks, 'passage')}, but {plural(rows, 'row')} in the full-text index"
    try:  # FTS5 compares its own parts with each other; where nothing may be written it refuses
        db.execute("INSERT INTO full_text (full_text) VALUES ('integrity-check')")
    except sqlite3.DatabaseError as error:
        if primary_code(error) == sqlite3.SQLITE_CORRUPT:
            return f"the full-text index: {error}"
    return ""


def unusable_vectors(db: sqlite3.Connection, deep: bool) -> tuple[list[int], list[int]]:
    """The chunks and the headers that should have a vector, and have none, one of another size, or no numbers.

    `deep`: nor one of another length than 1. Those that wait for their vectors are no damage.
    """
    dimension = reads.settings(db).dimension
    texts = "SELECT embedded.chunk, vector FROM embedded LEFT JOIN vectors USING (chunk)"
    headers = (
        "SELECT DISTINCT headers.id, vector FROM embedded JOIN chunks ON chunks.id = embedded.chunk"
        " JOIN headers ON headers.id = chunks.header"
    )
    return _unusable(db, texts, dimension, deep), _unusable(db, headers, dimension, deep)


def _unusable(db: sqlite3.Connection, sql: str, dimension: int, deep: bool) -> list[int]:
    import numpy as np

    lost: list[int] = []
    cursor = db.execute(sql)
    while rows := cursor.fetchmany(_BATCH):
        cancel.check()
        sized = [row for row in rows if row[1] is not None and len(row[1]) == 4 * dimension]
        matrix = np.frombuffer(b"".join(row[1] for row in sized), dtype="<f4").reshape(len(sized), dimension)
        with np.errstate(over="ignore", invalid="ignore"):
            lengths = np.linalg.norm(matrix, axis=1)
        good = np.abs(lengths - 1) <= _UNIT if deep else np.isfinite(lengths)
        usable = {number for (number, _), fine in zip(sized, good.tolist(), strict=True) if fine}
        lost += [number for number, _ in rows if number not in usable]
    return lost


def _changed(db: sqlite3.Connection) -> Sequence[str]:
    """The paths of the files with a passage whose text is not what was stored, by its digest and its key."""
    changed: set[str] = set()
    positions: Counter[str] = Counter()
    documents = "SELECT documents.id, path, CAST(text AS BLOB) FROM documents JOIN files ON files.id = file"
    chunks = "SELECT key, digest, start, end FROM chunks WHERE document = ?"
    for number, path, stored in db.execute(f"{documents} ORDER BY documents.id"):
        cancel.check()
        text = stored.decode("utf-8", "replace")
        for key, digest, start, end in db.execute(chunks, (number,)):
            span = text[start:end]
            if digest != full_text.digest(span) or key != writes.key(path, positions[path], start, end, span):
                changed.add(path)
        positions[path] += 1
    return sorted(changed)
