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
import mmap
import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from sqlite3 import Connection
from typing import TYPE_CHECKING, Any, NamedTuple

from local_rag.core import cancel
from local_rag.index.names import HEADER_WEIGHT
from local_rag.index.store import reads
from local_rag.index.store.folder import vectors_file
from local_rag.index.store.reads import IN, UnusableRow, array
from local_rag.text.display import plural

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
_BLOCK = 1 << 24
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


class StaleFile(Exception):
    """The file lacks so much that a new one should be written first."""


class VectorIndex(NamedTuple):
    """The vectors of a commit, up to number `last` of `embedded`: `index` is FAISS's with those of `file`, `ids` (n,)
    and `tail` (n, d) came later.
    """

    generation: str
    epoch: str
    file: VectorFile
    index: Any
    ids: Ids
    tail: Vectors
    last: int

    def candidates(self, query: Vectors, count: int, among: Ids | None) -> tuple[Ids, bool]:
        """Ids of up to `count` vectors that are probably the nearest to a unit vector (d,), best first, and whether all
        were compared. `among` are the only ids that count, where they are given.
        """
        import numpy as np

        tail = self.ids if among is None else self.ids[np.isin(self.ids, among)]
        rows = self.tail if among is None else self.tail[np.isin(self.ids, among)]
        ids, products, every = tail, rows @ query, True
        if self.index is not None:
            every = among is not None or count > DEEPEST // 4
            in_file, near = _searched(self.index, query, min(count, self.index.ntotal), among, every)
            ids, products = np.concatenate([in_file, ids]), np.concatenate([near, products])
        return ids[np.argsort(-products, kind="stable")[:count]], every or not hasattr(self.index, "nprobe")


