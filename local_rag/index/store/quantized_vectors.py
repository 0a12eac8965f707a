"""Vectors in one byte per dimension: in memory or in a mapped file, all of them compared with a query.

FAISS compares many, NumPy a few: importing FAISS takes longer than that.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import zlib
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from local_rag.core.protocols import Vectors

    Ids = NDArray[np.int64]
    Codes = NDArray[np.uint8]

_MAGIC = b"local-rag vectors 3\n"
_HEADER = 4096
"""Bytes before the arrays, which begin at a page of memory."""

_BLOCK = 1 << 24
"""Bytes of the arrays that have a CRC-32, all of which are at the end of the file: 0.1 s for 1,000,000 x 384."""


FEW = 50_000
"""Rows that NumPy compares: it takes 7 ms for as many of 384 dimensions, and importing FAISS 50 to 100 ms."""

_ROWS = 256
"""Rows that NumPy takes as floating-point numbers at once: they stay in the cache of a core."""


@dataclass(frozen=True, slots=True)
class QuantizedVectors:
    """Ids with their vectors in one byte per dimension: what may be near a query, not how near it is.

    `ids` (n,) ascend, each occurs once. `codes` (n, d) are 256 steps from -`bound` to `bound`; a component beyond them
    is cut to the last step. A value never changes, so any thread may search it.
    `nearest` compares all n; products of unit vectors are off by about bound / 440 (the deviation of rounding).
    `write` makes a file of ids and codes, `mapped` opens it and compares its checksums. Nothing in the file is parsed
    but one line of JSON: a file that is missing, cut off, foreign, damaged or inconsistent is None. Whose codes these
    are is not checked there: compare some rows with `quantized` vectors.
    """

    ids: Ids
    codes: Codes
    bound: float

    def with_more(self, ids: Ids, codes: Codes) -> QuantizedVectors:
        """These and later ones, of the same bound; `ids` are all above the last one here."""
        import numpy as np

        return QuantizedVectors(np.concatenate([self.ids, ids]), np.concatenate([self.codes, codes]), self.bound)

    def nearest(self, query: Vectors, k: int, allowed: NDArray[np.bool_] | None = None) -> tuple[Ids, Vectors]:
        """Ids (m,) and inner products (m,) of the m <= k largest with a vector (d,), in no order.

        `allowed` marks, by id, which may be found.
        """
        if len(self.ids) <= FEW:
            return self._nearest_of_few(query, k, allowed)
        import faiss
        import numpy as np

        library: Any = faiss  # its type stubs know the names of SWIG, not those of Python
        selector = None if allowed is None else library.IDSelectorBitmap(np.packbits(allowed, bitorder="little"))
        quantizer = _quantizer(self.codes.shape[1], self.bound)
        scanner = quantizer.select_InvertedListScanner(library.METRIC_INNER_PRODUCT, None, False, selector)
        query = np.ascontiguousarray(query, dtype=np.float32)
        scanner.set_query(library.swig_ptr(query))
        scanner.set_list(0, 0.0)
        products, ids = np.full(k, -np.inf, dtype=np.float32), np.full(k, -1, dtype=np.int64)
        arrays = [library.swig_ptr(array) for array in (self.codes, self.ids, products, ids)]
        scanner.scan_codes(len(self.ids), *arrays, k)
        return ids[ids >= 0], products[ids >= 0]

    def _nearest_of_few(self, query: Vectors, k: int, allowed: NDArray[np.bool_] | None) -> tuple[Ids, Vectors]:
        """The same without FAISS, whose codes mean (code + 1/2) / 255 of the way from -bound to bound."""
        import numpy as np

        query = np.asarray(query, dtype=np.float32)
        products = np.empty(len(self.ids), dtype=np.float32)
        for first in range(0, len(self.ids), _ROWS):
            products[first : first + _ROWS] = self.codes[first : first + _ROWS].astype(np.float32) @ query
        step = np.float32(2 * self.bound / 255)
        products = products * step + (step / 2 - np.float32(self.bound)) * query.sum()
        rows = np.arange(len(self.ids)) if allowed is None else np.flatnonzero(allowed[self.ids])
        if k < len(rows):
            rows = rows[np.argpartition(-products[rows], k)[:k]]
        return self.ids[rows], products[rows]

    @classmethod
    def mapped(cls, path: Path, token: str, dimension: int) -> QuantizedVectors | None:
        """The file at `path`, mapped; None if there is none with this token and dimension, or if it is not whole."""
        import numpy as np

        try:
            header = _header(path)
            count, bound = int(header["rows"]), float(header["bound"])
            size = count * (8 + dimension)
            expected = (token, dimension, _HEADER + size + 4 * -(-size // _BLOCK))
            if (header["token"], header["dimension"], path.stat().st_size) != expected:
                return None
            if not (count > 0 and 0 < bound < math.inf):
                return None
            file = np.memmap(path, dtype=np.uint8, mode="r", offset=_HEADER)
            body = file[:size]
            if _checksums(body) != file[size:].tobytes():
                return None
        except (OSError, ValueError, KeyError, TypeError, OverflowError):
            return None
        ids = np.asarray(body[: 8 * count].view("<i8"), dtype=np.int64)
        if ids[0] < 0 or not (ids[1:] > ids[:-1]).all():
            return None
        return cls(ids, body[8 * count :].reshape(count, dimension), bound)


def bound_of(matrix: Vectors) -> float:
    """A bound that vectors (n, d) and most others like them keep."""
    import numpy as np

    return min(1.0, 1.25 * float(np.abs(matrix).max(initial=0.01)))


def quantized(matrix: Vectors, bound: float) -> Codes:
    """Vectors (n, d) as codes (n, d), as FAISS's QT_8bit_uniform makes them."""
    import numpy as np

    least, width, last = np.float32(-bound), np.float32(2 * bound), np.float32(255)
    shares = np.clip((np.asarray(matrix, dtype=np.float32) - least) / width, np.float32(0), np.float32(1))
    codes: Codes = (shares * last).astype(np.uint8)
    return codes


