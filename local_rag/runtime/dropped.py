"""Keep copies of files that a person dropped on the page, in one folder of the data folder per index."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from local_rag.config.settings import Settings, name_of

FOLDER = "dropped"


def dropped_files(settings: Settings) -> Path:
    """Return the folder of the copies for the configured index, even if it does not exist yet."""
    index = settings.index_path
    name = name_of(index, settings.data_folder)
    if name != index.name:  # an index elsewhere may have the same name
        name = f"{index.name}-{sha256(str(index).encode()).hexdigest()[:12]}"
    return settings.data_folder.resolve() / FOLDER / name / "Dropped files"


def delete_copies(settings: Settings, names: Iterable[str | Path] | None = None) -> None:
    """Delete the given files and folders if they are copies, by default all copies; the originals stay."""
    folder = dropped_files(settings)
    for path in [folder] if names is None else map(Path, names):
        if path == folder:
            shutil.rmtree(folder.parent, ignore_errors=True)
        elif path.parent == folder:
            with suppress(OSError):
                path.unlink()
