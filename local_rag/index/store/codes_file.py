"""The codes of an index as one file beside the database: a cache that may be missing, old or damaged.

It is mapped, not read, and made of two bare arrays: nothing in it is parsed but one line of JSON. Each has a name of
its own, and the database names the one that belongs to it; what it lacks, and what is gone, the database knows.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from local_rag.index.store.codes import Codes

if TYPE_CHECKING:
    from local_rag.index.store.codes import Bytes, Ids

NAME = "vectors.cache"
_MAGIC = b"local-rag vectors 2\n"
_HEAD = 4096
"""Bytes before the arrays, which begin at a page of memory."""


def place(folder: Path, token: str) -> Path:
    return folder / f"{NAME}.{token}"


def save(folder: Path, token: str, ids: Ids, bound: float, batches: Iterable[Bytes]) -> None:
    """Write ids (n,) and the codes of as many rows, batch by batch. Raises OSError, and ValueError for other sizes."""
    file = place(folder, token)
    try:
        with os.fdopen(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as stream:
            stream.seek(_HEAD)
            stream.write(ids.astype("<i8").tobytes())
            rows = dimension = 0
            for batch in batches:
                stream.write(batch.tobytes())
                rows, dimension = rows + len(batch), batch.shape[1]
            if rows != len(ids):
                raise ValueError(f"{len(ids)} ids for {rows} rows")
            header = {
                "token": token,
                "rows": rows,
                "dimension": dimension,
                "bound": bound,
                "last": int(ids.max(initial=-1)),
            }
            stream.seek(0)
            stream.write((_MAGIC + json.dumps(header).encode()).ljust(_HEAD - 1) + b"\n")
            stream.flush()
            os.fsync(stream.fileno())  # a name that is in the database must not lead to an empty file
    except BaseException:
        with contextlib.suppress(OSError):
            file.unlink(missing_ok=True)
        raise


def load(folder: Path, token: str, dimension: int) -> Codes | None:
    """The arrays of this file, mapped; None if there is none, or none of this size."""
    import numpy as np

    file = place(folder, token)
    try:
        header = _header(file)
        rows, bound = int(header["rows"]), float(header["bound"])
        whole = _HEAD + rows * (8 + dimension)
        known = (header["token"], header["dimension"], file.stat().st_size) == (token, dimension, whole)
        if not (known and rows > 0 and 0 < bound < math.inf):
            return None
        body = np.memmap(file, dtype=np.uint8, mode="r", offset=_HEAD)
    except (OSError, ValueError, KeyError, TypeError, OverflowError):
        return None
    ids = np.asarray(body[: 8 * rows].view("<i8"), dtype=np.int64)
    if ids[0] < 0 or not (ids[1:] > ids[:-1]).all():
        return None
    return Codes(ids, body[8 * rows :].reshape(rows, dimension), bound)


def extent(folder: Path, token: str) -> tuple[int, int]:
    """How many rows this file says it has, and the last of its ids; (0, -1) if there is none."""
    try:
        header = _header(place(folder, token))
        return int(header["rows"]), int(header["last"])
    except (OSError, ValueError, KeyError, TypeError, OverflowError):
        return 0, -1


def forget_others(folder: Path, token: str) -> None:
    """Delete the files of earlier states; one that is still mapped somewhere goes with its reader, or the next time."""
    for file in folder.glob(f"{NAME}*"):
        if file != place(folder, token):
            with contextlib.suppress(OSError):
                file.unlink()


def _header(file: Path) -> dict[str, Any]:
    with file.open("rb") as stream:
        magic, line = stream.readline(len(_MAGIC)), stream.readline(_HEAD)
    header = json.loads(line) if magic == _MAGIC else {}
    return header if isinstance(header, dict) else {}
