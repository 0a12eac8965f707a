"""Define what the history returns: chats with turns, runs with records, judgements, and what quotes files."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from local_rag.core.answer import Answer, Status
from local_rag.core.documents import Narrowing
from local_rag.core.errors import IndexMissing, LocalRagError, UsageError
from local_rag.core.serialization import from_plain
from local_rag.core.verdicts import Call, Graded
from local_rag.index.path_labels import PathLabel, PathLabels
from local_rag.text.display import for_terminal, shorten

if TYPE_CHECKING:
    from local_rag.index.store.values import Stored

Line = dict[str, Any]
"""A line of a record: `event` is its kind, `at` the seconds since the question was asked; see `recording`."""

QuestionState = Literal["waiting", "running", "done", "refused", "failed", "stopped"]
"""The state of a question.

A process that was killed also leaves `waiting` and `running`. `refused`: the question cannot be asked in this form.
`stopped`: a person or the time limit stopped it. `failed`: anything else ended it.
"""

STATUSES: tuple[str, ...] = (*get_args(Status), "running", "refused", "failed", "stopped")
"""The status of the answer, or without an answer the state of the question."""

LONGEST_NAME = 80
"""The maximum characters of a chat's name."""


@dataclass(frozen=True)
class Thread:
    """Hold a chat for a list: its number of answered questions, its first question, and the time of the last one."""

    name: str
    turns: int
    first: str
    at: str


@dataclass(frozen=True)
class Unanswered:
    """Hold a question of a chat without an answer: its time, how and why it ended, and the draft that it left."""

    question: str
    at: str
    state: QuestionState
    error: str
    hint: str
    draft: str


@dataclass(frozen=True)
class AnsweredTurn:
    """Hold an answered question of a chat; `run` is its ID, `at` its time (ISO 8601, UTC).

    `indexes` are the folders that it searched, with empty texts for a corpus of a program; `scope` is the choice of the
    page.
    """

    run: str
    at: str
    answer: Answer
    indexes: tuple[str, ...] = ()
    scope: Line = field(default_factory=dict)


@dataclass(frozen=True)
class Judgement:
    """Hold a person's judgement of an answer; `run` is the ID of its question, `at` its time (ISO 8601, UTC).

    `question` is the standalone question. `expected` is the right answer if the person stated one. `unanswerable`: the
    files do not answer the question. `index` is the name of the index, `folder` its address.
    """

    run: str
    at: str
    good: bool
    note: str
    expected: str
    unanswerable: bool
    question: str
    index: str
    folder: str
    answer: Answer


@dataclass(frozen=True)
class Kept:
    """Name something that quotes files: a chat by name, a question and feedback by run ID, anything else by path.

    `indexes` are folders, empty if unknown. A `run` is a run of an evaluation; `folder` is the folder that a fallback
    corpus was made of.
    """

    kind: Literal["chat", "question", "feedback", "run", "export", "cases", "bundle", "file answer", "fallback corpus"]
    name: str
    at: str
    indexes: tuple[str, ...] = ()
    sources: tuple[str, ...] = field(default=(), repr=False)
    folder: str = ""


def thread_name(name: str) -> str:
    """Return a chat's name in its stored form.

    Raise UsageError for a name that cannot be typed and shown everywhere.
    """
    normal = unicodedata.normalize("NFC", name)
    seen = for_terminal(normal) == normal  # no control characters, no reversed text, nothing invisible
    allowed = all(ch == " " or unicodedata.category(ch)[0] in "LMNPS" for ch in normal) and any(map(in_words, normal))
    if seen and allowed and normal == normal.strip() and len(normal) <= LONGEST_NAME:
        return normal
    raise UsageError(
        f"a thread is named with letters, digits, signs and blanks between them, at most {LONGEST_NAME} characters, not"
        f" {shorten(name, LONGEST_NAME + 20)!r}",
        hint='a name such as "lease 2026" or "Harbour Street: lease"',
    )


def in_words(character: str) -> bool:
    """Return whether a character is a letter, a mark of one (as in Hindi), or a digit, of any script."""
    return unicodedata.category(character)[0] in "LMN"


@dataclass(frozen=True)
class RunSummary:
    """Hold a run for a list; `index` is the name that was asked, and `thread` is empty outside of a chat.

    `status` is one of `STATUSES`: the status of the answer, or how the run ended without one. `reason` explains it in a
    line, if there is something to explain. `certainty` is that of the answer, empty if no answer came from files.
    """

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
    certainty: str


@dataclass(frozen=True)
class RunStep:
    """Hold the work of a node: its seconds, None if it did not end, and the lines of its events.

    `node` is empty for events after the last node.
    """

    node: str
    seconds: float | None
    lines: Sequence[Line]


