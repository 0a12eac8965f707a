"""List what local-rag has written at a person's request: evaluation runs, exported chats, proposed cases, bundles.

All of these quote files. The list is in the data folder, so that each can be found and deleted when a file is removed,
wherever it was written.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from local_rag.config.server_index import IndexAddress
from local_rag.config.settings import full_name
from local_rag.core.private_files import append_line, make_folder, replace_file

FILE = "written.jsonl"
Kind = Literal["run", "export", "cases", "bundle"]


@dataclass(frozen=True)
class Written:
    """Hold a written file or folder with its time (ISO 8601, UTC) and its sources.

    `index` and `others` are the indexes that it was made from, and `sources` the files that an export cites.
    """

    kind: Kind
    path: str
    at: str
    index: str = ""
    sources: Sequence[str] = ()
    others: Sequence[str] = ()


def enter(
    data_folder: Path,
    kind: Kind,
    path: Path,
    *,
    index: IndexAddress | None = None,
    sources: Sequence[str] = (),
    others: Sequence[str] = (),
) -> None:
    """Add an entry to the list; do not fail if the list cannot be written."""
    at = datetime.now(UTC).isoformat(timespec="seconds")
    made_of = full_name(index) if index else ""
    entry = Written(kind, str(path.expanduser().absolute()), at, made_of, tuple(sources), tuple(others))
    with suppress(OSError):
        make_folder(data_folder)
        append_line(data_folder / FILE, json.dumps(asdict(entry)))


def written(data_folder: Path) -> list[Written]:
    """Return all entries whose file or folder still exists, each path once with its last entry."""
    return [entry for entry in _entered(data_folder) if os.path.lexists(entry.path)]


def forget_deleted(data_folder: Path) -> None:
    """Remove deleted files from the list, because file names are private too.

    An entry on a disk that is not connected now stays.
    """
    if (data_folder / FILE).exists():
        entered = _entered(data_folder)
        there = [one for one in entered if os.path.lexists(one.path) or not Path(one.path).parent.exists()]
        replace_file(data_folder / FILE, "".join(f"{json.dumps(asdict(each))}\n" for each in there).encode())


def _entered(data_folder: Path) -> list[Written]:
    entries: dict[str, Written] = {}
    known = {field.name for field in fields(Written)}
    with suppress(FileNotFoundError):
        for line in (data_folder / FILE).read_bytes().splitlines():
            with suppress(ValueError, TypeError, AttributeError):
                entry = Written(**{name: value for name, value in json.loads(line).items() if name in known})
                entries[str(entry.path)] = entry  # a later line about the same path counts
    return list(entries.values())
