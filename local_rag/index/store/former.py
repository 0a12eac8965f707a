"""Former paths of files that have moved, and former keys of their chunks, as long as these are stored."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from sqlite3 import Connection


@dataclass(frozen=True, slots=True)
class Former:
    """The former paths of a file, and of each former key of its chunks (former key, key)."""

    paths: tuple[str, ...] = ()
    keys: tuple[tuple[str, str], ...] = ()


def of_file(db: Connection, path: str) -> Former:
    """What the file under a path was called before."""
    sql = "SELECT former_paths.path FROM former_paths JOIN files ON files.id = file WHERE files.path = ?"
    paths = tuple(row[0] for row in db.execute(sql, (path,)))
    if not paths:
        return Former()
    keys = (
        "SELECT former_keys.key, chunks.key FROM files JOIN documents ON documents.file = files.id"
        " JOIN chunks ON chunks.document = documents.id JOIN former_keys ON former_keys.chunk = chunks.id"
        " WHERE files.path = ?"
    )
    return Former(paths, tuple(db.execute(keys, (path,))))


def add(db: Connection, path: str, former: Former) -> None:
    """Let the file under a path have been called this before, and those of its chunks that still have these keys."""
    sql = "INSERT OR IGNORE INTO former_paths (path, file) SELECT ?, id FROM files WHERE path = ?"
    db.executemany(sql, [(each, path) for each in former.paths if each != path])
    add_keys(db, former.keys)


def add_keys(db: Connection, keys: Iterable[tuple[str, str]]) -> None:
    """Let chunks have had former keys, each given with the key of its chunk; what has no chunk is left out."""
    sql = "INSERT OR REPLACE INTO former_keys (key, chunk) SELECT ?, id FROM chunks WHERE key = ?"
    db.executemany(sql, [(former, key) for former, key in keys if former != key])
