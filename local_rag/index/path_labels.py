"""Short names of indexed files: notes/lease.pdf, from the name of the indexed folder on; in a terminal a path."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

from local_rag.text.display import home_path, is_url, on_one_line

PathLabel = Callable[[str], str]
"""A function from the path or URL of a source to what is shown for it."""


class PathLabels:
    """A map from the path of an indexed file to a label that means this file after --in, from any working directory.

    A person at a terminal, whose current folder is `here`, gets a path that opens the file from there. URLs, files
    outside of the indexed folders, and those of folders of one name are shown by `home_path` as well.
    """

    def __init__(self, roots: Iterable[str], here: Path | None = None) -> None:
        self._roots, self._here = {Path(root) for root in roots}, here
        self._names = Counter(root.name for root in self._roots)

    def __call__(self, source: str) -> str:
        path = Path(source)
        root = next((above for above in path.parents if above in self._roots), None)
        if self._here or root is None or is_url(source) or self._names[root.name] > 1:
            return home_path(source, self._here)
        return on_one_line(Path(root.name, path.relative_to(root)).as_posix())
