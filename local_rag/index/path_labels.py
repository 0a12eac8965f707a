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
        self.roots = sorted((Path(root) for root in roots), key=lambda root: len(root.parts), reverse=True)

    def __call__(self, source: str) -> str:
        path = Path(source)
        root = None if is_url(source) else next((root for root in self.roots if path.is_relative_to(root)), None)
        if root is None:
            return short_path(source)
        folder = root if root != path else root.parent
        for start in range(len(folder.parts) - 1, 0, -1):
            label = Path(*path.parts[start:])
            if not (self._names_another_root(folder, start) or self._is_another_file(label, path)):
                return on_one_line(label.as_posix())
        return short_path(source)

    def _names_another_root(self, folder: Path, start: int) -> bool:
        name = folder.parts[start:]
        return any(root.parts[-len(name) :] == name for root in self.roots if not folder.is_relative_to(root))

    def _is_another_file(self, label: Path, path: Path) -> bool:
        return label.exists() and label.absolute() != path and not label.samefile(path)
