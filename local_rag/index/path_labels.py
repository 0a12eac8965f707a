"""Short names of indexed files: notes/lease.pdf, from the name of the indexed folder on."""

from __future__ import annotations

from collections.abc import Callable, Iterable
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
        self._by_tail: dict[tuple[str, ...], list[Path]] = {}
        for root in self._roots:
            for start in range(1, len(root.parts)):
                self._by_tail.setdefault(root.parts[start:], []).append(root)

    def __call__(self, source: str) -> str:
        path = Path(source)
        root = None if is_url(source) else next((above for above in _with_parents(path) if above in self._roots), None)
        if root is None:
            return short_path(source)
        folder = root if root != path else root.parent
        for start in range(len(folder.parts) - 1, 0, -1):
            label = Path(*path.parts[start:])
            if not (self._names_another_root(folder, start) or self._is_another_file(label, path)):
                return on_one_line(label.as_posix())
        return short_path(source)

    def _names_another_root(self, folder: Path, start: int) -> bool:
        above = {folder, *folder.parents}
        return any(root not in above for root in self._by_tail.get(folder.parts[start:], ()))

    def _is_another_file(self, label: Path, path: Path) -> bool:
        return label.exists() and label.absolute() != path and not label.samefile(path)


def _with_parents(path: Path) -> Iterable[Path]:
    return path, *path.parents
