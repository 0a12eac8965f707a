"""The case files of the data folder: JSON lines in its folder `cases`, named without their ending."""

from __future__ import annotations

from pathlib import Path

from local_rag.config.settings import Settings
from local_rag.core.errors import UsageError
from local_rag.core.private_files import make_folder

FOLDER = "cases"
CASES_NAME = r"^[\w(+-][\w .()+-]{0,79}$"
"""What a case file may be called: no path, nothing hidden."""


def path_of(settings: Settings, name: str) -> Path:
    """The path of a case file by its name (`CASES_NAME`); its folder is made. Raises UsageError for a link."""
    path = settings.data_folder / FOLDER / f"{name}.jsonl"
    if path.is_symlink():
        raise UsageError(f"the case file {name!r} is a link")
    make_folder(path.parent)
    return path
