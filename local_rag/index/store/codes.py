"""Vectors as one byte per dimension, and all of them compared with a query."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from local_rag.core.protocols import Vectors

    Ids = NDArray[np.int64]
    Bytes = NDArray[np.uint8]


class Codes(NamedTuple):
    """Chunks `ids` (n,), ascending, and their vectors `rows` (n, d) in 256 steps from -bound to bound."""

    ids: Ids
    rows: Bytes
    bound: float


def bound_of(matrix: Vectors) -> float:
    """A bound that these vectors keep and others like them will too; what lies beyond it later is cut to it."""
    import numpy as np

    return min(1.0, 1.25 * float(np.abs(matrix).max(initial=0.01)))


def encoded(matrix: Vectors, bound: float) -> Bytes:
    """(n, d) float32 as codes (n, d)."""
    import numpy as np

    found: Bytes = _quantizer(matrix.shape[1], bound).compute_codes(np.ascontiguousarray(matrix, dtype=np.float32))
    return found


def scan(codes: Codes, query: Vectors, k: int, kept: NDArray[np.bool_] | None) -> tuple[Ids, Vectors]:
    """The k chunks of the largest inner products with a vector (d,), in no order: ids (m,), products (m,).

    A product of unit vectors is off by about bound / 440 (the deviation of rounding to 256 steps). `kept` marks the
    chunks, by id, that may be found.
    """
    import faiss
    import numpy as np

    library: Any = faiss  # its type stubs know the names of SWIG, not those of Python
    selector = None if kept is None else library.IDSelectorBitmap(np.packbits(kept, bitorder="little"))
    quantizer = _quantizer(codes.rows.shape[1], codes.bound)
    scanner = quantizer.select_InvertedListScanner(library.METRIC_INNER_PRODUCT, None, False, selector)
    query = np.ascontiguousarray(query, dtype=np.float32)
    scanner.set_query(library.swig_ptr(query))
    scanner.set_list(0, 0.0)
    products, ids = np.full(k, -np.inf, dtype=np.float32), np.full(k, -1, dtype=np.int64)
    arrays = [library.swig_ptr(array) for array in (codes.rows, codes.ids, products, ids)]
    scanner.scan_codes(len(codes.ids), *arrays, k)
    return ids[ids >= 0], products[ids >= 0]


@lru_cache(maxsize=8)
def _quantizer(dimension: int, bound: float) -> Any:
    import faiss
    import numpy as np

    library: Any = faiss
    quantizer = library.ScalarQuantizer(dimension, library.ScalarQuantizer.QT_8bit_uniform)
    library.copy_array_to_vector(np.array([-bound, 2 * bound], dtype=np.float32), quantizer.trained)
    return quantizer
