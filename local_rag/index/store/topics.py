"""The topics of an index: the passages nearest to the centres of its vectors, whose titles say what it is about.

What is kept are ids of chunks and no text, so that a topic goes with its file.
"""

from __future__ import annotations

import json
from sqlite3 import Connection
from typing import TYPE_CHECKING, NamedTuple

from local_rag.index.store import reads

if TYPE_CHECKING:
    from local_rag.core.protocols import Vectors

ROW = "topics"
"""The row of `meta` that keeps them."""
TOPICS = 24
"""Centres: what a prompt has room for."""
SAMPLE = 20_000
"""Vectors that the centres are made of, spread evenly over a larger index: k-means over them takes half a second."""
CHANGED = 0.1
"""Share of the chunks that came or went since, from which topics are made anew."""
_ROUNDS, _SEED = 10, 5


class Topics(NamedTuple):
    """Ids of chunks, of the largest cluster first; `chunks` and `last` are count and highest id when they were made."""

    ids: tuple[int, ...]
    chunks: int
    last: int

    @property
    def row(self) -> str:
        return json.dumps(self)


def kept(db: Connection) -> Topics | None:
    """Those of the last commit that made them, None where an earlier version wrote the index."""
    row = reads.meta(db).get(ROW)
    if row is None:
        return None
    ids, chunks, last = json.loads(row)
    return Topics(tuple(ids), chunks, last)


def are_due(db: Connection) -> bool:
    """Whether the index has changed so much since they were made that they must be made anew."""
    topics = kept(db)
    if topics is None:
        return True
    new, chunks = reads.extent(db, topics.last)
    gone = topics.chunks + new - chunks
    return new + gone > CHANGED * topics.chunks


def made(db: Connection, dimension: int) -> Topics:
    """Made of the vectors of this snapshot. Raises ValueError for vectors that cannot be used."""
    sample = reads.sample(db, SAMPLE)
    ids, vectors = reads.chunk_vectors(db, sample, dimension)
    chunks = reads.chunk_count(db)
    last = db.execute("SELECT max(id) FROM chunks").fetchone()[0]
    return Topics(tuple(int(ids[row]) for row in representatives(vectors)), chunks, -1 if last is None else last)


def representatives(vectors: Vectors) -> list[int]:
    """The row nearest to each centre of unit vectors (n, d), of the largest cluster first, each once.

    Spherical k-means, seeded: the same vectors give the same rows.
    """
    import faiss
    import numpy as np

    count, dimension = vectors.shape
    if not count:
        return []
    means = faiss.Kmeans(
        dimension,
        min(TOPICS, count),
        niter=_ROUNDS,
        seed=_SEED,
        spherical=True,
        min_points_per_centroid=1,  # a small index is no reason for a warning
        max_points_per_centroid=count,  # and no vector is left out
    )
    means.train(np.ascontiguousarray(vectors))
    centres = np.asarray(means.centroids)
    similarities = vectors @ centres.T
    sizes = np.bincount(similarities.argmax(axis=1), minlength=len(centres))
    nearest = similarities.argmax(axis=0)
    return list(dict.fromkeys(int(nearest[centre]) for centre in np.argsort(-sizes, kind="stable") if sizes[centre]))
