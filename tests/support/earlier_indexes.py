"""Indexes that earlier versions of local-rag made of five notes and a page, see tests/data/indexes/make.py."""

from __future__ import annotations

import gzip
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

from local_rag.index.store import writes

DATA = Path(__file__).parents[1] / "data" / "indexes"
NAMES = ("schema1", "schema2-early", "schema2")
PAGE = "https://example.org/tides"


def placed(name, folder):
    """The index in folder/index, as if it had been made of folder/notes, where the notes are."""
    shutil.copytree(DATA / "notes", folder / "notes")
    (folder / "index").mkdir()
    file = folder / "index" / "index.sqlite"
    file.write_bytes(gzip.decompress((DATA / f"{name}.sqlite.gz").read_bytes()))
    with closing(sqlite3.connect(file)) as db, db:
        (old,) = db.execute("SELECT path FROM roots").fetchone()
        moved = (old, str(folder / "notes"))
        db.execute("UPDATE roots SET path = replace(path, ?, ?)", moved)
        db.execute("UPDATE files SET path = replace(path, ?, ?), root = replace(root, ?, ?)", moved * 2)
        rows = db.execute(
            "SELECT chunks.id, path, substr(text, start + 1, end - start), start, end FROM chunks"
            " JOIN documents ON documents.id = document JOIN files ON files.id = file"
        )
        keys = [(writes.key(path, 0, start, end, text), chunk) for chunk, path, text, start, end in rows.fetchall()]
        db.executemany("UPDATE chunks SET key = ? WHERE id = ?", keys)
    return folder / "index"


def rows(index, sql):
    """What a query says of the index in a folder."""
    with closing(sqlite3.connect(index / "index.sqlite")) as db:
        return db.execute(sql).fetchall()
