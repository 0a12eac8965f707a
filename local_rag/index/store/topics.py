"""The topics of an index: the passages nearest to the centres of its vectors, whose titles say what it is about.

What is kept are ids of chunks and no text, so that a topic goes with its file.
"""

from __future__ import annotations

import json
from sqlite3 import Connection
from typing import TYPE_CHECKING, NamedTuple

from local_rag.index.store import embedded, reads, shapes

if TYPE_CHECKING:
    from local_rag.core.protocols import Vectors

ROW = "topics"
"""The row of `meta` that keeps them."""
TOPICS = 24
"""Centres: what a prompt has room for."""
SAMPLE = 20_000
"""Vectors that the centres are made of, spread evenly over a larger index: k-means over them takes half a second."""
CHANGED = 0.1
"""Share of the vectors that came or went since, from which topics are made anew."""
_ROUNDS, _SEED = 10, 5


class Topics(NamedTuple):
    """Ids of chunks, of the largest cluster first; count and highest number of the vectors they were made of."""

    ids: tuple[int, ...]
    vectors: int
    last: int

    @property
    def row(self) -> str:
        return json.dumps(self)


def kept(db: Connection) -> Topics | None:
    """Those of the last commit that made them, None where an earlier version wrote the index."""
    row = reads.meta(db).get(ROW)
    if row is None:
        return None
    ids, vectors, last = json.loads(row)
    return Topics(tuple(ids), vectors, last)


def are_due(db: Connection) -> bool:
    """Whether the index has changed so much since they were made that they must be made anew."""
    topics = kept(db)
    if topics is None:
        return True
    new, there = embedded.extent(db, topics.last)
    gone = topics.vectors + new - there
    return new + gone > CHANGED * topics.vectors


def made(db: Connection, dimension: int) -> Topics:
    """Made of the vectors of this snapshot. Raises ValueError for vectors that cannot be used."""
    vectors = embedded.combined(db, embedded.sample(db, SAMPLE), dimension)
    _, count = embedded.extent(db, -1)
    last = db.execute(f"SELECT max(seq) FROM {shapes.embedded(db)}").fetchone()[0]
    ids = tuple(int(vectors.chunks[row]) for row in representatives(vectors.matrix))
    return Topics(ids, count, -1 if last is None else last)


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