@dataclass(frozen=True)
class KeptRun(RunSummary):
    """Hold a recorded question: its conditions, the lines of its record, and its answer or a hint."""

    conditions: Line
    lines: Sequence[Line]
    answer: Answer | None = None
    hint: str = ""

    @property
    def folder(self) -> str:
        """Return the folder of the index that was asked; empty for a corpus that a program gave."""
        return str(self.conditions["index"]["path"])

    @property
    def others(self) -> list[str]:
        """Return the folders of the further indexes that were searched with it."""
        return [str(folder) for folder in self.conditions["index"]["others"]]

    @property
    def narrowing(self) -> Narrowing:
        """Return the part of the index that was searched."""
        return Narrowing(within=tuple(self.conditions["within"]), **self.conditions["narrowing"])

    @property
    def standalone_question(self) -> str:
        """Return the question as it was understood if it followed others of a chat."""
        understood = [line["state"]["asked"] for line in self._of("step") if line["state"].get("asked")]
        return str(understood[-1]) if understood else self.question

    @property
    def path(self) -> list[str]:
        """Return the nodes in the order in which they began."""
        return list(self.answer.path) if self.answer else [line["node"] for line in self._of("started")]

    @cached_property
    def steps(self) -> list[RunStep]:
        """Return the work of each node, in the order in which they began."""
        return list(_steps(self.lines))

    @property
    def decisions(self) -> list[Graded]:
        return [from_plain(Graded, line) for line in self._of("graded")]

    @property
    def calls(self) -> list[Call]:
        """Return the calls to language models, in their order."""
        return [from_plain(Call, line["call"]) for line in self._of("called")]

    @property
    def passages(self) -> list[Line]:
        """Return every retrieved passage once, in the order of its first retrieval, without its text."""
        retrieved = [passage for line in self._of("retrieved") for passage in line["documents"]]
        return list({str(passage["chunk_id"]): passage for passage in reversed(retrieved)}.values())[::-1]

    @property
    def drafts(self) -> list[Line]:
        """Return the rejected drafts with text and reason."""
        states = [line["state"]["drafts"] for line in self._of("step") if "drafts" in line["state"]]
        return states[-1] if states else []

    @property
    def prompts(self) -> dict[str, str]:
        """Return the digest of each task's prompt texts, by their names."""
        return {call.role: call.prompt for call in self.calls if call.prompt}

    def summary(self) -> RunSummary:
        """Return the summary of the run, for a list."""
        return RunSummary(*(getattr(self, field.name) for field in fields(RunSummary)))

    def _of(self, event: str) -> Iterator[Line]:
        return (line for line in self.lines if line["event"] == event)


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
    if lines:
        yield RunStep(node, None, lines)


CHANGED = "the file has changed since"
GONE = "no longer in the index"
WEB = "a page of the web or of a fallback corpus, whose text is not kept"


@dataclass(frozen=True)
class RunPassages:
    """Hold the current state of the passages of a run; `label` names files, `trouble` says why it is unknown."""

    stored: Stored | None
    label: PathLabel
    trouble: str = ""
    places: dict[str, Line] = field(default_factory=dict)

    @classmethod
    def of(cls, run: KeptRun, here: Path | None = None) -> RunPassages:
        """Read the passages from the indexes of the run; `here` is as for `PathLabels`."""
        from local_rag.config.settings import Settings
        from local_rag.index.index import Index
        from local_rag.index.joint import JointIndex

        label = PathLabels((), here)
        places = {str(passage["chunk_id"]): passage for passage in run.passages}
        if not run.folder:
            return cls(None, label, "a corpus of a program was asked, whose passages are not kept", places)
        try:
            path_of = Settings.load().path_of
            with ExitStack() as opened:
                indexes = {each: opened.enter_context(Index.open(path_of(each))) for each in (run.folder, *run.others)}
                index = JointIndex(indexes) if run.others else indexes[run.folder]
                return cls(index.stored(places), index.path_labels(here), places=places)
        except IndexMissing:
            return cls(None, label, "its index is gone, so passages cannot be shown again", places)
        except LocalRagError as error:
            return cls(None, label, f"passages cannot be shown again: {error}", places)

    def text(self, passage: Line) -> tuple[str | None, str]:
        """Return the text of a passage and "", or None and why there is none."""
        known = self.stored.passages.get(str(passage["chunk_id"])) if self.stored else None
        if known:
            return known.text, ""
        if passage["origin"] == "web":
            return None, WEB
        if self.stored is None:
            return None, GONE
        return None, CHANGED if passage["source"] in self.stored.files else GONE

    def place(self, chunk_id: str | None) -> str:
        """Return the page, or else the heading, of a passage for display after its file; "" if unknown."""
        passage = self.places.get(chunk_id or "")
        if passage is None:
            return ""
        if passage["page"] is not None:
            return f", p. {passage['page']}"
        return f", § {passage['heading']}" if passage["heading"] else ""

    def note(self, content: str) -> str:
        """Return that the index has changed since, as far as that is known, or that it cannot be read."""
        if self.stored is None:
            return self.trouble
        return "the index has changed since" if content not in ("", self.stored.content) else ""
