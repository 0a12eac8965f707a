"""The questions of a command: each is shown while it is worked on, and written down for --trace-file."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

from local_rag.core.answer import Answer
from local_rag.index.path_labels import PathLabel
from local_rag.terminal.conditions import condition_lines
from local_rag.terminal.progress import TerminalDisplay
from local_rag.terminal.question_display import QuestionDisplay
from local_rag.text.display import short_path

if TYPE_CHECKING:
    from local_rag.core.events import Event
    from local_rag.runtime.rag import Rag
    from local_rag.runtime.trace_file import TraceFile


@dataclass
class QuestionRunner:
    """What the questions of a command have in common: the files that are asked, what is shown and written down.

    `announce`: say which engine answers, once nothing is wrong with the question itself.
    """

    rag: Rag
    display: TerminalDisplay
    within: Sequence[str] = ()
    trace: bool = False
    trace_file: TraceFile | None = None
    announce: bool = False
    label: PathLabel = field(default=short_path)

    def answer(self, question: str, *, graph: str | None = None, thread: str | None = None) -> Answer:
        """The answer, once everything that leads to it was shown. An exception, Ctrl-C too, stops the question."""
        shown = QuestionDisplay(self.display.console, trace=self.trace, label=self.label)
        may_search = partial(shown.may_search, ask=self.rag.settings.values.web.enabled == "ask")
        stream = self.rag.stream(question, graph=graph, within=self.within, thread=thread, may_search=may_search)
        if self.announce:
            self.say_conditions()
        with closing(cast("Generator[Event, None, None]", stream)) as events:
            if self.trace_file is None:
                return shown.follow(events)
            details = {"question": question, "graph": graph or self.rag.settings.values.graph, "thread": thread or ""}
            return shown.follow(self.trace_file.following(events, **details))

    def say_conditions(self) -> None:
        for line in condition_lines(self.rag):
            self.display.say(line)


def open_trace(path: Path | None) -> TraceFile | nullcontext[None]:
    """The trace file of a command, opened before anything is loaded. Raises UsageError where it cannot be written."""
    from local_rag.runtime.trace_file import TraceFile

    return TraceFile.open(path) if path else nullcontext()