def nearest(
    db: Connection,
    vectors: VectorIndex,
    query: Vectors,
    k: int,
    among: Ids | None = None,
    kept: Callable[[Sequence[int]], Sequence[int]] | None = None,
) -> tuple[list[tuple[int, float]], bool]:
    """(chunk, cosine) of the k chunks nearest to a unit vector (d,), best first, and whether there are no others.

    Only chunks `among` these ids count where they are given, and those that `kept` leaves of any. Cosines are those of
    the float32 vectors. Raises UnusableRow for a vector that is none.
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


def exact(db: Connection, query: Vectors, chunks: Sequence[int]) -> list[tuple[int, float]]:
    """(chunk, cosine), best first; chunks that are gone or have no vector are left out.

    Summed in float64, so that each cosine is the same whichever chunks it is computed with.
    """
    ids, matrix = _combined(db, f"e.chunk {IN}", array(chunks), len(query))
    products = (matrix.astype("f8") @ query.astype("f8")).astype("f4")
    return sorted(zip(ids.tolist(), products.tolist(), strict=True), key=lambda item: (-item[1], item[0]))


def matrix_of(blobs: Sequence[bytes], dimension: int) -> Vectors:
    """Stored vectors as rows (n, d). Raises UnusableRow for one of another size, or with what is no number."""
    import numpy as np

    if any(len(blob) != 4 * dimension for blob in blobs):
        raise UnusableRow("a vector of another size")
    matrix = np.frombuffer(b"".join(blobs), dtype="<f4").reshape(len(blobs), dimension)
    if not np.isfinite(matrix).all():
        raise UnusableRow("a vector that is no numbers")
    return matrix


def sample(db: Connection, limit: int, dimension: int) -> tuple[Ids, Vectors]:
    """The ids (n,) and vectors (n, d) of up to `limit` chunks, spread evenly over the index."""
    return _combined(db, f"e.seq {IN}", array(reads.sample(db, "embedded", "seq", limit)), dimension)


# --- the file


def load(db: Connection, folder: Path, meta: dict[str, str], old: VectorIndex | None, whole: bool) -> VectorIndex:
    """The vectors of this commit: what is new since `old`, or since the file was written, is read.

    Raises StaleFile if a new file should be written first, unless `whole`: then all is read, however much it is. Raises
    UnusableRow for a vector that is none.
    """
    import numpy as np

    file, dimension = VectorFile.of(meta), int(meta["dimension"])
    if old is None or (old.epoch, old.file) != (meta["epoch"], file):
        index = _mapped(folder, file, dimension)
        old = _empty(meta, file if index is not None else VectorFile(), index, dimension)
    (later,) = db.execute("SELECT count(*) FROM embedded WHERE seq > ?", (old.last,)).fetchone()
    if len(old.ids) + later > old.file.may_lack():
        if not whole:
            raise StaleFile
        return _empty(meta, _extent(db), _built(db, dimension), dimension)
    if not later:
        return old._replace(generation=meta["generation"])
    ids, rows = _combined(db, "e.seq > ?", old.last, dimension)
    if len(ids) < later:
        raise UnusableRow(f"{plural(later - len(ids), 'passage')} without a vector")
    joined = (np.concatenate([old.ids, ids]), np.concatenate([old.tail, rows]))
    return VectorIndex(meta["generation"], meta["epoch"], old.file, old.index, *joined, last=_extent(db).last)


def _empty(meta: dict[str, str], file: VectorFile, index: Any, dimension: int) -> VectorIndex:
    """The vectors of a file, and none that came later."""
    import numpy as np

    none = np.empty(0, dtype=np.int64), np.empty((0, dimension), dtype=np.float32)
    return VectorIndex(meta["generation"], meta["epoch"], file, index, *none, last=file.last)


def is_due(db: Connection) -> bool:
    """Whether the file lacks much, or holds much that is gone."""
    file, gone, later = _changes(db)
    return max(gone, later) > file.may_lack()


def holds_gone(db: Connection) -> bool:
    """Whether a vector is in the file that is gone from the index."""
    return _changes(db)[1] > 0


def _changes(db: Connection) -> tuple[VectorFile, int, int]:
    """The file, how many of its vectors are gone from the index, and how many came later."""
    file = VectorFile.of(reads.meta(db))
    (later,) = db.execute("SELECT count(*) FROM embedded WHERE seq > ?", (file.last,)).fetchone()
    return file, file.rows - (_extent(db).rows - later), later


def is_whole(db: Connection, folder: Path) -> bool:
    """Whether the file that the database names, if any, is as it was written."""
    meta = reads.meta(db)
    file = VectorFile.of(meta)
    return not file.token or _mapped(folder, file, int(meta["dimension"])) is not None


def save(db: Connection, folder: Path, token: str) -> tuple[str, VectorFile | None]:
    """Write all vectors to a file with this token, and say of which epoch they are; None where they are so few.

    Where the old file has learnt from enough vectors, only what is new is read: to read 1,000,000 takes 12 s instead of
    1.5 s. Raises OSError, and UnusableRow for a vector that is none.
    """
    import faiss

    meta = reads.meta(db)
    file, dimension = VectorFile.of(meta), int(meta["dimension"])
    extent = _extent(db)._replace(token=token)
    if extent.rows <= FEW:
        return meta["epoch"], None
    index, trained = None, extent.rows
    if file.token and extent.rows <= GROWN * file.trained and _mapped(folder, file, dimension) is not None:
        index, trained = (
            _extended(db, faiss.read_index(str(vectors_file(folder, file.token))), file, dimension),
            file.trained,
        )
    path = vectors_file(folder, token)
    with os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)):
        pass  # FAISS would make it readable for others
    faiss.write_index(index or _built(db, dimension), str(path))
    with path.open("rb+") as written:
        os.fsync(written.fileno())  # a file that the database names must not be empty after a power cut
    return meta["epoch"], extent._replace(checksum=_checksum(path), trained=trained)


def _extended(db: Connection, index: Any, file: VectorFile, dimension: int) -> Any:
    """FAISS's index without what is gone, and with what came since."""
    import faiss
    import numpy as np

    library: Any = faiss  # its type stubs know the names of SWIG, not those of Python
    kept = np.fromiter((row[0] for row in db.execute("SELECT chunk FROM embedded")), dtype=np.int64)
    index.remove_ids(library.IDSelectorNot(library.IDSelectorBatch(kept)))
    for ids, rows in _batches(db, file.last, dimension):
        index.add_with_ids(rows, ids)
    return index


