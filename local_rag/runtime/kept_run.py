"""A run: the record of a question, read again."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import BinaryIO, Literal, get_args

from local_rag.core.answer import Answer, Status
from local_rag.core.narrowing import Narrowing
from local_rag.core.serialization import from_plain
from local_rag.core.usage import Call
from local_rag.core.verdicts import Graded
from local_rag.runtime.recording import FORMAT
from local_rag.runtime.trace_file import BEGINS, Line

Ending = Literal["stopped", "failed", "unfinished"]
"""How a run ends that has no answer; `unfinished` is still running, or its process was ended."""

STATUSES: tuple[str, ...] = (*get_args(Status), *get_args(Ending))

BLOCK = 1 << 15
"""Bytes that are read at once from the end of a record; the last line of most has fewer."""

_CONDITIONS = dict.fromkeys(("id", "time", "question", "graph", "thread"), str) | dict.fromkeys(
    ("index", "engine", "settings"), dict
)
"""What the first line of a record must hold; what else it holds may be another version's."""


@dataclass(frozen=True, slots=True)
class RunStep:
    """A node at work: its seconds, None where it did not end, and the lines of what happened in it.

    `node` is empty for what happened behind the last one.
    """

    node: str
    seconds: float | None
    lines: Sequence[Line]


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
        """That of the index that was asked; empty for a corpus that a program gave."""
        return str(self.conditions["index"]["path"])

    @property
    def others(self) -> list[str]:
        """Those of the further indexes that were asked as one with it."""
        return [str(folder) for folder in self.conditions["index"].get("others", ())]

    @property
    def folders(self) -> set[str]:
        """Those of the indexes whose passages it may quote: all that were asked, and a fallback corpus."""
        return {self.folder, *self.others, str(self.conditions.get("fallback_corpus_path", ""))} - {""}

    @property
    def thread(self) -> str:
        return str(self.conditions["thread"])

    @cached_property
    def answer(self) -> Answer | None:
        """The answer; None where the run has none."""
        ended = self.ended or {}
        return from_plain(Answer, ended["answer"]) if "answer" in ended else None

    @property
    def narrowing(self) -> Narrowing:
        """Which part of the index was asked; a run of an earlier version knows only files."""
        return Narrowing(within=tuple(self.conditions["within"]), **self.conditions.get("narrowing", {}))

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

    @cached_property
    def steps(self) -> list[RunStep]:
        """What each node did, in the order in which they began."""
        return list(_steps(self.lines[1:]))

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
        return {call.role: call.prompt for call in self.calls if call.prompt}

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


def _steps(happened: Sequence[Line]) -> Iterator[RunStep]:
    node, lines = "", list[Line]()
    for line in happened:
        if line["event"] == "started" and lines:
            yield RunStep(node, None, lines)
            lines = []
        node = line.get("node", node) if line["event"] in ("started", "step") else node
        lines.append(line)
        if line["event"] == "step":
            yield RunStep(node, float(line["seconds"]), lines)
            node, lines = "", []
        elif line["event"] in ("done", "ended"):
            lines.pop()
    if lines:
        yield RunStep(node, None, lines)


def whole_record(path: Path) -> KeptRun:
    """The run of a record; a last line that was cut off by a kill is left out. Raises OSError, ValueError, KeyError."""
    return _run(path.read_bytes().split(b"\n")[:-1])


def ends_of_record(path: Path) -> KeptRun:
    """The run by its first line and its last one alone, which is what a list shows. Raises as `whole_record` does."""
    with path.open("rb") as file:
        first = file.readline()
        return _run([first, _last_line(file)] if first.endswith(b"\n") else [])


def _last_line(file: BinaryIO) -> bytes:
    """The last line that is whole, without the rest of the file."""
    tail, start = b"", file.seek(0, os.SEEK_END)
    while start and tail.count(b"\n") < 2:
        size = min(start, BLOCK)
        start = file.seek(start - size)
        tail = file.read(size) + tail
    return tail.split(b"\n")[-2]


def _run(lines: Sequence[bytes]) -> KeptRun:
    """Raises ValueError for what is no record."""
    if not lines or not lines[0].startswith(BEGINS):
        raise ValueError("it is no record of a question")
    run = KeptRun([json.loads(line) for line in lines])
    if run.conditions.get("format") != FORMAT:
        raise ValueError("it was written by another version of local-rag")
    for name, kind in _CONDITIONS.items():
        if not isinstance(run.conditions.get(name), kind):
            raise ValueError(f"its first line lacks {name!r}")
    for name, part in (("index", "name"), ("index", "path"), ("engine", "name")):
        if part not in run.conditions[name]:
            raise ValueError(f"its first line lacks '{name}.{part}'")
    return run
