"""The chunks that a narrowing leaves: conditions on files and documents, never on one chunk after the other."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from sqlite3 import Connection
from typing import TYPE_CHECKING

from local_rag.index.store import shapes
from local_rag.index.store.arrays import IN, array

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from local_rag.index.store.quantized_vectors import Ids


MOMENT = "CASE mtime_ns WHEN 0 THEN indexed_at ELSE mtime_ns / 1e9 END"
"""When a file was changed, in seconds since 1970; of a page of the web, when it was fetched."""

WRITTEN = "CAST(strftime('%s', d.date) AS INTEGER)"
"""When a document was written whose date has a time, in seconds since 1970."""


class Selection:
    """The chunks of those documents for which all conditions hold, in one generation of an index.

    `where` is SQL over `documents` d, `phrases` a query of FTS5; what they give is read once, when it is asked for.
    """

    def __init__(self, where: Sequence[str] = (), values: Sequence[object] = (), phrases: str = "") -> None:
        self._where, self._values, self._phrases = list(where), list(values), phrases
        self._chunks: Ids | None = None
        self._seqs: Ids | None = None
        self._marks: NDArray[np.bool_] | None = None

    def chunks(self, db: Connection) -> Ids:
        """Their ids, ascending."""
        import numpy as np

        if self._chunks is None:
            rows = db.execute(self._sql(db, "chunks.id"), self._parameters)
            self._chunks = np.sort(np.fromiter((row[0] for row in rows), dtype=np.int64))
        return self._chunks

    def seqs(self, db: Connection) -> Ids:
        """Their numbers in `embedded`, ascending; those without a vector have none."""
        import numpy as np

        if self._seqs is None:
            rows = db.execute(
                self._sql(db, "e.seq", f" JOIN {shapes.embedded(db)} AS e ON e.chunk = chunks.id"), self._parameters
            )
            self._seqs = np.sort(np.fromiter((row[0] for row in rows), dtype=np.int64))
        return self._seqs

    def json(self, db: Connection) -> str:
        """Their ids as a parameter of SQL."""
        return json.dumps(self.chunks(db).tolist())

    def marks(self, db: Connection) -> NDArray[np.bool_]:
        """(highest id + 1,): which ids are among them."""
        import numpy as np

        if self._marks is None:
            chunks = self.chunks(db)
            self._marks = np.zeros(int(chunks[-1]) + 1 if len(chunks) else 0, dtype=np.bool_)
            self._marks[chunks] = True
        return self._marks

    def holds(self, db: Connection, chunks: Collection[int]) -> list[bool]:
        """Whether each of these ids is among them."""
        marks = self.marks(db)
        return [chunk < len(marks) and bool(marks[chunk]) for chunk in chunks]

    @property
    def _parameters(self) -> list[object]:
        return [*self._values, *([self._phrases] if self._phrases else [])]

    def _sql(self, db: Connection, column: str, joined: str = "") -> str:
        table = shapes.full_text(db)
        matched = f"SELECT rowid FROM {table} WHERE {table} MATCH ?"
        where = [*self._where, *([f"chunks.id IN ({matched})"] if self._phrases else [])]
        if not self._where:
            return f"SELECT {column} FROM chunks{joined}{' WHERE ' if where else ''}{''.join(where)}"
        documents = f"documents d JOIN chunks ON chunks.document = d.id{joined}"
        return f"SELECT {column} FROM {documents} WHERE {' AND '.join(where)}"


def of_files(files: Collection[int]) -> tuple[str, list[object]]:
    """The condition that a document is of one of these files."""
    return f"d.file {IN}", [array(files)]


def by_authors(authors: Collection[str]) -> tuple[str, list[object]]:
    """The condition that a document is by one of these authors, as they are stored."""
    return f"d.author {IN}", [array(authors)]


def dated(db: Connection, first: str, last: str, moments: tuple[float, float]) -> tuple[str, list[object]]:
    """The condition that a document's own date, else that of its file, is from `first` on and before `last`.

    Both are whole dates, "" for no border; `moments` are the same borders in seconds since 1970, by which the date of
    a document that has a time is compared. Of a document whose own date is partial, any day of it counts: its last day
    is compared with `first`, its first with `last`.
    """
    of_file = f"d.file IN (SELECT id FROM files WHERE {MOMENT} >= ? AND {MOMENT} < ?)"
    if not knows_origin(db):
        return of_file, list(moments)
    own, values = ["d.date != '' AND d.date NOT LIKE '%T%'"], list[object]()
    if first:
        own.append("d.date >= substr(?, 1, length(d.date))")
        values.append(first)
    if last:
        own.append("d.date || substr('0000-01-01', length(d.date) + 1) < ?")
        values.append(last)
    timed = f"d.date LIKE '%T%' AND {WRITTEN} >= ? AND {WRITTEN} < ?"
    return f"({' AND '.join(own)} OR {timed} OR (d.date = '' AND {of_file}))", [*values, *moments, *moments]


def knows_origin(db: Connection) -> bool:
    """Whether the index has room for authors and dates of documents; earlier schemas have none."""
    return {"author", "date"}.issubset(shapes.columns(db, "documents"))


def authors(db: Connection) -> list[str]:
    """All authors and senders, each once."""
    if not knows_origin(db):
        return []
    return [row[0] for row in db.execute("SELECT DISTINCT author FROM documents WHERE author != ''")]


def before_origin(db: Connection) -> tuple[int, int]:
    """How many documents were indexed before authors and dates were kept, and how many there are."""
    if not knows_origin(db):
        count = int(db.execute("SELECT count(*) FROM documents").fetchone()[0])
        return count, count
    sql = "SELECT count(*) FILTER (WHERE header_version <= 0), count(*) FROM documents"
    counts: tuple[int, int] = db.execute(sql).fetchone()
    return counts


def file_paths(db: Connection) -> dict[str, int]:
    """Path -> id of every file."""
    return dict(db.execute("SELECT path, id FROM files"))


def any_document(db: Connection, where: Sequence[str], values: Sequence[object]) -> bool:
    """Whether some document meets all these conditions."""
    sql = f"SELECT 1 FROM documents d WHERE {' AND '.join(where)} LIMIT 1"
    return db.execute(sql, list(values)).fetchone() is not None


def paths_of(db: Connection, where: Sequence[str], values: Sequence[object]) -> set[str]:
    """The paths of the files that have a document which meets all these conditions."""
    sql = f"SELECT DISTINCT path FROM documents d JOIN files ON files.id = d.file WHERE {' AND '.join(where)}"
    return {row[0] for row in db.execute(sql, list(values))}
