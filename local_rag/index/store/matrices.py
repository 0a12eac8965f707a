"""Stored vectors as matrices, and how the vectors of a text and of its header are joined for the search."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from local_rag.index.store.values import UnusableVector
from local_rag.text.names import HEADER_WEIGHT

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from local_rag.core.protocols import Vectors

Stored = tuple[int, bytes, bytes | None]
"""A chunk with the vector of its text and the vector of its header, None without a header."""


def blob(vector: Any) -> bytes:
    """Return a vector (d,) as bytes, the form in which it is stored."""
    stored: bytes = vector.astype("<f4").tobytes()
    return stored


def matrix_of(blobs: Sequence[bytes], dimension: int) -> Vectors:
    """Return stored vectors as rows (n, d). Raises UnusableVector for a vector of another size or with a value that is
    no number.
    """
    import numpy as np

    if any(len(blob) != 4 * dimension for blob in blobs):
        raise UnusableVector("a vector that is missing, or of another size")
    matrix = np.frombuffer(b"".join(blobs), dtype="<f4").reshape(len(blobs), dimension)
    if not np.isfinite(matrix).all():
        raise UnusableVector("a vector that is no numbers")
    return matrix


def searched(rows: Sequence[Stored], dimension: int) -> tuple[NDArray[np.int64], Vectors]:
    """Return the ids of chunks (n,) and the unit vectors (n, d) by which they are searched."""
    import numpy as np

    nothing = bytes(4 * dimension)
    texts = matrix_of([text or b"" for _, text, _ in rows], dimension)
    headers = matrix_of([header or nothing for *_, header in rows], dimension)
    return np.array([chunk for chunk, *_ in rows], dtype=np.int64), with_headers(texts, headers)


def cosines(rows: Sequence[Stored], query: Vectors) -> list[tuple[int, float]]:
    """Return (chunk, cosine), best first.

    Sums are taken in float64, so that a cosine is the same whichever chunks it is computed with.
    """
    ids, matrix = searched(rows, len(query))
    products = (matrix.astype("f8") @ query.astype("f8")).astype("f4")
    return sorted(zip(ids.tolist(), products.tolist(), strict=True), key=lambda item: (-item[1], item[0]))


def with_headers(texts: Vectors, headers: Vectors) -> Vectors:
    """Add HEADER_WEIGHT times the vectors of headers to the vectors of texts (n, d), and scale the rows to length 1.

    A row of zeros stands for a text without a header.
    """
    import numpy as np

    sums = texts + np.float32(HEADER_WEIGHT) * headers
    rows: Vectors = sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), np.float32(1e-12))
    return rows
