"""Nearest vectors of an index: quantized vectors name candidates, the database says how near they are.

Vectors go by the numbers of `embedded`, which says what they are made of.

All quantized vectors are compared: 20 ms for 1,000,000 passages on one core, and the ten nearest are the exact ones.
FAISS's IVF and HNSW take 2.2 and 0.8 ms for a recall of .98, train or build for minutes, and cannot be narrowed to
some files.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from local_rag.core.errors import IndexMismatch
from local_rag.index.store import embedded, quantized_vectors, reads
from local_rag.index.store.folder import vectors_file
from local_rag.index.store.quantized_vectors import QuantizedVectors, bound_of, quantized

if TYPE_CHECKING:
    from sqlite3 import Connection

    import numpy as np
    from numpy.typing import NDArray

    from local_rag.core.protocols import Vectors
    from local_rag.index.store.quantized_vectors import Codes, Ids
    from local_rag.index.store.selection import Selection

SPARE = 20
"""Candidates beyond those asked for, at least; half as many again if that is more. Of 200,000 passages (MiniLM, 100
queries) the 10 nearest were among the first 11 candidates, the 50 nearest among 55, the 200 nearest among 223."""

FEW = 2000
"""Chunks whose vectors are read one by one faster than all quantized ones are compared."""

TAIL, SHARE = 1000, 16
"""Vectors that the file may lack, or hold though they are gone: 1,000 and 1/16 of its rows. To quantize 1,000 vectors
takes 2 to 10 ms; a new file of 1,000,000, due after 63,500 others, takes 1.5 s."""

OLD_ENOUGH = 20_000
"""Rows of a file whose bound holds for more vectors like them; a smaller one is made of the vectors anew."""

_BATCH = 8192
_PROBES = 64
"""Rows of a file that are compared with the database when it is opened."""


class VectorIndex(NamedTuple):
    """The vectors of `base`, which lies in the file of that token, and the later ones of `tail`, up to a commit.

    Vectors that are gone may still be in both: the database does not give them. Within an epoch no number changes its
    vector, and none is used twice.
    """

    generation: str
    epoch: str
    token: str
    base: QuantizedVectors | None
    tail: QuantizedVectors | None

    @property
    def last(self) -> int:
        """The highest number in it."""
        return max((int(part.ids[-1]) for part in (self.base, self.tail) if part), default=-1)


def overgrown(based: int, later: int, there: int) -> bool:
    """Whether a new file pays: too many vectors are not in it (`later`), or are in it (`based`) and gone.

    `there` is the number of those that the database has.
    """
    return later + max(0, based + later - there) > TAIL + based // SHARE


def load(db: Connection, folder: Path, old: VectorIndex | None, whole: bool = False) -> VectorIndex | None:
    """The vectors of the last commit: what is new since `old`, or since the file was made, is read.

    None if a new file should be made first, unless `whole`: then all is read, however much it is. Raises ValueError if
    a chunk has no whole vector.
    """
    meta = reads.meta(db)
    token = meta.get("base", "")
    if old is not None and (old.epoch, old.token) == (meta["epoch"], token):
        return _extended(db, meta, old)
    base = _base(db, folder, token, int(meta["dimension"]))
    last = int(base.ids[-1]) if base else -1
    if not whole and overgrown(len(base.ids) if base else 0, *embedded.extent(db, last)):
        return None
    return _extended(db, meta, VectorIndex("", "", token, base, None))


def _extended(db: Connection, meta: Mapping[str, str], old: VectorIndex) -> VectorIndex:
    """The old one with all later vectors."""
    import numpy as np

    dimension = int(meta["dimension"])
    later = embedded.seqs(db, old.last)
    base, tail = old.base, old.tail
    if not base and tail and len(later) > len(tail.ids):  # the bound of a few says little of many
        tail, later = None, embedded.seqs(db)
    if len(later):
        known = base or tail
        bound = known.bound if known else _bound(db, later, dimension)
        codes = np.empty((len(later), dimension), dtype=np.uint8)
        for number, batch in enumerate(_matrices(db, later, dimension)):
            codes[number * _BATCH :][: len(batch)] = quantized(batch, bound)
        tail = tail.with_more(later, codes) if tail else QuantizedVectors(later, codes, bound)
    return VectorIndex(meta["generation"], meta["epoch"], old.token, base, tail)


def nearest(
    db: Connection,
    vectors: VectorIndex,
    query: Vectors,
    k: int,
    chosen: Selection | None,
    exclude: Collection[int],
) -> list[tuple[int, float]] | None:
    """(chunk, cosine) of the k chunks nearest to a unit vector (d,), best first; only of the chosen ones, if given.

    Cosines are those of the float32 vectors. None if all vectors are others by now. Raises ValueError if a chunk has
    no whole vector.
    """
    meta = reads.meta(db)
    if meta["epoch"] != vectors.epoch:
        return None
    if len(query) != int(meta["dimension"]):
        raise IndexMismatch(
            f"the index has vectors of {meta['dimension']} dimensions, the query of {len(query)}",
            hint="type the same command again: another process has just embedded it anew",
        )
    left_out = embedded.of_chunks(db, exclude) if exclude else []
    allowed: NDArray[np.bool_] | None = None
    if chosen is not None:
        inside = chosen.seqs(db)
        if len(inside) <= FEW:
            return _exact(db, query, set(inside.tolist()).difference(left_out))[:k]
        allowed = _marked(vectors, inside)
    elif left_out:
        allowed = ~_marked(vectors, ())
    if allowed is not None and left_out:
        allowed &= ~_marked(vectors, left_out)
    wanted = k + max(SPARE, k // 2)
    while True:
        candidates = _candidates(vectors, query, wanted, allowed)
        exact = _exact(db, query, candidates)
        if len(exact) >= k or len(candidates) < wanted:
            return exact[:k]
        wanted *= 4


def cosines(db: Connection, query: Vectors, chunks: Collection[int]) -> dict[int, float]:
    """The inner product of a vector (d,) with those of these chunks; chunks without a vector are left out."""
    return _products(embedded.combined_of(db, chunks, len(query)), query)


def _products(vectors: embedded.Combined, query: Vectors) -> dict[int, float]:
    """By chunk; summed in float64, so that each is the same whichever chunks it is computed with."""
    products = (vectors.matrix.astype("f8") @ query.astype("f8")).astype("f4")
    return dict(zip(vectors.chunks.tolist(), products.tolist(), strict=True))


def save(db: Connection, folder: Path, token: str) -> str:
    """Write all vectors to a file with this token; gives the epoch of their vectors.

    The codes of an older file are taken over if it is large enough to know a bound: to read the vectors of 1,000,000
    chunks takes 12 s instead of 1.5 s. Raises OSError, and ValueError if a chunk has no whole vector.
    """
    meta = reads.meta(db)
    dimension = int(meta["dimension"])
    ids = embedded.seqs(db)
    base = _base(db, folder, meta.get("base", ""), dimension)
    if base is not None and len(base.ids) >= OLD_ENOUGH:
        bound, batches = base.bound, _with_old_codes(db, ids, base, dimension)
    else:
        bound = _bound(db, ids, dimension)
        batches = (quantized(batch, bound) for batch in _matrices(db, ids, dimension))
    quantized_vectors.write(vectors_file(folder, token), token, ids, bound, batches)
    return meta["epoch"]


def _with_old_codes(db: Connection, ids: Ids, base: QuantizedVectors, dimension: int) -> Iterator[Codes]:
    import numpy as np

    alive = np.isin(base.ids, ids)
    for first in range(0, len(alive), _BATCH):
        yield base.codes[first : first + _BATCH][alive[first : first + _BATCH]]
    for batch in _matrices(db, ids[ids > base.ids[-1]], dimension):
        yield quantized(batch, base.bound)


def _base(db: Connection, folder: Path, token: str, dimension: int) -> QuantizedVectors | None:
    """The file of that token, if some of its rows are what the database would make of them."""
    import numpy as np

    base = QuantizedVectors.mapped(vectors_file(folder, token), token, dimension) if token else None
    if base is None:
        return None
    probes = np.linspace(0, len(base.ids) - 1, _PROBES).astype(np.int64)  # np.unique would import numpy.ma: 20 ms
    probed = embedded.combined(db, base.ids[probes].tolist(), dimension)
    codes = base.codes[np.searchsorted(base.ids, probed.seqs)]
    return base if np.array_equal(codes, quantized(probed.matrix, base.bound)) else None


def gone(db: Connection, folder: Path) -> int:
    """How many vectors are in the file that the database names, and gone."""
    rows, last = quantized_vectors.extent(vectors_file(folder, reads.meta(db).get("base", "")))
    later, there = embedded.extent(db, last)
    return rows + later - there


def file_is_whole(db: Connection, folder: Path, deep: bool = False) -> bool:
    """Whether the file that the database names, if any, is as it was written; `deep` compares all its codes."""
    import numpy as np

    meta = reads.meta(db)
    token, dimension = meta.get("base", ""), int(meta["dimension"])
    base = _base(db, folder, token, dimension)
    if base is None or not deep:
        return base is not None or not token
    alive = base.ids[np.isin(base.ids, embedded.seqs(db))]
    rows = np.searchsorted(base.ids, alive)
    return all(
        np.array_equal(base.codes[rows[number * _BATCH :][: len(batch)]], quantized(batch, base.bound))
        for number, batch in enumerate(_matrices(db, alive, dimension))
    )


def _bound(db: Connection, ids: Ids, dimension: int) -> float:
    sample = ids[:: max(1, len(ids) // _BATCH)].tolist()
    return bound_of(embedded.combined(db, sample, dimension).matrix)


def _matrices(db: Connection, ids: Ids, dimension: int) -> Iterator[Vectors]:
    """The vectors under all these numbers, in batches. Raises ValueError if there is none under one."""
    for first in range(0, len(ids), _BATCH):
        part = ids[first : first + _BATCH].tolist()
        known = embedded.combined(db, part, dimension)
        if len(known.seqs) != len(part):
            raise ValueError(f"{len(part) - len(known.seqs)} chunks have no vector")
        yield known.matrix


def _marked(vectors: VectorIndex, numbers: Collection[int] | Ids) -> NDArray[np.bool_]:
    """(last number + 1,): these, as far as they are in the index."""
    import numpy as np

    marks = np.zeros(vectors.last + 1, dtype=np.bool_)
    marked = numbers if isinstance(numbers, np.ndarray) else np.fromiter(numbers, dtype=np.int64)
    marks[marked[marked < len(marks)]] = True
    return marks


def _candidates(vectors: VectorIndex, query: Vectors, k: int, allowed: NDArray[np.bool_] | None) -> list[int]:
    """The numbers of up to k vectors that are probably the nearest."""
    import numpy as np

    parts = [part.nearest(query, min(k, len(part.ids)), allowed) for part in (vectors.base, vectors.tail) if part]
    if not parts:
        return []
    ids, products = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return [int(number) for number in ids[np.argsort(-products, kind="stable")[:k]]]


def _exact(db: Connection, query: Vectors, numbers: Collection[int]) -> list[tuple[int, float]]:
    """(chunk, cosine), best first; numbers that are gone are left out."""
    products = _products(embedded.combined(db, numbers, len(query)), query)
    return sorted(products.items(), key=lambda item: (-item[1], item[0]))
