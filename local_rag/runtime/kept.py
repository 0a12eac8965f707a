"""What the history gives back: chats with their turns, runs with their records, judgements, and what quotes files."""

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
    from local_rag.index.path_labels import PathLabel
    from local_rag.index.store.values import Stored

Line = dict[str, Any]
"""Of a record: `event` is its kind, `at` the seconds since the question was asked; see `recording`."""

QuestionState = Literal["waiting", "running", "done", "refused", "failed", "stopped"]
"""Of a question. `waiting` and `running` are also what a process left that was ended; `refused` is one that cannot be
asked so; `stopped` has a person or the clock, `failed` everything else."""

STATUSES: tuple[str, ...] = (*get_args(Status), "running", "refused", "failed", "stopped")
"""The status of the answer, or where there is none the state."""

LONGEST_NAME = 80
"""Characters of a thread's name."""


@dataclass(frozen=True)
class Thread:
    """A chat as a list shows it: how many questions were answered, its first question, and when the last was asked."""

    name: str
    turns: int
    first: str
    at: str


@dataclass(frozen=True)
class Unanswered:
    """A question of a chat that has no answer: when it was asked, how it ended and why, and the draft that it left."""

    question: str
    at: str
    state: QuestionState
    error: str
    hint: str
    draft: str


@dataclass(frozen=True)
class AnsweredTurn:
    """A question of a chat that was answered; `run` is its ID, `at` when it was asked (ISO 8601, UTC).

    `indexes` are the folders of what was asked, empty texts for a corpus of a program.
    """

    run: str
    at: str
    answer: Answer
    indexes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Judgement:
    """Whether an answer was good, and why. `run` is the ID of its question, `at` when it was judged (ISO 8601, UTC).

    `question` is the standalone one. `expected` is what a right answer says, empty where nobody said; `unanswerable`
    says that the files do not answer the question. `index` is the name that was asked, `folder` where it lies.
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
    """What quotes files: a chat by its name, a question and feedback by the ID of its run, anything else by its path.

    `indexes` are folders, empty where not known. A `run` is one of an evaluation; `folder` is what the index
    of a fallback corpus was made of.
    """

    kind: Literal["chat", "question", "feedback", "run", "export", "cases", "bundle", "file answer", "fallback corpus"]
    name: str
    at: str
    indexes: tuple[str, ...] = ()
    sources: tuple[str, ...] = field(default=(), repr=False)
    folder: str = ""


def thread_name(name: str) -> str:
    """A name as threads are kept under. Raises UsageError for one that cannot be typed and shown everywhere."""
    normal = unicodedata.normalize("NFC", name)
    seen = for_terminal(normal) == normal  # nothing drives a terminal, turns text around, or is not seen
    allowed = all(ch == " " or unicodedata.category(ch)[0] in "LMNPS" for ch in normal) and any(map(in_words, normal))
    if seen and allowed and normal == normal.strip() and len(normal) <= LONGEST_NAME:
        return normal
    raise UsageError(
        f"a thread is named with letters, digits, signs and blanks between them, at most {LONGEST_NAME} characters, not"
        f" {shorten(name, LONGEST_NAME + 20)!r}",
        hint='a name such as "lease 2026" or "Harbour Street: lease"',
    )


def in_words(character: str) -> bool:
    """A letter, one of its marks (as in Hindi), or a digit, of any script."""
    return unicodedata.category(character)[0] in "LMN"


@dataclass(frozen=True)
class RunSummary:
    """A run in a list. `index` is the name that was asked; `thread` is empty outside of a chat.

    `status` is that of the answer, or how the run ended without one: one of `STATUSES`; `reason` says in a line why,
    empty where there is nothing to say. `certainty` is that of its answer, empty where there is none from files.
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
    """A node at work: its seconds, None where it did not end, and the lines of what happened in it.

    `node` is empty for what happened behind the last one.
    """

    node: str
    seconds: float | None
    lines: Sequence[Line]


@dataclass(frozen=True)
class KeptRun(RunSummary):
    """A question as it was answered: its conditions, the lines of its record, and the answer or what helps."""

    conditions: Line
    lines: Sequence[Line]
    answer: Answer | None = None
    hint: str = ""

    @property
    def folder(self) -> str:
        """That of the index that was asked; empty for a corpus that a program gave."""
        return str(self.conditions["index"]["path"])

    @property
    def others(self) -> list[str]:
        """Those of the further indexes that were asked as one with it."""
        return [str(folder) for folder in self.conditions["index"]["others"]]

    @property
    def narrowing(self) -> Narrowing:
        """Which part of the index was asked."""
        return Narrowing(within=tuple(self.conditions["within"]), **self.conditions["narrowing"])

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
        return list(_steps(self.lines))

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
        """The drafts that were rejected, with text and why."""
        states = [line["state"]["drafts"] for line in self._of("step") if "drafts" in line["state"]]
        return states[-1] if states else []

    @property
    def prompts(self) -> dict[str, str]:
        """The digest of each task's prompt texts, by their names."""
        return {call.role: call.prompt for call in self.calls if call.prompt}

    def summary(self) -> RunSummary:
        """The run as a list shows it."""
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
    """What is there now of the passages of a run. `label` names files; `trouble`: why the index says nothing."""

    stored: Stored | None
    label: PathLabel
    trouble: str = ""
    places: dict[str, Line] = field(default_factory=dict)

    @classmethod
    def of(cls, run: KeptRun, here: Path | None = None) -> RunPassages:
        """Read them from the index of the run, or from all that it asked as one; `here` as for `PathLabels`."""
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
        """The text of a passage and "", or None and why there is none."""
        known = self.stored.passages.get(str(passage["chunk_id"])) if self.stored else None
        if known:
            return known.text, ""
        if passage["origin"] == "web":
            return None, WEB
        if self.stored is None:
            return None, GONE
        return None, CHANGED if passage["source"] in self.stored.files else GONE

    def place(self, chunk_id: str | None) -> str:
        """Page, or else heading, of a passage as it stands behind its file; "" where none is known."""
        passage = self.places.get(chunk_id or "")
        if passage is None:
            return ""
        if passage["page"] is not None:
            return f", p. {passage['page']}"
        return f", § {passage['heading']}" if passage["heading"] else ""

    def note(self, content: str) -> str:
        """What to know of the index: that it has changed since, as far as that is known, or cannot be read."""
        if self.stored is None:
            return self.trouble
        return "the index has changed since" if content not in ("", self.stored.content) else ""
