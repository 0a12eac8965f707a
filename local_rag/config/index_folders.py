"""Where indexes lie: a name stands for a folder in the data folder, anything else is a path."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from local_rag.core.errors import UsageError


def index_path(index: str, data_folder: Path) -> Path:
    """Where an index of that name or path lies. Raises UsageError for a name that is no file name."""
    if "/" in index or os.sep in index or index.startswith((".", "~")):
        return Path(index).expanduser().resolve()
    if not all(ch.isalnum() or ch in "-_." for ch in index):
        raise UsageError(
            f"an index is a name of letters, digits, '-', '_' and '.', or a path: {index!r} is neither",
            hint=f"local-rag … --index ./{index}" if index.isprintable() else "local-rag … --index notes",
        )
    return data_folder / "indexes" / index


def index_folders(indexes: Iterable[str], data_folder: Path) -> dict[str, Path]:
    """Where indexes lie, each once, by what tells them apart: a name, or else the path."""
    folders: dict[str, Path] = {}
    for index in indexes:
        folder = index_path(index, data_folder)
        if not any(is_same_folder(folder, known) for known in folders.values()):
            folders[folder.name if folder.parent == data_folder / "indexes" else str(folder)] = folder
    return folders


def is_same_folder(first: Path, second: Path) -> bool:
    if first.exists() and second.exists():
        return first.samefile(second)
    return first.resolve() == second.resolve()


def several(index: object) -> dict[str, Any]:
    """The flags that an index, or a list of them, means. Raises UsageError for an empty list."""
    if not isinstance(index, list | tuple):
        return {}
    if not index:
        raise UsageError("name at least one index", hint="local-rag ask QUESTION --index notes --index mail")
    return {"index": index[0], "also": tuple(index[1:]) or None}
