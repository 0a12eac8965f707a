"""Checks of the folder of an index, and the translation of errors of SQLite and of the disk into ours.

Result codes: https://sqlite.org/rescode.html
"""

from __future__ import annotations

import contextlib
import errno
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from local_rag.core import cancel
from local_rag.core.errors import (
    DiskFull,
    IndexBusy,
    IndexDamaged,
    IndexMissing,
    LocalRagError,
)
from local_rag.core.private_files import is_full
from local_rag.index.store.commands import anew, index_name
from local_rag.index.store.rows import Run
from local_rag.index.store.sqlite.connection import Connection, primary_code
from local_rag.index.store.sqlite.folder import DATABASE, LOCK, has_database, our_files
from local_rag.index.store.sqlite.schema import OWN
from local_rag.index.store.values import UnusableRow, UnusableVector
from local_rag.text.display import plural

_LENGTH_ERROR = 0.01
"""The most by which the square of the length of a stored vector may differ from 1."""


# --- errors


@contextmanager
def translated_errors(folder: Path) -> Iterator[None]:
    """Translate errors of SQLite and of the disk into ours, and unusable rows into IndexDamaged."""
    try:
        yield
    except (sqlite3.Error, OSError, UnusableRow, UnusableVector) as error:
        raise _translated(folder, error) from error


def _translated(folder: Path, error: Exception) -> LocalRagError:
    """Return our error for one of SQLite or of the disk."""
    code = getattr(error, "sqlite_errorcode", 0)
    primary, number = primary_code(error), getattr(error, "errno", None)
    said = str(error).partition(" with text ")[0]  # what could not be decoded is not shown
    full = primary == sqlite3.SQLITE_FULL or number in (errno.ENOSPC, errno.EDQUOT)
    if full or (primary == sqlite3.SQLITE_IOERR and is_full(folder)):
        return DiskFull(
            f"no space left for the index at {folder}; what it already holds is kept",
            hint="free some space on that disk, then type the same command again: it continues where it stopped",
        )
    if primary in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return IndexBusy(
            f"another process is writing to the index at {folder}",
            hint="wait until it is done, then type the same command again",
        )
    if code == sqlite3.SQLITE_CORRUPT_VTAB or isinstance(error, UnusableVector):
        return mendable(folder, said)
    lost = primary in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB) or isinstance(error, UnusableRow)
    if lost or said.startswith(("no such table", "Could not decode")):
        if not is_index(folder):
            return LocalRagError(f"{folder / DATABASE} is no index of local-rag: {said}", hint=anew(folder / "index"))
        return _lost(folder, said)
    if primary in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN) or isinstance(error, PermissionError):
        may_read = os.access(folder, os.R_OK | os.X_OK) and os.access(folder / DATABASE, os.R_OK)
        return LocalRagError(
            f"you have no permission to {'write' if may_read else 'read'} the index at {folder}",
            hint="make that folder yours, or put the index elsewhere: --index PATH",
        )
    hint = f"local-rag doctor --index {index_name(folder)}"
    return LocalRagError(f"the index at {folder} cannot be used: {said}", hint=hint)


def _lost(folder: Path, finding: str) -> IndexDamaged:
    """Return the error for texts that are gone or wrong; its hint has the files read again."""
    named: list[str] = []
    sql = "SELECT path FROM roots WHERE NOT forgotten UNION ALL SELECT DISTINCT root FROM files WHERE path LIKE 'http%'"
    with contextlib.suppress(sqlite3.Error, LocalRagError):
        named = [row[0] for row in Connection(folder).execute(sql)]
    remove = f"local-rag remove --index {index_name(folder)}"
    return IndexDamaged(f"the index at {folder} is damaged: {finding}", hint=f"{remove} && {anew(folder, named)}")


def mendable(folder: Path, finding: str) -> IndexDamaged:
    """Return the error for vectors or words that are gone or wrong; its hint makes them again from the stored text."""
    hint = f"local-rag index --reembed --index {index_name(folder)}"
    return IndexDamaged(f"the index at {folder} is damaged: {finding}", hint=hint)


# --- whether it is an index


def is_index(folder: Path) -> bool:
    """Return whether local-rag made what is in a folder, be it damaged or half removed.

    Its lock says so, or the tables in the database; other programs have an index.sqlite, too.
    """
    names = {file.name for file in our_files(folder)} if folder.is_dir() else set()
    if LOCK in names or DATABASE not in names:
        return LOCK in names
    if not has_database(folder):
        return True
    with contextlib.suppress(sqlite3.Error, OSError, LocalRagError):
        tables = Connection(folder).execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
        return {name for (name,) in tables} >= OWN
    return False


def must_be_index(folder: Path) -> None:
    """Raise IndexMissing for a folder that holds nothing of an index, or a database of others."""
    if not is_index(folder):
        raise IndexMissing(f"there is no index of local-rag at {folder}", hint=anew(folder))


# --- whether it is whole


def verify(run: Run, folder: Path, dimension: int) -> None:
    """Compare the tables with each other. Raises IndexDamaged."""
    check = str(run("PRAGMA quick_check(1)")[0][0])
    if check != "ok":
        raise _lost(folder, check)
    if dangling := run("PRAGMA foreign_key_check"):
        raise _lost(folder, f"rows of {dangling[0][0]} belong to nothing")
    for numbers, name in zip(unusable_vectors(run, dimension), ("passage", "header"), strict=True):
        if numbers:
            raise mendable(folder, f"{plural(len(numbers), name)} without a vector, or with one that is none")
    ((chunks, rows),) = run("SELECT (SELECT count(*) FROM chunks), (SELECT count(*) FROM full_text_docsize)")
    if chunks != rows:
        raise mendable(folder, f"{plural(chunks, 'passage')}, but {plural(rows, 'row')} in the full-text index")


def unusable_vectors(run: Run, dimension: int) -> tuple[list[int], list[int]]:
    """Return the chunks and the headers whose stored vector is missing or not of length 1; those that wait for one are
    not among them.
    """
    of_chunks = " FROM embedded JOIN chunks ON chunks.id = embedded.chunk"
    texts = run(f"SELECT chunks.id, vector {of_chunks} LEFT JOIN vectors USING (digest)")
    headers = run(f"SELECT DISTINCT headers.id, vector {of_chunks} JOIN headers ON headers.id = chunks.header")
    lost = ([number for number, vector in rows if not _is_unit(vector, dimension)] for rows in (texts, headers))
    return next(lost), next(lost)


def _is_unit(stored: bytes | None, dimension: int) -> bool:
    import numpy as np

    cancel.check()
    if stored is None or len(stored) != 4 * dimension:
        return False
    vector = np.frombuffer(stored, dtype="<f4")
    return bool(abs(np.dot(vector, vector) - 1) <= _LENGTH_ERROR)
