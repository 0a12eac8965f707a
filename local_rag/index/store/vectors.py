"""Nearest vectors of an index: FAISS names candidates, the database says how near they are.

Each chunk is searched by unit(text + HEADER_WEIGHT * header), under its id. Few vectors are compared as they lie in the
database, for importing FAISS takes longer than that. More of them lie in a file of FAISS in one byte per dimension,
which is mapped: an IndexScalarQuantizer, from LISTS_FROM on with inverted lists, of which those nearest to a query are
compared. Vectors that came after the file was written (its `tail`) are compared as they are; those that are gone are
left out by the database.

A mapped file never changes: a newer one is written beside it, from one that is not mapped.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from functools import singledispatch
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from local_rag.core import cancel
from local_rag.index.store import reads
from local_rag.index.store.database import IN, Database, array
from local_rag.index.store.folder import vectors_file
from local_rag.index.store.reads import UnusableVector
from local_rag.text.names import HEADER_WEIGHT

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from local_rag.core.protocols import Vectors

    Ids = NDArray[np.int64]

FEW = 4_000
"""Vectors that are compared as they lie in the database: to read them takes as long as to import FAISS, .1 s."""

TAIL = 20_000
"""Vectors that the file may lack, or hold though they are gone, at most; in a smaller index FEW and 1/16 of its
rows.
"""

LISTS_FROM = 100_000
"""Vectors from which inverted lists pay."""

LISTS, PROBES = 1024, 192
"""Inverted lists, and how many are compared with a query: docs/measurements.md."""

TRAINED_ON = 50 * LISTS
"""Vectors that centroids and ranges are learnt from."""

GROWN = 4
"""How many times as many vectors as it was trained on a file may have before it is trained anew."""

SPARE = 20
"""Candidates beyond those asked for, at least; half as many again if that is more. Products of bytes are off by
.002.
"""

DEEPEST = 20_000
"""Candidates among which those are looked for that a filter leaves."""

_BATCH = 8192
_BLOCK = 1 << 20
"""Bytes of the file that are checked at once."""


class VectorFile(NamedTuple):
    """What the database knows of the file: its name, its checksum, the last number of `embedded` in it, its rows, and
    of how many vectors it was trained.
    """

    token: str = ""
    checksum: str = ""
    last: int = 0
    rows: int = 0
    trained: int = 0

    @classmethod
    def of(cls, meta: dict[str, str]) -> VectorFile:
        """That of the row `vectors` of `meta`, which is `json.dumps` of this."""
        return cls(*json.loads(meta["vectors"])) if "vectors" in meta else cls()

    def may_lack(self) -> int:
        """How many vectors may be missing from it, or be in it and gone."""
        return max(FEW, min(TAIL, self.rows // 16))


class Candidates(Protocol):
    """What names the vectors that are probably the nearest."""

    def candidates(self, query: Vectors, count: int, among: Ids | None) -> tuple[Ids, bool]:
        """Ids of up to `count` vectors that are probably the nearest to a unit vector (d,), best first, and whether all
        were compared. `among` are the only ids that count, where they are given.
        """


class VectorIndex(NamedTuple):
    """The vectors of a commit: `index` is FAISS's with those of `file`, `ids` (n,) and `tail` (n, d) came later.

    `file` has no token while its vectors are in memory alone.
    """

    generation: str
    epoch: str
    file: VectorFile
    index: Any
    ids: Ids
    tail: Vectors

    @property
    def is_unsaved(self) -> bool:
        """Whether no file holds what FAISS has."""
        return self.index is not None and not self.file.token

    def candidates(self, query: Vectors, count: int, among: Ids | None) -> tuple[Ids, bool]:
        import numpy as np

        chosen = slice(None) if among is None else np.isin(self.ids, among)
        ids, products = self.ids[chosen], self.tail[chosen] @ query
        if self.index is None:
            return ids[np.argsort(-products, kind="stable")[:count]], True
        every = among is not None or count > DEEPEST // 4
        in_file, near = _searched(self.index, query, count, among, LISTS if every else PROBES)
        order = np.argsort(-np.concatenate([near, products]), kind="stable")[:count]
        return np.concatenate([in_file, ids])[order], every or not hasattr(self.index, "nprobe")


def nearest(
    db: Database,
    vectors: Candidates,
    query: Vectors,
    k: int,
    among: Ids | None = None,
    kept: Callable[[Sequence[int]], Sequence[int]] | None = None,
) -> tuple[list[tuple[int, float]], bool]:
    """(chunk, cosine) of the k chunks nearest to a unit vector (d,), best first, and whether there are no others.

    Only chunks `among` these ids count where they are given, and those that `kept` leaves of any. Cosines are those of
    the float32 vectors. Raises UnusableVector for a vector that is none.
    """
    if among is not None and len(among) <= FEW:
        near = exact(db, query, kept(among.tolist()) if kept else among.tolist())
        return near[:k], len(near) <= k
    wanted = k + max(SPARE, k // 2)
    count = wanted
    while True:
        candidates, every = vectors.candidates(query, count, among)
        left = kept(candidates.tolist()) if kept else candidates.tolist()
        near = exact(db, query, left[:wanted])
        exhausted = every and len(candidates) < count
        if len(near) >= k or exhausted or count > DEEPEST:
            return near[:k], exhausted and len(near) <= k
        count *= 4


def exact(db: Database, query: Vectors, chunks: Sequence[int]) -> list[tuple[int, float]]:
    """(chunk, cosine), best first; chunks that are gone or have no vector are left out.

    Summed in float64, so that each cosine is the same whichever chunks it is computed with.
    """
    if not chunks:
        return []
    ids, matrix = _combined(db, f"e.chunk {IN}", array(chunks), len(query))
    products = (matrix.astype("f8") @ query.astype("f8")).astype("f4")
    return sorted(zip(ids.tolist(), products.tolist(), strict=True), key=lambda item: (-item[1], item[0]))


def matrix_of(blobs: Sequence[bytes], dimension: int) -> Vectors:
    """Stored vectors as rows (n, d). Raises UnusableVector for one of another size, or with what is no number."""
    import numpy as np

    if any(len(blob) != 4 * dimension for blob in blobs):
        raise UnusableVector("a vector that is missing, or of another size")
    matrix = np.frombuffer(b"".join(blobs), dtype="<f4").reshape(len(blobs), dimension)
    if not np.isfinite(matrix).all():
        raise UnusableVector("a vector that is no numbers")
    return matrix


def sample(db: Database, limit: int, dimension: int) -> tuple[Ids, Vectors]:
    """The ids (n,) and vectors (n, d) of up to `limit` chunks, spread evenly over the index."""
    return _combined(db, f"e.seq {IN}", array(reads.sample(db, "embedded", limit)), dimension)


# --- the file


def load(db: Database, folder: Path, meta: dict[str, str], old: VectorIndex | None) -> VectorIndex:
    """The vectors of this commit: what came since the file was written is read.

    Where that is much, all of them are loaded as for a new file. Raises UnusableVector.
    """
    file, dimension = VectorFile.of(meta), int(meta["dimension"])
    index = old.index if old and (old.epoch, old.file) == (meta["epoch"], file) else _opened(folder, file, mapped=True)
    if index is None:
        file = VectorFile()
    if _later(db, file) > file.may_lack():
        return renewed(db, folder)
    tail = _combined(db, "e.seq > ?", file.last, dimension)
    return VectorIndex(meta["generation"], meta["epoch"], file, index, *tail)


@singledispatch
def is_due(db: Database) -> bool:
    """Whether the file lacks much, or holds much that is gone."""
    file = VectorFile.of(reads.meta(db))
    return max(gone(db), _later(db, file)) > file.may_lack()


def gone(db: Database) -> int:
    """How many vectors of the file are gone from the index."""
    file = VectorFile.of(reads.meta(db))
    return file.rows - (_rows(db) - _later(db, file))


def _later(db: Database, file: VectorFile) -> int:
    (count,) = db.execute("SELECT count(*) FROM embedded WHERE seq > ?", (file.last,)).fetchone()
    return int(count)


def _rows(db: Database) -> int:
    return int(db.execute("SELECT count(*) FROM embedded").fetchone()[0])


def is_whole(db: Database, folder: Path) -> bool:
    """Whether the file that the database names, if any, is as it was written."""
    file = VectorFile.of(reads.meta(db))
    return not file.token or _opened(folder, file, mapped=True) is not None


def renewed(db: Database, folder: Path) -> VectorIndex:
    """All vectors, as a new file holds them; FAISS is not used where they are few.

    Where the old file has learnt from enough vectors, only what is new is read: to read 1,000,000 takes 12 s instead of
    1.5 s. Raises UnusableVector.
    """
    meta, rows = reads.meta(db), _rows(db)
    file, dimension = VectorFile.of(meta), int(meta["dimension"])
    none = _combined(db, "e.seq < ?", 0, dimension)
    if rows <= FEW:
        return VectorIndex(meta["generation"], meta["epoch"], VectorFile(), None, *none)
    import faiss

    library: Any = faiss  # its type stubs know the names of SWIG, not those of Python
    index = _opened(folder, file, mapped=False) if rows <= GROWN * file.trained else None
    if index is not None:
        import numpy as np

        kept = np.fromiter((row[0] for row in db.execute("SELECT chunk FROM embedded")), dtype=np.int64)
        index.remove_ids(library.IDSelectorNot(library.IDSelectorBatch(kept)))
    else:
        file = VectorFile(trained=rows)
        kind = f"IVF{LISTS},SQ8" if rows >= LISTS_FROM else "IDMap2,SQ8"
        index = library.index_factory(dimension, kind, library.METRIC_INNER_PRODUCT)
        index.train(sample(db, TRAINED_ON, dimension)[1])
    for last, ids, matrix in _batches(db, file.last, dimension):
        index.add_with_ids(matrix, ids)
        file = file._replace(last=last)
    file = file._replace(token="", rows=rows)
    return VectorIndex(meta["generation"], meta["epoch"], file, index, *none)


def save(folder: Path, vectors: VectorIndex, token: str) -> VectorFile:
    """Write all vectors to a file with this token. Raises OSError, and RuntimeError (FAISS)."""
    import faiss

    path = vectors_file(folder, token)
    path.touch(0o600, exist_ok=False)  # FAISS would make it readable for others
    faiss.write_index(vectors.index, str(path))
    with path.open("rb+") as written:
        os.fsync(written.fileno())  # a file that the database names must not be empty after a power cut
    return vectors.file._replace(token=token, checksum=_checksum(path))


def _batches(db: Database, last: int, dimension: int) -> Iterator[tuple[int, Ids, Vectors]]:
    """What came after this number of `embedded`: the last number, ids (n,) and vectors (n, d)."""
    sql = "SELECT max(seq) FROM (SELECT seq FROM embedded WHERE seq > ? ORDER BY seq LIMIT ?)"
    while until := db.execute(sql, (last, _BATCH)).fetchone()[0]:
        cancel.check()
        yield until, *_combined(db, f"e.seq > {last} AND e.seq <= ?", until, dimension)
        last = until


def _searched(index: Any, query: Vectors, count: int, among: Ids | None, probes: int) -> tuple[Ids, Vectors]:
    """Ids (m,) and inner products (m,) of the m <= count largest, in no order."""
    import faiss
    import numpy as np

    library: Any = faiss
    selector = None
    if among is not None:
        marks = np.zeros(int(among.max(initial=0)) + 1, dtype=np.bool_)
        marks[among] = True
        selector = library.IDSelectorBitmap(np.packbits(marks, bitorder="little"))
    parameters = library.SearchParametersIVF(sel=selector, nprobe=probes)  # without lists the selector counts alone
    row = np.ascontiguousarray(query, dtype=np.float32).reshape(1, -1)
    products, ids = index.search(row, min(count, index.ntotal), params=parameters)
    return ids[0][ids[0] >= 0], products[0][ids[0] >= 0]


def _opened(folder: Path, file: VectorFile, *, mapped: bool) -> Any:
    """The index in the file; None if there is none with this checksum, or if another process has just deleted it.

    IO_FLAG_MMAP_IFC maps its arrays; IO_FLAG_MMAP reads some of them.
    """
    path = vectors_file(folder, file.token)
    try:
        if not file.token or not path.is_file() or _checksum(path) != file.checksum:
            return None
        import faiss

        library: Any = faiss
        return library.read_index(str(path), library.IO_FLAG_MMAP_IFC if mapped else 0)
    except (OSError, RuntimeError):
        return None


def _checksum(path: Path) -> str:
    """CRC-32: .3 s for 1,000,000 x 384."""
    value = 0
    with path.open("rb", buffering=0) as file:
        while block := file.read(_BLOCK):
            value = zlib.crc32(block, value)
    return f"{value:08x}"


@singledispatch
def embedded(db: Database) -> str:
    """SQL for (chunk, vector of its text, vector of its header) of what vector search sees."""
    return (
        "SELECT e.chunk, vectors.vector, headers.vector FROM embedded AS e CROSS JOIN chunks ON chunks.id = e.chunk"
        " LEFT JOIN vectors USING (digest) LEFT JOIN headers ON headers.id = chunks.header"
    )


def _combined(db: Database, where: str, value: object, dimension: int) -> tuple[Ids, Vectors]:
    """Ids (n,) and unit vectors (n, d) of the chunks that vector search sees, as far as a condition holds."""
    import numpy as np

    rows = db.execute(f"{embedded(db)} WHERE {where} ORDER BY e.seq", (value,)).fetchall()
    nothing = bytes(4 * dimension)
    texts, headers = (
        matrix_of(blobs, dimension) for blobs in ([row[1] or b"" for row in rows], [row[2] or nothing for row in rows])
    )
    return np.fromiter((row[0] for row in rows), dtype=np.int64, count=len(rows)), with_headers(texts, headers)


def with_headers(texts: Vectors, headers: Vectors) -> Vectors:
    """What is searched: the vectors (n, d) of texts with those of their headers added, 0 where there is none; unit
    rows.
    """
    import numpy as np

    sums = texts + np.float32(HEADER_WEIGHT) * headers
    rows: Vectors = sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), np.float32(1e-12))
    return rows
