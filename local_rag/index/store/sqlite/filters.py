"""Which chunks of an index in a folder a filter lets pass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from local_rag.index.store.sqlite.words import Run, with_phrases

if TYPE_CHECKING:
    from local_rag.index.store.sqlite.vectors import Mask

LISTED = 20_000
"""Chunks up to which a filter is so narrow that all vectors, and all words, are compared for what passes it."""

DAY = (
    "CASE WHEN d.date LIKE '%T%' THEN date(d.date, 'localtime') WHEN d.date != '' THEN d.date ELSE"
    " (SELECT date(CASE mtime_ns WHEN 0 THEN indexed_at ELSE mtime_ns / 1e9 END, 'unixepoch', 'localtime')"
    " FROM files WHERE files.id = d.file) END"
)
"""Moments are days by the clocks here."""


class Passing(NamedTuple):
    """What passes: a mark for each id of a chunk, and the ids where they are `few`."""

    mask: Mask
    few: list[int] | None


def passing(run: Run, where: str, values: Sequence[object], phrases: Sequence[str]) -> Passing:
    """The chunks of the documents that meet a condition, and that hold all phrases. The chunks of a document follow
    each other, so that of each only the first and the last are looked up.
    """
    import numpy as np

    ends = (f"(SELECT {end}(id) FROM chunks WHERE document = d.id)" for end in ("min", "max"))
    rows = [row for row in run(f"SELECT {', '.join(ends)} FROM documents d WHERE {where}", *values) if row[0]]
    first, last = np.array(rows, dtype=np.int64).reshape(-1, 2).T
    changes = np.zeros(int(run("SELECT coalesce(max(id), 0) FROM chunks")[0][0]) + 2, dtype=np.int32)
    np.add.at(changes, first, 1)
    np.add.at(changes, last + 1, -1)
    mask = np.cumsum(changes) > 0
    if (chunks := with_phrases(run, phrases)) is not None:
        held = np.zeros_like(mask)
        held[chunks] = True
        mask &= held
    return Passing(mask, np.flatnonzero(mask).tolist() if np.count_nonzero(mask) <= LISTED else None)