def write(path: Path, token: str, ids: Ids, bound: float, batches: Iterable[Codes]) -> None:
    """Write a new file of ids (n,) and n codes, batch by batch. Raises OSError, and ValueError for other sizes."""
    import numpy as np

    try:
        with os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as stream:
            stream.seek(_HEADER)
            stream.write(ids.astype("<i8").tobytes())
            rows = dimension = 0
            for batch in batches:
                stream.write(batch.tobytes())
                rows, dimension = rows + len(batch), batch.shape[1]
            if rows != len(ids):
                raise ValueError(f"{len(ids)} ids for {rows} rows")
            stream.flush()
            if rows:
                stream.write(_checksums(np.memmap(path, dtype=np.uint8, mode="r", offset=_HEADER)))
            last = int(ids.max(initial=-1))
            header = {"token": token, "rows": rows, "dimension": dimension, "bound": bound, "last": last}
            stream.seek(0)
            stream.write((_MAGIC + json.dumps(header).encode()).ljust(_HEADER - 1) + b"\n")
            stream.flush()
            os.fsync(stream.fileno())  # a file that the database names must not be empty after a power cut
    except BaseException:
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)
        raise


def _checksums(body: NDArray[np.uint8]) -> bytes:
    """The CRC-32 of each block, four bytes each; zlib computes them on several cores."""
    blocks = [body[first : first + _BLOCK] for first in range(0, len(body), _BLOCK)]
    with ThreadPoolExecutor(min(8, os.cpu_count() or 1)) as threads:
        return b"".join(sum_.to_bytes(4, "little") for sum_ in threads.map(zlib.crc32, blocks))


def extent(path: Path) -> tuple[int, int]:
    """How many rows a file says it has, and the last of its ids; (0, -1) if there is none."""
    try:
        header = _header(path)
        return int(header["rows"]), int(header["last"])
    except (OSError, ValueError, KeyError, TypeError, OverflowError):
        return 0, -1


def _header(path: Path) -> dict[str, Any]:
    if not path.is_file():  # a pipe would be waited for
        return {}
    with path.open("rb") as stream:
        magic, line = stream.readline(len(_MAGIC)), stream.readline(_HEADER)
    header = json.loads(line) if magic == _MAGIC else {}
    return header if isinstance(header, dict) else {}


@lru_cache(maxsize=8)
def _quantizer(dimension: int, bound: float) -> Any:
    """FAISS's own of these codes, which compares them with a query."""
    import faiss
    import numpy as np

    library: Any = faiss
    quantizer = library.ScalarQuantizer(dimension, library.ScalarQuantizer.QT_8bit_uniform)
    library.copy_array_to_vector(np.array([-bound, 2 * bound], dtype=np.float32), quantizer.trained)
    return quantizer
