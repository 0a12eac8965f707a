"""Show the questions of a command in a terminal: their conditions, and the work on each question."""

from __future__ import annotations

import queue
import sys
from collections.abc import Generator, Iterable, Sequence
from contextlib import closing, nullcontext, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, cast

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from local_rag.core import cancel
from local_rag.core.answer import Answer
from local_rag.core.documents import Narrowing
from local_rag.core.events import Done, Event, Note, Started, Token, WebQuery
from local_rag.index.path_labels import PathLabel
from local_rag.runtime.trace_lines import trace_line, usage_line
from local_rag.terminal.console import TerminalDisplay, says_yes
from local_rag.text.display import joined, short_path
from local_rag.text.markup import closed, unmarked

if TYPE_CHECKING:
    from local_rag.config.values import Values
    from local_rag.runtime.rag import Rag

DRAFT = 1200
"""The maximum characters of a draft to show, taken from its end."""
POLL = 0.1
"""Seconds between two checks whether a question that waits for consent was stopped."""


@dataclass
class QuestionRunner:
    """Answer the questions of a command, with the same files, display and trace for all of them.

    `announce`: show which engine answers, once the question itself is known to be valid.
    """

    rag: Rag
    display: TerminalDisplay
    within: Narrowing | Sequence[str] = ()
    trace: bool = False
    announce: bool = False

    @cached_property
    def label(self) -> PathLabel:
        """Return the function that names the files of the index."""
        return self.rag.corpus.path_labels(Path.cwd())

    def answer(self, question: str, *, graph: str | None = None, thread: str | None = None) -> Answer:
        """Answer a question and show the work on it; any exception, including Ctrl-C, stops the question."""
        asks = self.rag.settings.values.web.enabled == "ask"
        shown = QuestionDisplay(self.display.console, trace=self.trace, label=self.label, ask=asks)
        stream = self.rag.stream(question, graph=graph, within=self.within, thread=thread, may_search=shown.may_search)
        if self.announce:
            self.say_conditions()
        with closing(cast("Generator[Event, None, None]", stream)) as events:
            return shown.follow(events)

    def say_conditions(self) -> None:
        for line in condition_lines(self.rag):
            self.display.say(line)


def condition_lines(rag: Rag) -> list[str]:
    """Return notes on the engine, calibrated thresholds, the index, and options without effect."""
    idle = idle_lines(rag.settings.values, writes=rag.engine.writes)
    return [*rag.choice.lines, *_calibrated(rag), *_fallback_corpus(rag), *rag.corpus.waiting_notes(), *idle]


def _fallback_corpus(rag: Rag) -> list[str]:
    """Return notes on what is searched in place of the web, and that the web is not searched then."""
    source = rag.fallback_corpus_of(rag.settings.values.graph)
    if source is None:
        return []
    line = f"  in place of the web: {short_path(source.fallback_corpus)} (nothing leaves this machine)"
    if rag.settings.values.web.enabled == "off":
        return [line]
    return [line, '  the web, which is on, is not searched; to search it: local-rag ask … --web-from ""']


def _calibrated(rag: Rag) -> list[str]:
    own = rag.settings.values.thresholds
    thresholds = [
        f"{name} {value:.2f}"
        for name, value, by_hand in (
            ("relevance", rag.thresholds.relevance, own.relevance),
            ("answer", rag.thresholds.answer, own.answer),
        )
        if value is not None and by_hand is None
    ]
    if thresholds:
        return [f"  calibrated thresholds in force: {joined(thresholds)}"]
    void = rag.void_calibration
    return [f"note: {void.line}"] if void else []


def idle_lines(values: Values, *, writes: bool) -> list[str]:
    """Return a note for each option that was set and has no effect with this graph and engine."""
    retrieve = values.self_rag.retrieve if values.graph == "self-rag" else "always"
    notes = []
    if not writes:
        if values.explain:
            notes.append("explain changes nothing: the extractive engine says why anyway, see --trace")
        if values.direct:
            notes.append("direct changes nothing: the extractive engine answers from files only")
    elif values.direct and values.graph != "adaptive" and retrieve == "always":
        notes.append(
            f"direct changes nothing with {values.graph}: it needs adaptive, or self-rag with self_rag.retrieve: "
            "decide or each"
        )
    if retrieve == "decide" and not values.direct:
        notes.append("self_rag.retrieve: decide changes nothing without direct: true (--direct)")
    if values.web.source and values.graph in ("plain", "self-rag"):
        notes.append(f"web.source (--web-from) changes nothing with {values.graph}: it needs crag or adaptive")
    return [f"note: {note}" for note in notes]


class QuestionDisplay:
    """Show stages and the draft on stderr: a live region in a terminal, a line per stage elsewhere.

    With `ask`, a person decides for each web query whether it may leave.
    """

    def __init__(
        self, console: Console, *, trace: bool = False, label: PathLabel = short_path, ask: bool = False
    ) -> None:
        self.console = console
        self.trace = trace
        self.label = label
        self.ask = ask
        self._allowed: queue.SimpleQueue[bool] = queue.SimpleQueue()
        self.draft = ""
        self._attempt = (0, 0)
        self._spinner = Spinner("dots", style="cyan")
        drawn = console.is_terminal and not console.is_dumb_terminal
        self._live = (
            Live(console=console, transient=True, refresh_per_second=12, get_renderable=self._region) if drawn else None
        )

    def follow(self, events: Iterable[Event]) -> Answer:
        """Show events until `Done`, and return its answer."""
        with self._live or nullcontext():
            for event in events:
                if isinstance(event, Done):
                    if self.trace:
                        self._say(usage_line(event.answer))
                    return event.answer
                self.show(event)
        raise AssertionError("a stream ends with Done")

    def may_search(self, query: WebQuery) -> bool:
        """Return whether a query may leave, once `show` has handled the event of this query.

        The search waits here on a thread of its own. The person is asked on the main thread, because only there can
        Ctrl-C end the wait for a line.
        """
        while True:
            with suppress(queue.Empty):
                return self._allowed.get(timeout=POLL)
            cancel.check()

    def _ask_for(self, query: WebQuery) -> bool:
        """Show the words that are about to leave, and return whether they may.

        If a person is asked, only yes allows it.
        """
        line = f"asking {query.engine}: {query.query}"
        if not self.ask:
            self._say(line)
            return True
        if not (self.console.is_terminal and sys.stdin.isatty()):
            self._say(f"not {line} (there is no terminal to ask for your consent; --web allows it)")
            return False
        if self._live:
            self._live.stop()
        allowed = says_yes(f"{line}\n  may these words leave?", self.console)
        if self._live:
            self._live.start()
        return allowed

    def show(self, event: Event) -> None:
        """Show one event that is not the last."""
        if isinstance(event, Started) and event.doing:
            self._spinner.update(text=Text(f"{event.doing}…", "dim"))
            if not self._live:
                self._say(f"{event.doing}…")
        elif isinstance(event, Token):
            attempt = (event.attempt, event.candidate)
            if attempt != self._attempt or event.restart:
                self._attempt, self.draft = attempt, ""
            self.draft += event.text
        elif isinstance(event, WebQuery):
            self._allowed.put(self._ask_for(event))
        elif isinstance(event, Note):
            self._say(f"note: {event.text}")
        if self.trace and (line := trace_line(event, self.label)):
            self._say(line)

    def _say(self, line: str) -> None:
        self.console.print(Text(line, "dim"))

    def _region(self) -> RenderableType:
        return Group(self._spinner, Text(unmarked(closed(self.draft))[-DRAFT:], "dim")) if self.draft else self._spinner
