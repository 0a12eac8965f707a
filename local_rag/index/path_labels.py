"""Short names of indexed files: notes/lease.pdf, from the name of the indexed folder on."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
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
        self._roots = {Path(root) for root in roots}
        self._names = frozenset(map(str, self._roots))
        self._by_tail: dict[tuple[str, ...], list[Path]] = {}
        for root in self._roots:
            for start in range(1, len(root.parts)):
                self._by_tail.setdefault(root.parts[start:], []).append(root)
        self._of_folder = cache(self._below)  # a folder has many files, and each is asked for

    def __call__(self, source: str) -> str:
        if not is_url(source):
            folder, name = os.path.split(source)
            is_root = source in self._names
            for prefix, is_elsewhere in self._prefixes(Path(folder)) if is_root else self._of_folder(folder):
                label = f"{prefix}/{name}"
                if not (is_elsewhere and _is_another(Path(label), Path(source))):
                    return on_one_line(label)
        return short_path(source)

    def _below(self, name: str) -> Sequence[tuple[str, bool]]:
        """Labels for a folder, the shortest first, each with whether another folder lies there as seen from here."""
        folder = Path(name)
        root = next((above for above in (folder, *folder.parents) if above in self._roots), None)
        return () if root is None else self._prefixes(root, folder.relative_to(root))

    def _prefixes(self, root: Path, tail: Path = Path()) -> Sequence[tuple[str, bool]]:
        starts = range(len(root.parts) - 1, 0, -1)
        labels = [Path(*root.parts[start:], tail) for start in starts if not self._names_another_root(root, start)]
        return [(label.as_posix(), _is_another(label, root / tail)) for label in labels]

    def _names_another_root(self, folder: Path, start: int) -> bool:
        above = {folder, *folder.parents}
        return any(root not in above for root in self._by_tail.get(folder.parts[start:], ()))


def _is_another(label: Path, path: Path) -> bool:
    """Whether something else than what is at the path lies at the label, as seen from here."""
    if not label.exists() or label.absolute() == path:
        return False
    with suppress(OSError):
        return not label.samefile(path)
    return True
