"""Deleting an index, or what a killed process left of one."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

from local_rag.core.errors import LocalRagError
from local_rag.index.store.checks import must_be_index
from local_rag.index.store.connection import Connection
from local_rag.index.store.errors import translated_errors
from local_rag.index.store.folder import DATABASE, LOCK, has_database, our_files, sides
from local_rag.index.store.lock import write_lock


def destroy(folder: Path) -> None:
    """Delete the files of an index, and its folder if nothing else is in it; what a kill leaves can be deleted again.

    Raises IndexMissing and IndexBusy.
    """
    with translated_errors(folder):
        must_be_index(folder)
    database, locks = folder / DATABASE, [*sides(folder / LOCK), folder / LOCK]
    with write_lock(folder), translated_errors(folder):
        _empty_the_wal(folder)
        for file in our_files(folder):
            if file != database and file not in locks:
                file.unlink(missing_ok=True)
        database.unlink(missing_ok=True)
    with translated_errors(folder):
        for file in locks:
            file.unlink(missing_ok=True)
        if not any(folder.iterdir()):
            folder.rmdir()


def _empty_the_wal(folder: Path) -> None:
    """A database that loses its WAL to a removal that is killed then must not answer with what it said before."""
    if has_database(folder):
        with contextlib.suppress(sqlite3.Error, LocalRagError):
            connection = Connection(folder)
            connection.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
