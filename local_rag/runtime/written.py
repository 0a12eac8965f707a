"""What local-rag has written where a person said: evaluation runs, exported chats, proposed cases, bundles.

All of it quotes their files. Each is entered in a list in the data folder, so that it can be found and deleted when a
file is removed, wherever it lies.
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
    """A file or folder, when it was begun (ISO 8601, UTC), from which index and which others, and of an export which
    files it cites.
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
    """Enter what is written from now on. A list that cannot be written is no reason to fail."""
    at = datetime.now(UTC).isoformat(timespec="seconds")
    made_of = full_name(index) if index else ""
    entry = Written(kind, str(path.expanduser().absolute()), at, made_of, tuple(sources), tuple(others))
    with suppress(OSError):
        make_folder(data_folder)
        append_line(data_folder / FILE, json.dumps(asdict(entry)))


def written(data_folder: Path) -> list[Written]:
    """What is still there of all that was entered; each path once, as it was entered last."""
    return [entry for entry in _entered(data_folder) if os.path.lexists(entry.path)]


def forget_deleted(data_folder: Path) -> None:
    """Leave out of the list what was deleted: names of files are a person's own, too.

    What lies on a disk that is not there just now stays in it.
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
