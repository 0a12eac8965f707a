"""One question from a terminal: shown as it is worked on, written down for --trace-file, its answer on stdout."""

from __future__ import annotations

import sys
from collections.abc import Generator, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

from local_rag.terminal.live import Live, say_terms
from local_rag.terminal.show import answer_lines, write

if TYPE_CHECKING:
    from rich.console import Console

    from local_rag.core.answer import Answer
    from local_rag.core.events import Event
    from local_rag.runtime.rag import Rag
    from local_rag.runtime.trace_file import TraceFile


@dataclass
class Asking:
    """How the questions of a command are asked: of which files, and what is shown and written down meanwhile.

    `announce`: say which engine answers, once nothing is wrong with the question itself.
    """

    rag: Rag
    console: Console
    within: Sequence[str] = ()
    trace: bool = False
    record: TraceFile | None = None
    announce: bool = False

    def answer(self, question: str, *, graph: str | None = None, thread: str | None = None) -> Answer:
        """The answer, once everything that leads to it was shown. An exception, Ctrl-C too, stops the question."""
        live = Live(self.console, trace=self.trace)
        consent = self.rag.settings.values.web.enabled == "ask"
        may_search = partial(live.may_search, ask=consent)
        stream = self.rag.stream(question, graph=graph, within=self.within, thread=thread, may_search=may_search)
        if self.announce:
            say_terms(self.console, self.rag)
        with closing(cast("Generator[Event, None, None]", stream)) as events:
            if self.record is None:
                return live.follow(events)
            about = {"question": question, "graph": graph or self.rag.settings.values.graph, "thread": thread or ""}
            return live.follow(self.record.following(events, **about))


def recording(path: Path | None) -> TraceFile | nullcontext[None]:
    """The trace file of a command, opened before anything is loaded. Raises UsageError where it cannot be written."""
    from local_rag.runtime.trace_file import TraceFile

    return TraceFile.open(path) if path else nullcontext()


def print_answer(answer: Answer) -> None:
    """The answer and its citations on stdout; in a terminal its files open on a click."""
    for line in answer_lines(answer, links=sys.stdout.isatty()):
        write(line)
