"""What was removed leaves the bytes of the files, too.

SQLite zeroes what it frees (`PRAGMA secure_delete`), but four places keep more: FTS5 only notes a deletion, and drops
the words when it merges all it has, and nothing at all goes from the full text of an earlier schema that no longer
answers, until it is dropped; the WAL holds pages as they were; the file of quantized vectors is made anew now
and then. FTS5's own `secure-delete` needs SQLite 3.42, and older ones cannot read what it writes.
"""

from __future__ import annotations

from sqlite3 import Connection

from local_rag.index.store import full_text, reads, shapes

DUE = "forget"
"""The row of `meta` that stands from a removal until nothing is left of what was removed."""

PAGES = 1000
"""Pages of FTS5 that one step merges: 0.3 s. All steps take 3 s for 100,000 passages of 180 words, on one slow core."""


def is_due(db: Connection) -> bool:
    """Whether something was removed that the files may still hold, or an earlier full text still goes."""
    return DUE in reads.meta(db) or full_text.has_retired(db)


def merge(db: Connection, *, first: bool) -> bool:
    """One step towards a single segment without the words of deleted rows; False when there was nothing to do.

    https://sqlite.org/fts5.html#the_merge_command
    """
    more = False
    for table in ("full_text", "words"):
        if shapes.has_table(db, table):
            before = db.total_changes
            db.execute(f"INSERT INTO {table} ({table}, rank) VALUES ('merge', ?)", (-PAGES if first else PAGES,))
            more = db.total_changes - before >= 2 or more
    return more


def empty_wal(db: Connection) -> bool:
    """Move all of the WAL into the database and cut it to nothing; False while another process reads from it."""
    busy: int = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
    return not busy


def done(db: Connection) -> None:
    db.execute("DELETE FROM meta WHERE name = ?", (DUE,))
