"""The vectors of an index in memory, as of one commit."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any, NamedTuple

from local_rag.index import lookups

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from local_rag.index.tables import Sql
    from local_rag.index.vectors import Ids
    from local_rag.protocols import Vectors


class View(NamedTuple):
    """Row i of the FAISS index is the chunk ids[i], ids ascend. Within an epoch a chunk never changes its vector."""

    generation: str
    epoch: str
    ids: Ids
    faiss: Any

    def vectors(self) -> Vectors:
        """(n, d)"""
        matrix: Vectors = self.faiss.reconstruct_n(0, len(self.ids))
        return matrix

    def mask(self, chunks: Collection[int]) -> NDArray[np.bool_]:
        """(n,): which rows belong to these chunks."""
        import numpy as np

        return np.isin(self.ids, np.fromiter(chunks, dtype=np.int64))

    def cosines(self, query: Vectors, chunks: Collection[int]) -> dict[int, float]:
        """The inner product of a vector (d,) with those of these chunks; chunks that are gone are left out."""
        rows = self.mask(chunks).nonzero()[0].tolist()
        return {int(self.ids[row]): float(self.faiss.reconstruct(row) @ query) for row in rows}


def matrix(db: Sql, ids: Ids, dimension: int, old: View | None) -> Vectors:
    """(n, d): what the old view of the same epoch has is taken over, only the rest is read from the database.

    Raises ValueError if a chunk has no whole vector.
    """
    import numpy as np

    if old is None:
        return lookups.chunk_vectors(db, ids, dimension)
    known = np.isin(ids, old.ids)
    rows = np.empty((len(ids), dimension), dtype=np.float32)
    rows[known] = old.vectors()[np.searchsorted(old.ids, ids[known])]
    rows[~known] = lookups.chunk_vectors(db, ids[~known], dimension)
    return rows
