"""The search for nearest vectors: FAISS proposes candidates, the database says how near they are.

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
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from local_rag.core import cancel
from local_rag.index.store.matrices import searched
from local_rag.index.store.rows import Run
from local_rag.index.store.sqlite.folder import vectors_file

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from local_rag.core.protocols import Vectors

    Ids = NDArray[np.int64]
    Mask = NDArray[np.bool_]

COMPARED = 4_000
"""Vectors up to which they are compared as they lie in the database: reading them takes as long as importing FAISS, .1
s.
"""

TAIL = 20_000
"""The most vectors that the file may lack, or hold though they are gone; in a smaller index COMPARED and 1/16 of its
rows.

More of them cost time and memory, and nothing else.
"""

LISTS_FROM = 100_000
"""Vectors from which inverted lists pay."""

LISTS, PROBES = 1024, 192
"""The number of inverted lists, and of those that are compared with a query: docs/measurements.md."""

TRAINED_ON = 50 * LISTS
"""Vectors from which centroids and ranges are learnt."""

GROWN = 4
"""The number of vectors, as a multiple of those that a file was trained on, up to which it is not trained again."""

SPARE = 20
"""The least number of candidates beyond those asked for; half as many again if that is more. Products of bytes are off
by .002.
"""

WIDE = 5_000
"""Candidates from which all lists are compared."""

_ADDED = 8192
_BLOCK = 1 << 20
"""Bytes of the file that are checked at once."""


class VectorFile(NamedTuple):
    """The file of vectors as the database knows it: the token in its name, its checksum, the last number of `embedded`
    in it, its rows, and how many vectors it was trained on.
    """

    token: str = ""
    checksum: str = ""
    last: int = 0
    rows: int = 0
    trained: int = 0

    @classmethod
    def of(cls, meta: dict[str, str]) -> VectorFile:
        """Return the file in the row `vectors` of `meta`, which is its fields as JSON; an empty one without that
        row.
        """
        return cls(*json.loads(meta["vectors"])) if "vectors" in meta else cls()

    def may_lack(self) -> int:
        """Return how many vectors may be missing from it, or be in it and gone."""
        return max(COMPARED, min(TAIL, self.rows // 16))


class VectorIndex(NamedTuple):
    """The vectors of a commit: `index` is FAISS's of the file, `ids` (n,) and `tail` (n, d) are those that came later.

    Where there is no file, or it cannot be used, `index` is None, and all are in `tail`.
    """

    index: Any
    ids: Ids
    tail: Vectors

    def candidates(self, query: Vectors, count: int, among: Mask | None, *, every: bool) -> list[int]:
        """Return up to `count` chunks that are probably the nearest to a unit vector (d,), best first, of those that
        `among` marks by their ids.

        All vectors are compared where `every` is set, else those of the nearest lists.
        """
        import numpy as np

        chosen = slice(None) if among is None else among[self.ids]
        ids, products = self.ids[chosen], self.tail[chosen] @ query
        if self.index is not None:
            in_file, near = _searched(self.index, query, count, among, LISTS if every else PROBES)
            ids, products = np.concatenate([in_file, ids]), np.concatenate([near, products])
        nearest: list[int] = ids[np.argsort(-products, kind="stable")[:count]].tolist()
        return nearest


# --- the file


def counted(run: Run, file: VectorFile) -> tuple[int, int, int]:
    """Count all vectors, those that the file lacks, and those in the file that are gone."""
    sql = "SELECT (SELECT count(*) FROM embedded), (SELECT count(*) FROM embedded WHERE seq > $1)"
    ((rows, lacking),) = run(sql, file.last)
    return rows, lacking, file.rows - (rows - lacking)


def renewed(run: Run, folder: Path, meta: dict[str, str]) -> tuple[Any, VectorFile]:
    """Return FAISS's index of all vectors and the description of its new file; None where they are few, for it is not
    used then.

    Where the old file has learnt from enough vectors, only new ones are read: reading 1,000,000 takes 12 s instead of
    1.5 s. Raises UnusableVector.
    """
    file, dimension = VectorFile.of(meta), int(meta["dimension"])
    rows = counted(run, file)[0]
    if rows <= COMPARED:
        return None, VectorFile()
    import faiss

    library: Any = faiss  # its type stubs know the names of SWIG, not those of Python
    index = opened(folder, file, mapped=False) if rows <= GROWN * file.trained else None
    if index is not None:
        import numpy as np

        kept = np.array([row[0] for row in run("SELECT chunk FROM embedded")], dtype=np.int64)
        index.remove_ids(library.IDSelectorNot(library.IDSelectorBatch(kept)))
    else:
        file = VectorFile(trained=rows)
        kind = f"IVF{LISTS},SQ8" if rows >= LISTS_FROM else "IDMap2,SQ8"
        index = library.index_factory(dimension, kind, library.METRIC_INNER_PRODUCT)
        index.train(_sample(run, rows, dimension))
    for last, ids, matrix in _batches(run, file.last, dimension):
        index.add_with_ids(matrix, ids)
        file = file._replace(last=last)
    return index, file._replace(token="", rows=rows)


def _sample(run: Run, rows: int, dimension: int) -> Vectors:
    """Return the vectors (n, d) of up to TRAINED_ON chunks, spread evenly over the index."""
    numbers, count = run("SELECT seq FROM embedded ORDER BY seq"), min(TRAINED_ON, rows)
    chosen = [numbers[rows * step // count][0] for step in range(count)]
    return combined(run, "e.seq IN (SELECT value FROM json_each($1))", chosen, dimension)[1]


def save(folder: Path, index: Any, file: VectorFile, token: str) -> VectorFile:
    """Write all vectors to a file with this token. Raises OSError, and RuntimeError (FAISS)."""
    import faiss

    path = vectors_file(folder, token)
    path.touch(0o600, exist_ok=False)  # FAISS would make it readable for others
    faiss.write_index(index, str(path))
    with path.open("rb+") as written:
        os.fsync(written.fileno())  # a file that the database names must not be empty after a power cut
    return file._replace(token=token, checksum=_checksum(path))


def _batches(run: Run, last: int, dimension: int) -> Iterator[tuple[int, Ids, Vectors]]:
    """Yield what came after this number of `embedded`: the last number, ids (n,) and vectors (n, d)."""
    sql = "SELECT max(seq) FROM (SELECT seq FROM embedded WHERE seq > $1 ORDER BY seq LIMIT $2)"
    while until := run(sql, last, _ADDED)[0][0]:
        cancel.check()
        yield until, *combined(run, f"e.seq > {last} AND e.seq <= $1", until, dimension)
        last = until


def _searched(index: Any, query: Vectors, count: int, among: Mask | None, probes: int) -> tuple[Ids, Vectors]:
    """Return the ids (m,) and the inner products (m,) of the m <= count largest, in no order."""
    import faiss
    import numpy as np

    library: Any = faiss
    selector = None
    if among is not None:
        selector = library.IDSelectorBitmap(np.packbits(among, bitorder="little"))
    parameters = library.SearchParametersIVF(sel=selector, nprobe=probes)  # without lists the selector counts alone
    row = np.ascontiguousarray(query, dtype=np.float32).reshape(1, -1)
    products, ids = index.search(row, min(count, index.ntotal), params=parameters)
    return ids[0][ids[0] >= 0], products[0][ids[0] >= 0]


def opened(folder: Path, file: VectorFile, *, mapped: bool) -> Any:
    """Return the index in the file; None where there is none with this checksum, or another process has just deleted
    it.

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
    """Return the CRC-32 of a file in 8 hex digits: .3 s for 1,000,000 x 384."""
    value = 0
    with path.open("rb", buffering=0) as file:
        while block := file.read(_BLOCK):
            value = zlib.crc32(block, value)
    return f"{value:08x}"


EMBEDDED = (
    "SELECT e.chunk, vectors.vector, headers.vector FROM embedded AS e CROSS JOIN chunks ON chunks.id = e.chunk"
    " LEFT JOIN vectors USING (digest) LEFT JOIN headers ON headers.id = chunks.header"
)
"""SQL for (chunk, vector of its text, vector of its header) of the chunks that vector search sees."""


def combined(run: Run, where: str, value: object, dimension: int) -> tuple[Ids, Vectors]:
    """Return ids (n,) and unit vectors (n, d) of the chunks that vector search sees and for which a condition holds.

    Raises UnusableVector.
    """
    return searched(run(f"{EMBEDDED} WHERE {where} ORDER BY e.seq", value), dimension)
