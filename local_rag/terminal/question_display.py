"""A question while it is worked on: its stages, the live draft, and the words that are about to leave."""

from __future__ import annotations

import queue
import sys
from collections.abc import Iterable
from contextlib import nullcontext, suppress

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from local_rag.core import cancel
from local_rag.core.answer import Answer
from local_rag.core.events import Done, Event, Note, Started, Token, WebQuery
from local_rag.index.path_labels import PathLabel
from local_rag.runtime.trace_lines import trace_line, usage_line
from local_rag.text.display import short_path

DRAFT = 1200
"""Characters of a draft that are shown, its last ones."""

POLL = 0.1
"""Seconds between two looks whether a question that waits for a consent was stopped."""


class QuestionDisplay:
    """Stages and the live draft on stderr: a region that is wiped in a terminal, a line per stage elsewhere.

    With `ask` a person says of each web query whether it may leave.
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
        """Whether these words may leave: what `show` has found out about them, which is the event before.

        The search waits here on a thread of its own; a person is asked where the events are shown, because Ctrl-C ends
        a wait for a line on the main thread alone.
        """
        while True:
            with suppress(queue.Empty):
                return self._allowed.get(timeout=POLL)
            cancel.check()

    def _ask_for(self, query: WebQuery) -> bool:
        """Show the words that are about to leave, before they do; where a person is asked only a yes lets them."""
        line = f"asking {query.engine}: {query.query}"
        if not self.ask:
            self._say(line)
            return True
        if not (self.console.is_terminal and sys.stdin.isatty()):
            self._say(f"not {line} (there is no terminal to ask for your consent; --web allows it)")
            return False
        if self._live:
            self._live.stop()
        try:
            reply = self.console.input(f"{line}\n  may these words leave? [y/N] ", markup=False, emoji=False)
        except EOFError:
            reply = ""
        if self._live:
            self._live.start()
        return reply.strip().lower() in ("y", "yes")

    def show(self, event: Event) -> None:
        """Show one event that is not the last."""
        if isinstance(event, Started):
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
        return Group(self._spinner, Text(self.draft[-DRAFT:], "dim")) if self.draft else self._spinner
