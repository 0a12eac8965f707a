"""The runs that are kept: listed, read, deleted. `recording` writes them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from local_rag.core.answer import Answer, Status
from local_rag.core.errors import LocalRagError, UsageError
from local_rag.core.serialization import from_plain
from local_rag.core.usage import Call
from local_rag.core.verdicts import Graded
from local_rag.runtime.recording import FOLDER, FORMAT, NAME
from local_rag.runtime.trace_file import BEGINS, Line
from local_rag.text.answer_texts import ran_out_of_time
from local_rag.text.display import joined

if TYPE_CHECKING:
    from local_rag.config.settings import Settings
    from local_rag.graphs.state import MaySearch
    from local_rag.runtime.replay import Replay
    from local_rag.runtime.run_difference import RunDifference

Ending = Literal["stopped", "failed", "unfinished"]
"""How a run ends that has no answer; `unfinished` is still running, or its process was ended."""

STATUSES: tuple[str, ...] = (*get_args(Status), *get_args(Ending))

LAST = "last"
"""In the place of an ID: the run that began last."""


@dataclass(frozen=True)
class KeptRun:
    """A question as it was answered: the lines of its record, of which the first says under which conditions.

    `conditions` is the first line, `ended` the last one where the run has ended.
    """

    lines: Sequence[Line]

    @property
    def conditions(self) -> Line:
        return self.lines[0]

    @property
    def ended(self) -> Line | None:
        last = self.lines[-1]
        return last if last["event"] in ("done", "ended") else None

    @property
    def id(self) -> str:
        return str(self.conditions["id"])

    @property
    def at(self) -> str:
        """When the question was asked, ISO 8601 in UTC."""
        return str(self.conditions["time"])

    @property
    def question(self) -> str:
        return str(self.conditions["question"])

    @property
    def graph(self) -> str:
        return str(self.conditions["graph"])

    @property
    def folder(self) -> str:
        """That of the index that was asked."""
        return str(self.conditions["index"]["path"])

    @property
    def thread(self) -> str:
        return str(self.conditions["thread"])

    @cached_property
    def answer(self) -> Answer | None:
        """The answer; None where the run has none."""
        ended = self.ended or {}
        return from_plain(Answer, ended["answer"]) if "answer" in ended else None

    @property
    def status(self) -> str:
        """That of the answer, or how the run ended without one: one of `STATUSES`."""
        if self.answer:
            return self.answer.status
        return str(self.ended["how"]) if self.ended else "unfinished"

    @property
    def reason(self) -> str:
        """Why the status is what it is, in a line; empty where there is nothing to say."""
        return self.answer.reason if self.answer else str((self.ended or {}).get("error", ""))

    @property
    def out_of_time(self) -> bool:
        return ran_out_of_time(self.reason)

    @property
    def seconds(self) -> float:
        """From the question to the last thing that is known of the run."""
        return self.answer.seconds if self.answer else float(self.lines[-1]["at"])

    @property
    def standalone_question(self) -> str:
        """The question as it was understood, where it followed others of a chat."""
        understood = [line["state"]["asked"] for line in self._of("step") if line["state"].get("asked")]
        return str(understood[-1]) if understood else self.question

    @property
    def path(self) -> list[str]:
        """The nodes in the order in which they began."""
        return list(self.answer.path) if self.answer else [line["node"] for line in self._of("started")]

    @property
    def decisions(self) -> list[Graded]:
        return [from_plain(Graded, line) for line in self._of("graded")]

    @property
    def calls(self) -> list[Call]:
        """The calls to language models, in their order."""
        return [from_plain(Call, line["call"]) for line in self._of("called")]

    @property
    def passages(self) -> list[Line]:
        """Every passage that was retrieved, once, in the order of its first retrieval; without its text."""
        retrieved = [passage for line in self._of("retrieved") for passage in line["documents"]]
        return list({str(passage["chunk_id"]): passage for passage in reversed(retrieved)}.values())[::-1]

    @property
    def drafts(self) -> list[Line]:
        """The drafts that were rejected, with text, status and why."""
        states = [line["state"]["drafts"] for line in self._of("step") if "drafts" in line["state"]]
        return states[-1] if states else []

    @property
    def prompts(self) -> dict[str, str]:
        """The digest of each task's prompt texts, by their names."""
        return {call.task: call.prompt for call in self.calls if call.prompt}

    def summary(self) -> RunSummary:
        """The run as a list shows it."""
        return RunSummary(
            id=self.id,
            at=self.at,
            question=self.question,
            graph=self.graph,
            engine=str(self.conditions["engine"]["name"]),
            index=str(self.conditions["index"]["name"]),
            status=self.status,
            seconds=self.seconds,
            reason=self.reason,
            thread=self.thread,
        )

    def _of(self, event: str) -> Iterator[Line]:
        return (line for line in self.lines if line["event"] == event)


