"""The chunks that vector search sees, by the numbers (`seq`) in which their vectors came.

What is searched is the vector of the text with that of the header added: unit(text + HEADER_WEIGHT * header); that of
the text alone where there is no header, or none with a vector yet. A number and its vector never change: a chunk whose
header or vector changes gets another number. In an index of an earlier schema the numbers are the ids of the chunks.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from sqlite3 import Connection
from typing import TYPE_CHECKING, Any, NamedTuple

from local_rag.index.header import HEADER_WEIGHT
from local_rag.index.store import reuse, shapes
from local_rag.index.store.arrays import IN, array

if TYPE_CHECKING:
    from local_rag.core.protocols import Vectors
    from local_rag.index.store.quantized_vectors import Ids


class Combined(NamedTuple):
    """Rows of `embedded`: `seqs` (n,), `chunks` (n,) and the vectors that are searched (n, d)."""

    seqs: Ids
    chunks: Ids
    matrix: Vectors


# --- reading


def seqs(db: Connection, after: int = -1) -> Ids:
    """All numbers above one, ascending."""
    import numpy as np

    where, values = ("WHERE seq > ?", (after,)) if after >= 0 else ("", ())  # all: SQLite reads the smallest index
    rows = db.execute(f"SELECT seq FROM {shapes.embedded(db)} {where}", values)
    return np.sort(np.fromiter((row[0] for row in rows), dtype=np.int64))


def extent(db: Connection, last: int) -> tuple[int, int]:
    """How many numbers are above `last`, and how many there are."""
    table = shapes.embedded(db)
    sql = f"SELECT (SELECT count(*) FROM {table} WHERE seq > ?), (SELECT count(*) FROM {table})"
    numbers: tuple[int, int] = db.execute(sql, (last,)).fetchone()
    return numbers


def of_chunks(db: Connection, chunks: Collection[int]) -> list[int]:
    """The numbers of these chunks."""
    return [row[0] for row in db.execute(f"SELECT seq FROM {shapes.embedded(db)} WHERE chunk {IN}", (array(chunks),))]


def sample(db: Connection, limit: int) -> list[int]:
    """Up to `limit` numbers, spread evenly; of very many not all are read."""
    table = shapes.embedded(db)
    first, last = db.execute(f"SELECT min(seq), max(seq) FROM {table}").fetchone()
    if first is None or last - first < 50 * limit:
        ids = seqs(db)
        return [int(number) for number in ids[:: max(1, -(-len(ids) // limit))]]
    sql = f"SELECT seq FROM {table} WHERE seq >= ? ORDER BY seq LIMIT 1"
    steps = (first + (last - first) * step // limit for step in range(limit))
    return list(dict.fromkeys(db.execute(sql, (step,)).fetchone()[0] for step in steps))


def combined(db: Connection, numbers: Collection[int], dimension: int) -> Combined:
    """The vectors that are searched under these numbers, by number; numbers that are gone are left out.

    Raises ValueError for a vector of another size, or one that holds what is no number.
    """
    return _combined(db, "seq", numbers, dimension)


def combined_of(db: Connection, chunks: Collection[int], dimension: int) -> Combined:
    """The same for chunks; those without a vector are left out."""
    return _combined(db, "e.chunk", chunks, dimension)


def _combined(db: Connection, column: str, values: Collection[int], dimension: int) -> Combined:
    import numpy as np

    sql = (
        f"SELECT seq, e.chunk, header, vector FROM {shapes.embedded(db)} AS e JOIN vectors ON vectors.chunk = e.chunk"
        f" WHERE {column} {IN} ORDER BY seq"
    )
    rows = db.execute(sql, (array(values),)).fetchall()
    matrix = matrix_of([row[3] for row in rows], dimension)
    named = list(dict.fromkeys(row[2] for row in rows if row[2] is not None))
    if named:
        stored: dict[int, bytes | None] = dict(
            db.execute(f"SELECT id, vector FROM headers WHERE id {IN}", (array(named),))
        )
        headers = matrix_of([stored.get(number) or b"" for number in named], dimension)
        place = {number: row for row, number in enumerate(named)}
        having = [row for row, (_, _, header, _) in enumerate(rows) if header is not None]
        matrix = matrix.copy()
        matrix[having] = added(matrix[having], headers[[place[rows[row][2]] for row in having]])
    first, second = (np.fromiter((row[part] for row in rows), dtype=np.int64) for part in (0, 1))
    return Combined(first, second, matrix)


def added(texts: Vectors, headers: Vectors) -> Vectors:
    """The vectors (n, d) of texts with those of their headers added: unit rows."""
    import numpy as np

    sums = texts + np.float32(HEADER_WEIGHT) * headers
    rows: Vectors = sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), np.float32(1e-12))
    return rows


def matrix_of(blobs: Sequence[bytes], dimension: int) -> Vectors:
    """Stored vectors as rows (n, d). Raises ValueError for one of another size, or with what is no number."""
    import numpy as np

    if any(len(blob) != 4 * dimension for blob in blobs):
        raise ValueError("a vector of another size")
    matrix = np.frombuffer(b"".join(blobs), dtype="<f4").reshape(len(blobs), dimension)
    if not np.isfinite(matrix).all():
        raise ValueError("a vector that is no numbers")
    return matrix


def counts(db: Connection) -> tuple[int, int]:
    """How many chunks vector search sees, and how many there are."""
    numbers: tuple[int, int] = db.execute(
        f"SELECT (SELECT count(*) FROM {shapes.embedded(db)}), (SELECT count(*) FROM chunks)"
    ).fetchone()
    return numbers


def pending(db: Connection, chunks: Collection[int]) -> set[int]:
    """Those of these chunks that vector search does not see yet."""
    table = shapes.embedded(db)
    sql = f"SELECT id FROM chunks WHERE id {IN} AND NOT EXISTS (SELECT 1 FROM {table} AS e WHERE e.chunk = chunks.id)"
    return {row[0] for row in db.execute(sql, (array(chunks),))}


_WAITING = """
SELECT id FROM chunks WHERE NOT EXISTS (SELECT 1 FROM embedded WHERE embedded.chunk = chunks.id)
UNION SELECT chunk FROM embedded WHERE NOT EXISTS (SELECT 1 FROM vectors WHERE vectors.chunk = embedded.chunk)
UNION SELECT chunks.id FROM headers JOIN chunks ON chunks.header = headers.id WHERE headers.vector IS NULL"""
"""The chunks that vector search does not see, has lost the vector of, or sees without their header."""


def without_vectors(db: Connection) -> tuple[Ids, Ids]:
    """(chunks (n,), lengths (n,) in code points) of those that lack their text's vector or their header's.

    Those of the newest files come first. The length of a chunk whose text has its vector is 0.
    """
    import numpy as np

    rows = db.execute(
        "SELECT chunks.id, CASE WHEN EXISTS (SELECT 1 FROM vectors WHERE vectors.chunk = chunks.id)"
        f" THEN 0 ELSE end - start END FROM ({_WAITING}) AS waiting CROSS JOIN chunks ON chunks.id = waiting.id"
        " JOIN documents ON documents.id = chunks.document JOIN files ON files.id = documents.file"
        " ORDER BY files.mtime_ns DESC, files.id, chunks.id"
    ).fetchall()
    chunks, lengths = (np.fromiter((row[part] for row in rows), dtype=np.int64) for part in (0, 1))
    return chunks, lengths


def to_embed(db: Connection, chunks: Collection[int]) -> tuple[list[tuple[int, str]], list[tuple[int, str]]]:
    """(chunk, text) of those of these chunks without a vector, and (header, text) of their headers without one."""
    rows = db.execute(
        f"SELECT document, id, start, end FROM chunks WHERE id {IN}"
        " AND NOT EXISTS (SELECT 1 FROM vectors WHERE chunk = chunks.id)",
        (array(chunks),),
    ).fetchall()
    sql = f"SELECT id, text FROM documents WHERE id {IN}"
    whole: dict[int, str] = dict(db.execute(sql, (array({row[0] for row in rows}),)))
    by_id = {chunk: whole[document][start:end] for document, chunk, start, end in rows}
    texts = [(int(chunk), by_id[chunk]) for chunk in chunks if chunk in by_id]
    sql = f"SELECT DISTINCT header FROM chunks WHERE id {IN}"
    headers = db.execute(
        f"SELECT id, text FROM headers WHERE vector IS NULL AND id IN ({sql}) ORDER BY id", (array(chunks),)
    )
    return texts, headers.fetchall()


def headers_of(db: Connection, chunks: Collection[int]) -> dict[int, str]:
    """The headers of those of these chunks that have one."""
    if not shapes.has_table(db, "headers"):
        return {}
    sql = f"SELECT chunks.id, text FROM chunks JOIN headers ON headers.id = chunks.header WHERE chunks.id {IN}"
    return dict(db.execute(sql, (array(chunks),)))


# --- writing


def set_vectors(
    db: Connection, chunks: Collection[int], texts: Mapping[int, Any], headers: Mapping[int, Any] | None = None
) -> None:
    """Store the vectors (d,) of texts, by chunk, and of headers, by their number, and let vector search see them.

    `chunks` are taken in in their order, with what is known of them; so are other chunks with these headers that have
    a vector, and those of equal texts, which get the same vector. Chunks and headers that are gone by now are left out.
    """
    known = {row[0] for row in db.execute(f"SELECT id FROM chunks WHERE id {IN}", (array(texts),))}
    rows = [(chunk, blob(vector)) for chunk, vector in texts.items() if chunk in known]
    db.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", rows)
    named = headers or {}
    db.executemany("UPDATE headers SET vector = ? WHERE id = ?", [(blob(v), number) for number, v in named.items()])
    changed = [chunk for chunk, _ in rows]
    changed += reuse.spread(db, changed)
    sharing = db.execute(f"SELECT chunks.id FROM chunks WHERE header {IN} ORDER BY id", (array(named),)).fetchall()
    changed += [row[0] for row in sharing]
    db.execute(f"DELETE FROM embedded WHERE chunk {IN}", (array(changed),))
    take_in(db, list(dict.fromkeys([*chunks, *changed])))


def drop_vectors(db: Connection, chunks: Collection[int], headers: Collection[int]) -> None:
    """Forget the vectors of the texts of these chunks, and those of headers, by their number: both wait for others."""
    db.execute(f"DELETE FROM embedded WHERE chunk {IN} OR header {IN}", (array(chunks), array(headers)))
    db.execute(f"DELETE FROM vectors WHERE chunk {IN}", (array(chunks),))
    db.execute(f"UPDATE headers SET vector = NULL WHERE id {IN}", (array(headers),))


def take_in(db: Connection, chunks: Sequence[int]) -> None:
    """Let vector search see these chunks, in their order, with the vectors that they and their headers have."""
    with_header = (
        "SELECT headers.id FROM chunks JOIN headers ON headers.id = chunks.header"
        " WHERE chunks.id = embedded.chunk AND headers.vector IS NOT NULL"
    )
    listed = array(chunks)
    db.execute(f"DELETE FROM embedded WHERE chunk {IN} AND header IS NOT ({with_header})", (listed,))
    db.execute(
        "INSERT INTO embedded (chunk, header) SELECT chunks.id, headers.id FROM json_each(?) AS listed"
        " CROSS JOIN chunks ON chunks.id = listed.value CROSS JOIN vectors ON vectors.chunk = chunks.id"
        " LEFT JOIN headers ON headers.id = chunks.header AND headers.vector IS NOT NULL"
        " WHERE NOT EXISTS (SELECT 1 FROM embedded WHERE embedded.chunk = chunks.id) ORDER BY listed.key",
        (listed,),
    )


def blob(vector: Any) -> bytes:
    """A vector (d,) as it is stored."""
    stored: bytes = vector.astype("<f4").tobytes()
    return stored
