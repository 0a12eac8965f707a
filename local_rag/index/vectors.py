"""The vectors of an index as one file beside the database: a cache that may be missing, old or damaged."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from local_rag.protocols import Vectors

    Ids = NDArray[np.int64]

NAME = "vectors.cache"
_MAGIC = b"local-rag vectors 1\n"


def save(folder: Path, generation: str, ids: Ids, matrix: Vectors) -> None:
    """Write ids (n,) and matrix (n, d) in one step, for this generation of the database. Raises OSError."""
    body = ids.astype("<i8").tobytes() + matrix.astype("<f4").tobytes()
    header = {"generation": generation, "shape": matrix.shape, "sha256": hashlib.sha256(body).hexdigest()}
    handle, draft = tempfile.mkstemp(prefix=f"{NAME}.", dir=folder)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(_MAGIC + json.dumps(header).encode() + b"\n" + body)
        Path(draft).replace(folder / NAME)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise


def load(folder: Path, generation: str) -> tuple[Ids, Vectors] | None:
    """The ids and the matrix of this generation; None if the file holds no such thing, whole."""
    import numpy as np

    try:
        with (folder / NAME).open("rb") as stream:
            header = _header(stream.readline(), stream.readline(10_000))
            if header.get("generation") != generation:
                return None
            body = stream.read()
        rows, columns = header["shape"]
        if hashlib.sha256(body).hexdigest() != header["sha256"] or len(body) != rows * (8 + 4 * columns):
            return None
    except (OSError, ValueError, KeyError, TypeError):
        return None
    ids = np.frombuffer(body, dtype="<i8", count=rows)
    return ids, np.frombuffer(body, dtype="<f4", offset=8 * rows).reshape(rows, columns)


def generation(folder: Path) -> str:
    """The generation that the file was made for, "" if there is none."""
    try:
        with (folder / NAME).open("rb") as stream:
            return str(_header(stream.readline(), stream.readline(10_000)).get("generation", ""))
    except (OSError, ValueError):
        return ""


def _header(magic: bytes, line: bytes) -> dict[str, Any]:
    header = json.loads(line) if magic == _MAGIC else {}
    return header if isinstance(header, dict) else {}
