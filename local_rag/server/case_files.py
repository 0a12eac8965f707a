"""The case files of the data folder: JSON lines in its folder `cases`, named without their ending."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from local_rag.core.errors import LocalRagError
from local_rag.core.private_files import make_folder
from local_rag.server.errors import NotFound

if TYPE_CHECKING:
    from local_rag.config.settings import Settings
    from local_rag.evaluation.cases import CaseSet

FOLDER = "cases"
CASES_NAME = r"^[\w(+-][\w .()+-]{0,79}$"
"""What a case file may be called: no path, nothing hidden."""
DEMO = "demo"
"""The name of the cases about the handbook that come with local-rag."""


@dataclass(frozen=True, slots=True)
class CaseFileView:
    """A case file: how many cases it has, how many say that the files answer, and that they do not.

    `problem` says why it cannot be used, empty where it can. `index` is the one that its cases are about where that is
    known, `demo` says that it comes with local-rag.
    """

    name: str
    cases: int = 0
    answerable: int = 0
    unanswerable: int = 0
    changed: str = ""
    problem: str = ""
    index: str = ""
    demo: bool = False


def case_files(settings: Settings) -> list[CaseFileView]:
    """Those of the data folder by name, and those of the demo where its index is there."""
    folder = settings.data_folder / FOLDER
    paths = sorted(folder.glob("*.jsonl")) if folder.is_dir() else []
    own = [_view(path) for path in paths if re.match(CASES_NAME, path.stem) and not path.is_symlink()]
    return [*own, *_of_demo(settings)]


def path_of(settings: Settings, name: str, *, make: bool = False) -> Path:
    """The path of a case file by its name, which fits `CASES_NAME`. `make` makes its folder. Raises NotFound."""
    path = settings.data_folder / FOLDER / f"{name}.jsonl"
    if make and not path.is_symlink():
        make_folder(path.parent)
    elif not path.is_file() or path.is_symlink():
        raise NotFound(f"there is no case file {name!r}", f"put one in {path.parent}")
    return path


def open_case_file(settings: Settings, name: str) -> CaseSet:
    """The cases of a file by its name. Raises NotFound, and UsageError for one that holds no cases."""
    from local_rag.evaluation.formats import open_cases

    if name == DEMO and _of_demo(settings):
        from local_rag.diagnostics.demo import CASES

        return replace(open_cases([CASES], "jsonl"), name=DEMO)
    return open_cases([path_of(settings, name)], "jsonl")


def _of_demo(settings: Settings) -> list[CaseFileView]:
    from local_rag.config.index_folders import index_path
    from local_rag.diagnostics.demo import CASES, INDEX
    from local_rag.index.store.folder import DATABASE

    own = settings.data_folder / FOLDER / f"{DEMO}.jsonl"
    if own.exists() or not (index_path(INDEX, settings.data_folder) / DATABASE).exists():
        return []
    return [replace(_view(CASES), name=DEMO, index=INDEX, changed="", demo=True)]


def _view(path: Path) -> CaseFileView:
    from local_rag.evaluation.cases import read_cases

    changed = datetime.fromtimestamp(path.stat().st_mtime, UTC).isoformat(timespec="seconds")
    try:
        cases = read_cases(path)
    except LocalRagError as error:
        return CaseFileView(path.stem, changed=changed, problem=str(error))
    answerable = [case.answerable for case in cases]
    return CaseFileView(path.stem, len(cases), answerable.count(True), answerable.count(False), changed)