@dataclass(frozen=True, slots=True)
class RunSummary:
    """A run in a list. `index` is the name that was asked; `thread` is empty outside of a chat."""

    id: str
    at: str
    question: str
    graph: str
    engine: str
    index: str
    status: str
    seconds: float
    reason: str
    thread: str


class Runs:
    """The runs in the data folder of some settings. Any process may add and delete some meanwhile."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.folder = settings.data_folder / FOLDER

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
        chosen = []
        for run in self._ends():
            if (not status or run.status == status) and (index is None or run.folder == str(index.resolve())):
                chosen.append(run.summary())
        return chosen[:last]

    def get(self, name: str) -> KeptRun:
        """The run with an ID, or one that begins so and no other does; `last` is the last one. Raises UsageError."""
        path = self._path(name)
        try:
            return KeptRun(_lines(path))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise LocalRagError(
                f"the record of the run {name} cannot be read: {error}", hint=f"local-rag runs delete {run_id(path)}"
            ) from error

    def delete(self, names: Iterable[str]) -> Sequence[str]:
        """Delete runs by what `get` takes for an ID; their IDs. Raises UsageError before anything is deleted."""
        paths = {run_id(path): path for path in map(self._path, names)}
        try:
            for path in paths.values():
                path.unlink(missing_ok=True)
        except OSError as error:
            raise LocalRagError(
                f"runs cannot be deleted from {self.folder}: {error.strerror or error}", hint=f"ls -ld '{self.folder}'"
            ) from error
        return list(paths)

    def ids(self, names: Iterable[str]) -> Sequence[str]:
        """The IDs of runs that are named as for `get`, each once. Raises UsageError."""
        return list(dict.fromkeys(run_id(self._path(name)) for name in names))

    def compare(self, first: str, second: str) -> RunDifference:
        """What two runs differ in. Raises as `get` does."""
        from local_rag.runtime.run_difference import difference

        return difference(self.get(first), self.get(second))

    def replay(self, name: str, *, may_search: MaySearch | None = None) -> Replay:
        """Ask the question of a run again, under its conditions. Raises as `get` and `Rag.open` do."""
        from local_rag.runtime.replay import replay

        return replay(self, name, may_search)

    def of_index(self, folder: Path) -> Sequence[str]:
        """The IDs of the runs that asked the index in a folder."""
        return [run.id for run in self._ends() if run.folder == str(folder.resolve())]

    def of_threads(self, names: Iterable[str]) -> Sequence[str]:
        """The IDs of the runs of chats."""
        wanted = set(names)
        return [run.id for run in self._ends() if run.thread in wanted]

    def before(self, moment: str) -> Sequence[str]:
        """The IDs of the runs that began before an ISO 8601 time in UTC, damaged ones included."""
        digits = re.sub(r"\D", "", moment)
        return [run_id(path) for path in self.paths() if re.sub(r"\D", "", path.name[:18])[: len(digits)] < digits]

    def paths(self) -> Sequence[Path]:
        """The files of all runs, the first one first; whatever else lies there is not ours."""
        with suppress(FileNotFoundError, NotADirectoryError):
            return sorted(path for path in self.folder.iterdir() if NAME.fullmatch(path.name) and not path.is_symlink())
        return []

    def _path(self, name: str) -> Path:
        paths = self.paths()
        if not paths:
            raise UsageError("there are no runs yet", hint='local-rag ask "What does the contract say about notice?"')
        if name == LAST:
            return paths[-1]
        matching = [path for path in paths if run_id(path).startswith(name.lower())] if name else []
        if len(matching) == 1:
            return matching[0]
        if matching:
            raise UsageError(f"{name!r} begins {len(matching)} IDs", hint=f"local-rag runs show {run_id(matching[-1])}")
        raise UsageError(f"there is no run {name!r}", hint="local-rag runs")

    def _ends(self) -> Iterator[KeptRun]:
        """Each run by its first line and its last one, the last run first; what cannot be read is left out."""
        for path in reversed(self.paths()):
            with suppress(OSError, ValueError, KeyError, TypeError):
                run = KeptRun(_lines(path, ends=True))
                run.summary()
                yield run


def _lines(path: Path, *, ends: bool = False) -> list[Line]:
    """The lines of a record, or only its first and its last one; a last one that was cut off by a kill is left out.

    Raises ValueError for what is no record.
    """
    whole = path.read_bytes().split(b"\n")[:-1]
    if not whole or not whole[0].startswith(BEGINS):
        raise ValueError("it is no record of a question")
    lines = [json.loads(line) for line in ([whole[0], whole[-1]] if ends else whole)]
    if lines[0].get("format") != FORMAT:
        raise ValueError("it was written by another version of local-rag")
    return lines


def run_id(path: Path) -> str:
    """The ID in the name of a record."""
    return path.stem.rpartition("-")[2]
