"""The runs that are kept: listed, read, deleted. `recording` writes them."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from local_rag.core.errors import LocalRagError, UsageError
from local_rag.core.private_files import replace_file
from local_rag.core.reasons import reason_of
from local_rag.runtime.kept_run import STATUSES, KeptRun, RunSummary, ends_of_record, whole_record
from local_rag.runtime.recording import FOLDER, NAME
from local_rag.text.display import joined

if TYPE_CHECKING:
    from local_rag.config.settings import Settings

LAST = "last"
"""In the place of an ID: the run that began last."""


REMEMBERED = 5_000
"""Records of which the ends are kept in memory, about 1.5 kB each."""


@dataclass(frozen=True, slots=True)
class _Ends:
    """What a list shows of a record, and the folders by which one is looked for."""

    summary: RunSummary
    folders: frozenset[str]


class Runs:
    """The runs in the data folder of some settings. Any process may add and delete some meanwhile.

    A record is read once for all lists, as long as it stays as it is.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.folder = settings.data_folder / FOLDER
        self._known: dict[str, tuple[tuple[int, int], _Ends]] = {}

    @classmethod
    def open(cls, **flags: Any) -> Runs:
        """Those of the settings in force; `flags` as in `Rag.open`."""
        from local_rag.config.settings import Settings

        return cls(Settings.load(**flags))

    def list(self, *, index: Path | None = None, status: str = "", last: int | None = None) -> Sequence[RunSummary]:
        """The runs, the last one first: those that asked the index in a folder, with a status, only so many.

        Raises UsageError for a status that there is none of.
        """
        if status and status not in STATUSES:
            raise UsageError(
                f"a status is {joined(STATUSES, 'or')}, not {status!r}", hint="local-rag runs --status failed"
            )
        wanted = (
            run.summary
            for _, run in self._ends()
            if (not status or run.summary.status == status) and (index is None or str(index.resolve()) in run.folders)
        )
        return [*islice(wanted, last)]

    def get(self, name: str) -> KeptRun:
        """The run with an ID, or one that begins so and no other does; `last` is the last one. Raises UsageError."""
        return self.read(self.named([name])[0])

    def read(self, path: Path) -> KeptRun:
        """The run of a record. Raises LocalRagError for one that cannot be read."""
        try:
            return whole_record(path)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise LocalRagError(
                f"the record of the run {run_id(path)} cannot be read: {reason_of(error)}",
                hint=f"local-rag runs delete {run_id(path)}",
            ) from error

    def delete(self, names: Iterable[str]) -> Sequence[str]:
        """Delete runs by what `get` takes for an ID; their IDs. Raises UsageError before anything is deleted."""
        return self.delete_paths(self.named(names))

    def delete_paths(self, paths: Iterable[Path]) -> Sequence[str]:
        """Delete the records that are still there; their IDs. Any question of another process may delete some, too."""
        deleted = []
        try:
            for path in paths:
                with suppress(FileNotFoundError):
                    path.unlink()
                    deleted.append(run_id(path))
        except OSError as error:
            raise LocalRagError(
                f"runs cannot be deleted from {self.folder}: {reason_of(error)}", hint=f"ls -ld '{self.folder}'"
            ) from error
        return deleted

    def named(self, names: Iterable[str]) -> Sequence[Path]:
        """The records of runs that a person names, as for `get`, each once. Raises UsageError."""
        paths = self.paths()
        if not paths:
            raise UsageError("there are no runs yet", hint='local-rag ask "What does the contract say about notice?"')
        return list(dict.fromkeys(_matching(name, paths) for name in names))

    def of_index(self, folder: Path) -> Sequence[Path]:
        """The records of the runs that searched the index in a folder, also as a fallback corpus."""
        return [path for path, run in self._ends() if str(folder.resolve()) in run.folders]

    def of_threads(self, names: Iterable[str]) -> Sequence[Path]:
        """The records of the runs of chats, by the names that the chats are kept under."""
        wanted = set(names)
        return [path for path, run in self._ends() if run.summary.thread in wanted]

    def rename_thread(self, name: str, new: str) -> int:
        """Write another name of a chat into the records of its runs, so that they go with it; how many have it now.

        A record that another process is writing meanwhile ends where it is. Raises LocalRagError.
        """
        paths = self.of_threads([name])
        for path in paths:
            try:
                with suppress(FileNotFoundError):
                    replace_file(
                        path, b"".join(_renamed(line, name, new) for line in path.read_bytes().splitlines(True))
                    )
            except OSError as error:
                raise LocalRagError(
                    f"the run {run_id(path)} cannot be written: {reason_of(error)}", hint=f"ls -l '{path}'"
                ) from error
        return len(paths)

    def before(self, moment: str) -> Sequence[Path]:
        """The records of the runs that began before an ISO 8601 time in UTC, damaged ones included."""
        digits = re.sub(r"\D", "", moment)
        return [path for path in self.paths() if re.sub(r"\D", "", path.name[:18])[: len(digits)] < digits]

    def paths(self) -> Sequence[Path]:
        """The files of all runs, the first one first; whatever else lies there is not ours."""
        with suppress(FileNotFoundError, NotADirectoryError), os.scandir(self.folder) as entries:
            names = sorted(entry.name for entry in entries if NAME.fullmatch(entry.name) and not entry.is_symlink())
            return [self.folder / name for name in names]
        return []

    def _ends(self) -> Iterator[tuple[Path, _Ends]]:
        """Each run by its first line and its last one, the last run first; what cannot be read is left out."""
        known, paths = self._known, self.paths()
        for gone in set(known) - {path.name for path in paths}:
            known.pop(gone, None)
        for path in reversed(paths):
            with suppress(OSError, ValueError, KeyError, TypeError):
                status = path.stat()
                state = status.st_size, status.st_mtime_ns
                if path.name in known and known[path.name][0] == state:
                    ends = known[path.name][1]
                else:
                    run = ends_of_record(path)
                    ends = _Ends(run.summary(), frozenset(run.folders))
                if len(known) < REMEMBERED or path.name in known:
                    known[path.name] = state, ends
                yield path, ends


def _renamed(line: bytes, name: str, new: str) -> bytes:
    """A line of a record with another name of its chat: the first line has it, and the answer in the last one."""
    if not line.endswith(b"\n"):  # a kill has cut it off
        return line
    data = json.loads(line)
    for part in (data, data.get("answer")):
        if isinstance(part, dict) and part.get("thread") == name:
            part["thread"] = new
    return json.dumps(data, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace") + b"\n"


def _matching(name: str, paths: Sequence[Path]) -> Path:
    if name == LAST:
        return paths[-1]
    matching = [path for path in paths if run_id(path).startswith(name.lower())] if name else []
    if len(matching) == 1:
        return matching[0]
    if matching:
        raise UsageError(f"{name!r} begins {len(matching)} IDs", hint=f"local-rag runs show {run_id(matching[-1])}")
    raise UsageError(f"there is no run {name!r}", hint="local-rag runs")


def run_id(path: Path) -> str:
    """The ID in the name of a record."""
    return path.stem.rpartition("-")[2]
