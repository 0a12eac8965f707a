"""SQLite's errors and those of the disk as ours; whoever is told to delete an index is told after a check of all of it.

Result codes: https://sqlite.org/rescode.html
"""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from local_rag.core.disk import is_full
from local_rag.core.errors import DiskFull, IndexBusy, IndexDamaged, LocalRagError
from local_rag.index.store import checks, reads
from local_rag.index.store.checks import is_index
from local_rag.index.store.connection import Connection
from local_rag.index.store.folder import DATABASE, anew, index_name, quoted, rebuild
from local_rag.text.display import plural

_DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR)


@contextmanager
def translated_errors(folder: Path) -> Iterator[None]:
    """Errors of SQLite and of the disk as ours."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise _translated(folder, error) from error


def _translated(folder: Path, error: sqlite3.Error | OSError) -> LocalRagError:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    number = error.errno if isinstance(error, OSError) else None
    is_io = code == sqlite3.SQLITE_IOERR
    if code == sqlite3.SQLITE_FULL or number in (errno.ENOSPC, errno.EDQUOT) or (is_io and is_full(folder)):
        return DiskFull(
            f"no space left for the index at {folder}; what it already holds is kept",
            hint="free some space on that disk, then type the same command again: it continues where it stopped",
        )
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return IndexBusy(
            f"another process is writing to the index at {folder}",
            hint="wait until it is done, then type the same command again",
        )
    if str(error).startswith("Could not decode to UTF-8"):  # it quotes the text
        return IndexDamaged(
            f"the index at {folder} holds text that is not UTF-8",
            hint=f"local-rag doctor --deep --index {index_name(folder)}",
        )
    if code in _DAMAGE:
        in_words = getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_CORRUPT_VTAB
        return damaged(folder, str(error), in_words=in_words)
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN) or isinstance(error, PermissionError):
        may_read = os.access(folder, os.R_OK | os.X_OK) and os.access(folder / DATABASE, os.R_OK)
        return LocalRagError(
            f"you have no permission to {'write' if may_read else 'read'} the index at {folder}",
            hint="make that folder yours, or put the index elsewhere: --index PATH",
        )
    hint = f"local-rag doctor --index {index_name(folder)}"
    return LocalRagError(f"the index at {folder} cannot be used: {error}", hint=hint)


def damaged(folder: Path, why: str, *, in_words: bool = False) -> LocalRagError:
    """The error for what looked like damage to a reader, of the full-text index if `in_words`.

    A check of the whole file, on a connection that sees every commit, decides what it is: damage, with the command that
    mends it; no index of ours; or what another process did in between.
    """
    try:
        connection = Connection(folder)
        if connection.unguarded:
            return _unchecked(folder, why)
        finding = connection.snapshot(checks.damage)
        derived = "" if finding else connection.snapshot(checks.derived_damage)
        roots = _roots(connection) if finding else []
    except sqlite3.Error as error:
        if (getattr(error, "sqlite_errorcode", 0) & 0xFF) not in _DAMAGE:
            return _unchecked(folder, why)
        finding, derived, roots = str(error), "", []
    except (OSError, LocalRagError):
        return _unchecked(folder, why)
    if finding and not is_index(folder):
        return LocalRagError(f"{folder / DATABASE} is no index of local-rag: {finding}", hint=anew(folder / "index"))
    if finding:
        return IndexDamaged(f"the index at {folder} is damaged: {finding}", hint=rebuild(folder, roots))
    if derived or in_words:
        return mendable(folder, derived or why)
    return IndexBusy(
        f"the index at {folder} is whole, and was changed while it was read ({why})",
        hint="type the same command again",
    )


def _roots(connection: Connection) -> list[str]:
    with suppress(sqlite3.Error, ValueError):
        return connection.snapshot(reads.named)
    return []


def mendable(folder: Path, finding: str) -> IndexDamaged:
    """The error for vectors or words that are gone or wrong: they are made anew from the stored text."""
    return IndexDamaged(
        f"the index at {folder} is damaged: {finding}",
        hint=f"local-rag index --reembed --index {index_name(folder)}",
    )


def changed(folder: Path, paths: Sequence[str]) -> IndexDamaged:
    """The error for files whose stored text is not what was stored: they are read again."""
    which = index_name(folder)
    return IndexDamaged(
        f"the index at {folder} holds text that has changed in {plural(len(paths), 'file')}, such as {paths[0]}",
        hint=f"local-rag remove {' '.join(map(quoted, paths))} --index {which} && local-rag index --index {which}",
    )


def _unchecked(folder: Path, why: str) -> LocalRagError:
    return IndexDamaged(
        f"the index at {folder} could not be read ({why}), nor checked without writing there",
        hint=f"let somebody who may write there type: local-rag doctor --index {index_name(folder)}",
    )
