"""Whether a folder holds an index, and whether that is whole; errors of SQLite and of the disk as ours.

Result codes: https://sqlite.org/rescode.html
"""

from __future__ import annotations

import contextlib
import errno
import os
import shlex
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from functools import singledispatch
from pathlib import Path

from local_rag.core import cancel
from local_rag.core.errors import (
    DiskFull,
    IndexBusy,
    IndexDamaged,
    IndexMismatch,
    IndexMissing,
    LocalRagError,
    UsageError,
)
from local_rag.core.private_files import is_full
from local_rag.core.protocols import Embedder
from local_rag.index.store import full_text, reads, schema
from local_rag.index.store.connection import Connection, primary_code
from local_rag.index.store.database import Database
from local_rag.index.store.folder import DATABASE, LOCK, anew, has_database, index_name, our_files
from local_rag.text.display import plural

_UNIT = 0.01
"""How far the square of the length of a stored vector may be from 1."""


# --- errors


@contextmanager
def translated_errors(folder: Path) -> Iterator[None]:
    """Errors of SQLite and of the disk as ours, and rows that cannot be used as damage."""
    try:
        yield
    except (sqlite3.Error, OSError, reads.UnusableRow, reads.UnusableVector) as error:
        raise _translated(folder, error) from error


def _translated(folder: Path, error: Exception) -> LocalRagError:
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
    if code == sqlite3.SQLITE_CORRUPT_VTAB or isinstance(error, reads.UnusableVector):
        return _mendable(folder, said)
    lost = primary in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB) or isinstance(error, reads.UnusableRow)
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
    """The error for texts that are gone or wrong: the files are read again."""
    named: list[str] = []
    with contextlib.suppress(sqlite3.Error, LocalRagError):
        named = Connection(folder).snapshot(reads.named)
    remove = f"local-rag remove --index {index_name(folder)}"
    return IndexDamaged(f"the index at {folder} is damaged: {finding}", hint=f"{remove} && {anew(folder, named)}")


def _mendable(folder: Path, finding: str) -> IndexDamaged:
    """The error for vectors or words that are gone or wrong: they are made anew from the stored text."""
    hint = f"local-rag index --reembed --index {index_name(folder)}"
    return IndexDamaged(f"the index at {folder} is damaged: {finding}", hint=hint)


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
        return Connection(folder).snapshot(reads.tables) >= schema.OWN
    return False


def must_be_index(folder: Path) -> None:
    """Raises IndexMissing for a folder that holds nothing of an index, or a database of others."""
    if not is_index(folder):
        raise IndexMissing(f"there is no index of local-rag at {folder}", hint=anew(folder))


def check_settings(db: Database, folder: Path, wanted: schema.IndexSettings) -> None:
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
    """Read all of an index. `deep` compares every text with its digest, too. Raises IndexDamaged."""
    check = str(db.execute("PRAGMA quick_check(1)").fetchone()[0])
    if check != "ok":
        raise _lost(folder, check)
    if dangling := db.execute("PRAGMA foreign_key_check").fetchone():
        raise _lost(folder, f"rows of {dangling[0]} belong to nothing")
    texts, headers = unusable_vectors(db)
    for count, name in ((len(texts), "passage"), (len(headers), "header")):
        if count:
            raise _mendable(folder, f"{plural(count, name)} without a vector, or with one that is none")
    chunks, rows = db.execute(
        "SELECT (SELECT count(*) FROM chunks), (SELECT count(*) FROM full_text_docsize)"
    ).fetchone()
    if chunks != rows:
        raise _mendable(folder, f"{plural(chunks, 'passage')}, but {plural(rows, 'row')} in the full-text index")
    try:  # FTS5 compares its own parts with each other; where nothing may be written it refuses
        db.execute("INSERT INTO full_text (full_text) VALUES ('integrity-check')")
    except sqlite3.DatabaseError as error:
        if primary_code(error) == sqlite3.SQLITE_CORRUPT:
            raise _mendable(folder, f"the full-text index: {error}") from error
    if paths := changed(db) if deep else []:
        which = index_name(folder)
        raise IndexDamaged(
            f"the index at {folder} holds text that has changed in {plural(len(paths), 'file')}, such as {paths[0]}",
            hint=f"local-rag remove {shlex.join(paths)} --index {which} && local-rag index --reembed --index {which}",
        )


@singledispatch
def unusable_vectors(db: Database) -> tuple[list[int], list[int]]:
    """The chunks and the headers that should have a unit vector, and have none; not those that wait for one."""
    dimension = reads.settings(db).dimension
    of_chunks = " FROM embedded JOIN chunks ON chunks.id = embedded.chunk"
    texts = db.execute(f"SELECT chunks.id, vector {of_chunks} LEFT JOIN vectors USING (digest)")
    headers = db.execute(f"SELECT DISTINCT headers.id, vector {of_chunks} JOIN headers ON headers.id = chunks.header")
    lost = ([number for number, vector in rows if not _is_unit(vector, dimension)] for rows in (texts, headers))
    return next(lost), next(lost)


def _is_unit(stored: bytes | None, dimension: int) -> bool:
    import numpy as np

    cancel.check()
    if stored is None or len(stored) != 4 * dimension:
        return False
    vector = np.frombuffer(stored, dtype="<f4")
    return bool(abs(np.dot(vector, vector) - 1) <= _UNIT)


def changed(db: Database) -> list[str]:
    """The paths of the files with a passage whose text has another digest."""
    changed: set[str] = set()
    chunks = 'SELECT digest, start, "end" FROM chunks WHERE document = ?'
    documents = "SELECT documents.id, path, text FROM documents JOIN files ON files.id = file"
    for number, path, text in db.execute(documents):
        cancel.check()
        if any(digest != full_text.digest(text[start:end]) for digest, start, end in db.execute(chunks, (number,))):
            changed.add(path)
    return sorted(changed)
