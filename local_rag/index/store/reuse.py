"""A text is embedded once: chunks of equal texts, told apart by their digests, have the same vector."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from sqlite3 import Connection

from local_rag.index.store.arrays import array


def vectors_of(db: Connection, path: str) -> dict[bytes, bytes]:
    """The vectors of a file's texts, by their digests."""
    sql = (
        "SELECT digest, vector FROM files JOIN documents ON documents.file = files.id"
        " JOIN chunks ON chunks.document = documents.id JOIN vectors ON vectors.chunk = chunks.id WHERE path = ?"
    )
    return dict(db.execute(sql, (path,)))


def take_over(db: Connection, chunks: Sequence[tuple[int, bytes]], known: Mapping[bytes, bytes]) -> int:
    """Give chunks (id, digest) the vectors of equal texts, from `known` or of any chunk; how many got one."""
    sql = (
        "SELECT vector FROM chunks JOIN vectors ON vectors.chunk = chunks.id WHERE digest = ?1"
        " UNION ALL SELECT vector FROM spare WHERE digest = ?1 LIMIT 1"
    )
    reused = 0
    for chunk, of_text in chunks:
        vector = known.get(of_text)
        if vector is None and (row := db.execute(sql, (of_text,)).fetchone()):
            vector = row[0]
        if vector is not None:
            db.execute("INSERT INTO vectors VALUES (?, ?)", (chunk, vector))
            reused += 1
    return reused


def set_aside(db: Connection, known: Mapping[bytes, bytes]) -> None:
    """Keep those of these vectors whose texts no chunk has any more: what left one file may come in another."""
    sql = "INSERT OR IGNORE INTO spare SELECT ?1, ?2 WHERE NOT EXISTS (SELECT 1 FROM chunks WHERE digest = ?1)"
    db.executemany(sql, known.items())


def drop_spare(db: Connection) -> None:
    """Forget what was set aside, at the end of a sync."""
    db.execute("DELETE FROM spare")


def spread(db: Connection, chunks: Iterable[int], table: str = "vectors") -> list[int]:
    """Give the vectors that these chunks have in a table to chunks of equal texts that have none; which these are."""
    listed = array(chunks)
    pairs = db.execute(
        "SELECT equal.id, min(given.id) FROM json_each(?) AS listed JOIN chunks AS given ON given.id = listed.value"
        " JOIN chunks AS equal ON equal.digest = given.digest AND equal.id != given.id"
        f" WHERE NOT EXISTS (SELECT 1 FROM {table} WHERE chunk = equal.id) GROUP BY equal.id",
        (listed,),
    ).fetchall()
    db.executemany(f"INSERT INTO {table} (chunk, vector) SELECT ?, vector FROM {table} WHERE chunk = ?", pairs)
    return [equal for equal, _ in pairs]