def _built(db: Connection, dimension: int) -> Any:
    """FAISS's index of all vectors."""
    import faiss

    (count,) = db.execute("SELECT count(*) FROM embedded").fetchone()
    kind = f"IVF{LISTS},SQ8" if count >= LISTS_FROM else "IDMap2,SQ8"
    index = faiss.index_factory(dimension, kind, faiss.METRIC_INNER_PRODUCT)
    index.train(sample(db, TRAINED_ON, dimension)[1])
    for ids, rows in _batches(db, 0, dimension):
        index.add_with_ids(rows, ids)
    return index


def _batches(db: Connection, last: int, dimension: int) -> Iterator[tuple[Ids, Vectors]]:
    while True:
        cancel.check()
        sql = "SELECT max(seq) FROM (SELECT seq FROM embedded WHERE seq > ? ORDER BY seq LIMIT ?)"
        (until,) = db.execute(sql, (last, _BATCH)).fetchone()
        if until is None:
            return
        yield _combined(db, f"e.seq > {last} AND e.seq <= ?", until, dimension)
        last = until


def _searched(index: Any, query: Vectors, count: int, among: Ids | None, every: bool) -> tuple[Ids, Vectors]:
    """Ids (m,) and inner products (m,) of the m <= count largest, in no order."""
    import faiss
    import numpy as np

    library: Any = faiss
    chosen: dict[str, Any] = {}
    if among is not None:
        marks = np.zeros(int(among.max(initial=0)) + 1, dtype=np.bool_)
        marks[among] = True
        chosen["sel"] = library.IDSelectorBitmap(np.packbits(marks, bitorder="little"))
    if hasattr(index, "nprobe"):
        parameters = library.SearchParametersIVF(nprobe=LISTS if every else PROBES, **chosen)
    else:
        parameters = library.SearchParameters(**chosen)
    row = np.ascontiguousarray(query, dtype=np.float32).reshape(1, -1)
    products, ids = index.search(row, count, params=parameters)
    return ids[0][ids[0] >= 0], products[0][ids[0] >= 0]


def _mapped(folder: Path, file: VectorFile, dimension: int) -> Any:
    """The index in the file, mapped; None if there is none with this checksum.

    IO_FLAG_MMAP_IFC maps its arrays; IO_FLAG_MMAP reads some of them.
    """
    path = vectors_file(folder, file.token)
    if not file.token or not path.is_file() or _checksum(path) != file.checksum:
        return None
    import faiss

    library: Any = faiss
    try:
        index = library.read_index(str(path), library.IO_FLAG_MMAP_IFC)
    except RuntimeError:
        return None
    return index if (index.d, index.ntotal) == (dimension, file.rows) else None


def _checksum(path: Path) -> str:
    """The CRC-32 of the CRC-32s of its blocks, which several cores compute: .1 s for 1,000,000 x 384."""
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        if not size:
            return ""
        with (
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as body,
            ThreadPoolExecutor(os.cpu_count()) as threads,
        ):
            view = memoryview(body)
            sums = list(threads.map(lambda at: zlib.crc32(view[at : at + _BLOCK]), range(0, size, _BLOCK)))
            view.release()
    return f"{zlib.crc32(json.dumps(sums).encode()):08x}"


def _extent(db: Connection) -> VectorFile:
    """What a file of all vectors holds."""
    ends = "(SELECT coalesce(max(seq), 0) FROM embedded)"  # both in one SELECT would read every row
    last, rows = db.execute(f"SELECT {ends}, (SELECT count(*) FROM embedded)").fetchone()
    return VectorFile(last=last, rows=rows)


def _combined(db: Connection, where: str, value: object, dimension: int) -> tuple[Ids, Vectors]:
    """Ids (n,) and unit vectors (n, d) of the chunks that vector search sees, as far as a condition holds."""
    import numpy as np

    rows = db.execute(
        "SELECT v.chunk, v.vector, headers.vector FROM embedded AS e CROSS JOIN vectors AS v ON v.chunk = e.chunk"
        " CROSS JOIN chunks ON chunks.id = v.chunk LEFT JOIN headers ON headers.id = chunks.header"
        f" WHERE {where} ORDER BY e.seq",
        (value,),
    ).fetchall()
    nothing = bytes(4 * dimension)
    texts, headers = (
        matrix_of(blobs, dimension) for blobs in ([row[1] for row in rows], [row[2] or nothing for row in rows])
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
