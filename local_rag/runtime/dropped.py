"""Copies of files that a person dropped on the page: a folder of the data folder for each index."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from local_rag.config.settings import Settings

FOLDER = "dropped"


def dropped_files(settings: Settings) -> Path:
    """Where the copies for the configured index lie, whether or not there are any."""
    return settings.data_folder.resolve() / FOLDER / settings.index_path.name / "Dropped files"


def delete_copies(settings: Settings, names: Iterable[str | Path] | None = None) -> None:
    """Delete those of these files and folders that are copies, by default all: the person has the files themselves."""
    folder = dropped_files(settings)
    for path in [folder] if names is None else map(Path, names):
        if path == folder:
            shutil.rmtree(folder.parent, ignore_errors=True)
        elif path.parent == folder:
            with suppress(OSError):
                path.unlink()
