"""Store a run in a folder: its manifest, its cases, and one record for each thing that was asked."""

from __future__ import annotations

import errno
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from local_rag.core.errors import DiskFull, UsageError, reason_of
from local_rag.core.private_files import Locked, append_line, exclusive, make_folder, replace_file
from local_rag.core.serialization import from_plain
from local_rag.evaluation.cases import Case, line_of, read_cases

FOLDER = "evaluations"
"""The folder below the data folder for runs, and for the indexes of sets."""
MANIFEST, CASES, RECORDS, LOCK = "run.json", "cases.jsonl", "records.jsonl", "run.lock"
REPORT, FIGURES = "report.html", "report.json"
FORMAT = 2
"""The format of the files in the folder; another number belongs to another version."""

_UNREADABLE = (OSError, ValueError, KeyError, TypeError, AttributeError)
_BEGUN = {CASES, LOCK, f".{CASES}.draft", f".{MANIFEST}.draft"}
"""The files of a run that was stopped before its manifest was written."""

Record = dict[str, Any]
Key = tuple[str, str, str]


def key_of(record: Mapping[str, Any]) -> Key:
    """Return what a record is about: its kind, the case, and the graph or the mode of retrieval."""
    return str(record["kind"]), str(record["case"]), str(record.get("graph") or record.get("mode") or "")


@dataclass
class RunFolder:
    """Hold one run on disk; records are appended, and the last one about a thing counts."""

    path: Path
    manifest: dict[str, Any]
    cases: tuple[Case, ...]
    _rows: dict[Key, Record] = field(default_factory=dict)

    @property
    def records(self) -> list[Record]:
        """Return the records that count, in the order in which their things were first asked."""
        return list(self._rows.values())

    @classmethod
    def open(cls, path: Path) -> RunFolder:
        """Read a run; a last line that a crash cut off is left out. Raise UsageError."""
        folder = path.expanduser()
        if not (folder / MANIFEST).is_file():
            raise UsageError(f"{path} holds no run of local-rag eval", hint="local-rag eval CASES --out DIR")
        try:
            manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise UsageError(
                f"{folder / MANIFEST} cannot be read: {reason_of(error)}", hint="local-rag eval CASES --out NEW_FOLDER"
            ) from error
        if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
            raise UsageError(
                f"{folder} was made by another version of local-rag", hint="local-rag eval CASES --out NEW_FOLDER"
            )
        return cls(folder, manifest, read_cases(folder / CASES), _read_records(folder / RECORDS))

    @classmethod
    def create(cls, path: Path, manifest: dict[str, Any], cases: Sequence[Case]) -> RunFolder:
        """Begin a run in an empty folder that only its owner can read; raise UsageError for a folder with files."""
        folder = path.expanduser()
        if folder.exists() and not folder.is_dir():
            raise UsageError(
                f"{path} is a file, and --out names a folder", hint="local-rag eval CASES --out NEW_FOLDER"
            )
        try:
            make_folder(folder)
            if any(file.name not in _BEGUN for file in folder.iterdir()):
                raise UsageError(f"{path} holds other files", hint="local-rag eval CASES --out NEW_FOLDER")
            write_text(folder / CASES, "".join(line_of(case) + "\n" for case in cases))
            write_text(folder / MANIFEST, _json(manifest))
        except OSError as error:
            raise _cannot(folder, error) from error
        return cls(folder, manifest, tuple(cases))

    def has(self, key: Key) -> bool:
        """Return whether a thing was asked already, and did not fail."""
        return key in self._rows and "error" not in self._rows[key]

    def knows(self, key: Key) -> bool:
        """Return whether a thing was asked already, even if it failed."""
        return key in self._rows

    def record(self, key: Key) -> Record:
        """Return the record about a thing that was asked; raise KeyError if it was not."""
        return self._rows[key]

    def add(self, record: Record) -> None:
        """Append a record, which the system has received on return; raise DiskFull."""
        try:
            append_line(self.path / RECORDS, json.dumps(record, ensure_ascii=False, allow_nan=False))
        except OSError as error:
            raise _cannot(self.path, error) from error
        self._rows[key_of(record)] = record

    def finish(self, **facts: Any) -> None:
        """Add facts to the manifest of the run."""
        self.manifest |= facts
        write_text(self.path / MANIFEST, _json(self.manifest))


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Be the one process that writes to a run; raise UsageError if another process does.

    The lock ends with the process.
    """
    try:
        with exclusive(folder / LOCK):
            yield
    except Locked as error:
        raise UsageError(
            f"another local-rag eval is writing to {folder}", hint="wait for it, or choose another --out"
        ) from error


def write_text(path: Path, text: str) -> None:
    """Replace a file in one step; only its owner can read it."""
    try:
        replace_file(path, text.encode("utf-8", "replace"))
    except OSError as error:
        raise _cannot(path.parent, error) from error


def _read_records(path: Path) -> dict[Key, Record]:
    records: dict[Key, Record] = {}
    if path.exists():
        for line in path.read_bytes().split(b"\n"):
            with suppress(ValueError, KeyError, TypeError):
                record = json.loads(line)
                records[key_of(record)] = record
    return records


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False) + "\n"


def _cannot(folder: Path, error: OSError) -> Exception:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskFull(
            f"no space left for the run in {folder}; what it already holds is kept",
            hint="free some space on that disk, then type the same command again: it continues where it stopped",
        )
    return UsageError(f"the run cannot be written to {folder}: {reason_of(error)}", hint="choose another --out")


@dataclass(frozen=True)
class RightAnswers:
    """Count the answers that contain an expected answer (`right`) among the cases that have one (`of`)."""

    right: int
    of: int


@dataclass(frozen=True)
class EvaluationSummary:
    """Hold an evaluation for a list; `contained` has each graph that was asked cases with expected answers."""

    id: str
    name: str
    started: str
    finished: str
    cases: int
    graphs: Sequence[str]
    engine: str
    report: bool
    contained: Mapping[str, RightAnswers]


def summary_of(name: str, path: Path) -> EvaluationSummary | None:
    """Return the evaluation in a folder, or None if it cannot be read."""
    with suppress(*_UNREADABLE):
        manifest = json.loads((path / MANIFEST).read_text(encoding="utf-8"))
        about = {"id": name, "finished": manifest.get("finished") or "", "cases": manifest["cases"]["used"]}
        about |= {"engine": manifest["engine"]["describe"], "report": (path / REPORT).is_file()}
        return from_plain(EvaluationSummary, manifest | about | {"contained": _contained(path)})
    return None


def _contained(path: Path) -> dict[str, RightAnswers]:
    with suppress(*_UNREADABLE):
        answers = json.loads((path / FIGURES).read_text(encoding="utf-8"))["summary"]["figures"].get("Answers", {})
        found = {graph: figures["contains"] for graph, figures in answers.items()}
        return {
            graph: RightAnswers(round(each["mean"] * each["cases"]), each["cases"]) for graph, each in found.items()
        }
    return {}
