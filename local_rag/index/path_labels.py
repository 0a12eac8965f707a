"""Short names of indexed files: notes/lease.pdf, from the name of the indexed folder on."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

from local_rag.text.display import on_one_line, short_path
from local_rag.text.urls import is_url

PathLabel = Callable[[str], str]
"""What is shown for the path or URL of a source."""


class PathLabels:
    """Maps the path of an indexed file to a label that means this file after --in, from any working directory.

    Where two indexed folders have one name, or another file lies at the label as seen from here, folders above are
    added. URLs and paths outside of the indexed folders are shown by `short_path`.
    """

    def __init__(self, roots: Iterable[str]) -> None:
        self._roots = set(roots)
        parts = [Path(root).parts for root in self._roots]
        self._tails = Counter(root[start:] for root in parts for start in range(1, len(root)))
        self._prefixes = cache(self._prefixes_of)  # a folder has many files, and each is asked for

    def __call__(self, source: str) -> str:
        folder, name = os.path.split(source)
        for prefix in () if is_url(source) else self._prefixes(folder, source in self._roots):
            label = Path(prefix, name)
            if not label.exists() or label.resolve() == Path(source).resolve():
                return on_one_line(label.as_posix())
        return short_path(source)

    def _prefixes_of(self, folder: str, by_itself: bool) -> list[str]:
        """Names of a folder that no other indexed folder has, the shortest first, from that of the indexed folder above
        it on, or from its own where a file of it was indexed by itself.
        """
        path = Path(folder)
        root = next(
            (above for above in (path, *path.parents) if str(above) in self._roots), path if by_itself else None
        )
        if root is None:
            return []
        starts = range(len(root.parts) - 1, 0, -1)
        own = [start for start in starts if self._tails[root.parts[start:]] == (str(root) in self._roots)]
        return [Path(*path.parts[start:]).as_posix() for start in own]
