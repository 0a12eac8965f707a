"""Short names of indexed files: notes/lease.pdf, from the name of the indexed folder on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

from local_rag.text.display import home_path, is_url, on_one_line

PathLabel = Callable[[str], str]
"""What is shown for the path or URL of a source."""


class PathLabels:
    """Maps the path of an indexed file to a label that means this file after --in, from any working directory.

    Shown by `home_path` are URLs, files outside of the indexed folders, and those of folders of one name; so is a file
    where another one lies at the label as seen from `here`, the current folder of a person at a terminal.
    """

    def __init__(self, roots: Iterable[str], here: Path | None = None) -> None:
        self._roots, self._here = {Path(root) for root in roots}, here
        self._names = Counter(root.name for root in self._roots)

    def __call__(self, source: str) -> str:
        path = Path(source)
        root = next((above for above in path.parents if above in self._roots), None)
        if root is None or is_url(source) or self._names[root.name] > 1:
            return home_path(source, self._here)
        label = Path(root.name, path.relative_to(root))
        seen = self._here and self._here / label
        is_another = seen and seen.exists() and seen.resolve() != path.resolve()
        return home_path(source, self._here) if is_another else on_one_line(label.as_posix())
