"""The vectors of an index in memory: codes that say which chunks may be near; the database says how near they are.

All codes are compared: 20 ms for 1,000,000 passages on one core, and the ten nearest are the exact ones. FAISS's
inverted lists over such codes take 2.2 ms for a recall@10 of .983, its HNSW at 100,000 0.8 ms for .979; but both must
be trained or built for minutes, and would only guess when a search is narrowed to some files.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from local_rag.core.errors import IndexMismatch
from local_rag.index.store import codes, codes_file, reads
from local_rag.index.store.codes import Codes

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from local_rag.core.protocols import Vectors
    from local_rag.index.store.codes import Bytes, Ids
    from local_rag.index.store.writes import Sql

_SPARE = 20
"""Candidates beyond those asked for, at least; half as many again if that is more. Of 200,000 passages (MiniLM, 100
queries) the 10 nearest were among the first 11 by their codes, the 50 nearest among 55, the 200 nearest among 223."""

_FEW = 2000
"""Chunks whose vectors are read one by one faster than all codes are compared."""

_BATCH = 8192
_PROBES = 64
"""Rows of a file of codes that are compared with the database when it is opened."""

_TAIL = 1000
_SHARE = 16
"""Chunks that may be missing in the file of codes, or gone: 1,000 and 1/16 of its rows. To read and code 1,000 vectors
when an index is opened takes 2 to 10 ms; at 1,000,000 passages a new file, due after 63,500 others, takes 1.5 s."""

_OLD_ENOUGH = 20_000
"""Rows of a file whose bound holds for more vectors like them; below that all are coded anew."""


class View(NamedTuple):
    """The chunks of `base`, which lies in the file of that token, and the later ones of `tail`, up to a commit.

    Chunks that are gone may still be in both: the database does not give their vectors. Within an epoch a chunk never
    changes its vector, and no id is used twice.
    """

    generation: str
    epoch: str
    token: str
    base: Codes | None
    tail: Codes | None

    @property
    def last(self) -> int:
        """The highest id of a chunk in it."""
        ends = [int(part.ids[-1]) for part in (self.base, self.tail) if part]
        return max(ends, default=-1)


def overgrown(based: int, later: int, chunks: int) -> bool:
    """Whether a new file of codes pays: too many chunks are not in it (`later`), or are in it (`based`) and gone.

    `chunks` is the number of those that the database has.
    """
    return later + max(0, based + later - chunks) > _TAIL + based // _SHARE


def load(db: Sql, folder: Path, old: View | None, whole: bool = False) -> View | None:
    """The view of the last commit: what is new since `old`, or since the file of codes was made, is read.

    None if a new file should be made first, unless `whole`: then all is read, however much it is. Raises ValueError if
    a chunk has no whole vector.
    """
    state = reads.meta(db)
    token = state.get("base", "")
    if old is not None and (old.epoch, old.token) == (state["epoch"], token):
        return _extended(db, state, old)
    base = _base(db, folder, token, int(state["dimension"]))
    last = int(base.ids[-1]) if base else -1
    if not whole and overgrown(len(base.ids) if base else 0, *reads.extent(db, last)):
        return None
    return _extended(db, state, View("", "", token, base, None))


def _extended(db: Sql, state: Mapping[str, str], old: View) -> View:
    """The old view with all later chunks."""
    dimension = int(state["dimension"])
    later = reads.chunk_ids(db, old.last)
    if not old.base and old.tail and len(later) > len(old.tail.ids):  # the bound of a few says little of many
        return _extended(db, state, View("", "", old.token, None, None))
    known = old.base or old.tail
    bound = known.bound if known else _bound(db, later, dimension)
    tail = _joined(old.tail, _encoded(db, later, dimension, bound))
    return View(state["generation"], state["epoch"], old.token, old.base, tail)


def nearest(
    db: Sql, view: View, query: Vectors, k: int, files: Collection[int] | None, exclude: Collection[int]
) -> list[tuple[int, float]] | None:
    """(chunk, cosine) of the k chunks nearest to a unit vector (d,), best first; only of these files, if given.

    Cosines are those of the float32 vectors. None if all vectors are others by now. Raises ValueError if a chunk has
    no whole vector.
    """
    state = reads.meta(db)
    if state["epoch"] != view.epoch:
        return None
    if len(query) != int(state["dimension"]):
        raise IndexMismatch(
            f"the index has vectors of {state['dimension']} dimensions, the query of {len(query)}",
            hint="type the same command again: another process has just embedded it anew",
        )
    kept: NDArray[np.bool_] | None = None
    if files is not None:
        inside = reads.chunks_of(db, files)
        if len(inside) <= _FEW:
            return _exact(db, query, set(inside).difference(exclude))[:k]
        kept = _marked(view, inside)
    elif exclude:
        kept = ~_marked(view, ())
    if kept is not None and exclude:
        kept &= ~_marked(view, exclude)
    wanted = k + max(_SPARE, k // 2)
    while True:
        found = _candidates(view, query, wanted, kept)
        exact = _exact(db, query, found)
        if len(exact) >= k or len(found) < wanted:
            return exact[:k]
        wanted *= 4


def cosines(db: Sql, query: Vectors, chunks: Collection[int]) -> dict[int, float]:
    """The inner product of a vector (d,) with those of these chunks; chunks that are gone are left out.

    It is summed in float64, so that it is the same whichever chunks it is computed with.
    """
    ids, matrix = reads.chunk_vectors(db, chunks, len(query))
    products = (matrix.astype("f8") @ query.astype("f8")).astype("f4")
    return dict(zip(ids.tolist(), products.tolist(), strict=True))


def save(db: Sql, folder: Path, token: str) -> str:
    """Write the codes of all chunks to a file with this token; gives the epoch of the vectors that they were made of.

    The codes of an older file are taken over if it is large enough to know a bound: to read the vectors of 1,000,000
    chunks takes 12 s instead of 1.5 s. Raises OSError, and ValueError if a chunk has no whole vector.
    """
    import numpy as np

    state = reads.meta(db)
    dimension = int(state["dimension"])
    ids = reads.chunk_ids(db)
    base = _base(db, folder, state.get("base", ""), dimension)
    if base is not None and len(base.ids) >= _OLD_ENOUGH:
        bound, batches = base.bound, _taken_over(db, ids, base, np.isin(base.ids, ids), dimension)
    else:
        bound = _bound(db, ids, dimension)
        batches = (codes.encoded(batch, bound) for batch in _matrices(db, ids, dimension))
    codes_file.save(folder, token, ids, bound, batches)
    return state["epoch"]


def _taken_over(db: Sql, ids: Ids, base: Codes, alive: NDArray[np.bool_], dimension: int) -> Iterator[Bytes]:
    for first in range(0, len(alive), _BATCH):
        yield base.rows[first : first + _BATCH][alive[first : first + _BATCH]]
    for batch in _matrices(db, ids[ids > base.ids[-1]], dimension):
        yield codes.encoded(batch, base.bound)


def _base(db: Sql, folder: Path, token: str, dimension: int) -> Codes | None:
    """The file of codes of that token, if some of its rows are what the database would make of them."""
    import numpy as np

    found = codes_file.load(folder, token, dimension) if token else None
    if found is None:
        return None
    probes = np.linspace(0, len(found.ids) - 1, _PROBES).astype(np.int64)  # np.unique would import numpy.ma: 20 ms
    ids, matrix = reads.chunk_vectors(db, found.ids[probes].tolist(), dimension)
    rows = found.rows[np.searchsorted(found.ids, ids)]
    return found if np.array_equal(rows, codes.encoded(matrix, found.bound)) else None


def _encoded(db: Sql, ids: Ids, dimension: int, bound: float) -> Codes:
    """The codes of these chunks, made of the vectors in the database."""
    import numpy as np

    rows = np.empty((len(ids), dimension), dtype=np.uint8)
    for number, batch in enumerate(_matrices(db, ids, dimension)):
        rows[number * _BATCH :][: len(batch)] = codes.encoded(batch, bound)
    return Codes(ids, rows, bound)


def _bound(db: Sql, ids: Ids, dimension: int) -> float:
    sample = ids[:: max(1, len(ids) // _BATCH)].tolist()
    return codes.bound_of(reads.chunk_vectors(db, sample, dimension)[1])


def _matrices(db: Sql, ids: Ids, dimension: int) -> Iterator[Vectors]:
    """The vectors of all these chunks. Raises ValueError if one has none."""
    for first in range(0, len(ids), _BATCH):
        part = ids[first : first + _BATCH].tolist()
        known, matrix = reads.chunk_vectors(db, part, dimension)
        if len(known) != len(part):
            raise ValueError(f"{len(part) - len(known)} chunks have no vector")
        yield matrix


def _joined(tail: Codes | None, more: Codes) -> Codes | None:
    import numpy as np

    if not len(more.ids):
        return tail
    if tail is None:
        return more
    return Codes(np.concatenate([tail.ids, more.ids]), np.concatenate([tail.rows, more.rows]), tail.bound)


def _marked(view: View, chunks: Collection[int]) -> NDArray[np.bool_]:
    """(last id + 1,): these chunks, as far as the view has them."""
    import numpy as np

    marks = np.zeros(view.last + 1, dtype=np.bool_)
    numbers = np.fromiter(chunks, dtype=np.int64)
    marks[numbers[numbers < len(marks)]] = True
    return marks


def _candidates(view: View, query: Vectors, k: int, kept: NDArray[np.bool_] | None) -> list[int]:
    """Up to k chunks that are probably the nearest."""
    import numpy as np

    parts = [codes.scan(part, query, min(k, len(part.ids)), kept) for part in (view.base, view.tail) if part]
    parts = [part for part in parts if len(part[0])]
    if not parts:
        return []
    ids, products = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return [int(chunk) for chunk in ids[np.argsort(-products, kind="stable")[:k]]]


def _exact(db: Sql, query: Vectors, chunks: Collection[int]) -> list[tuple[int, float]]:
    """(chunk, cosine), best first; chunks that are gone are left out."""
    found = cosines(db, query, chunks)
    return sorted(found.items(), key=lambda item: (-item[1], item[0]))
