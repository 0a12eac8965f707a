"""A question as it is worked on: stages and the live draft on stderr, and what --trace shows."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from local_rag.core.answer import Answer
from local_rag.core.events import Done, Event, Note, Started, Token, WebQuery
from local_rag.runtime.trace_lines import trace_line
from local_rag.text.display import joined, plural, printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.live import Live as Region

    from local_rag.config.settings import Values
    from local_rag.runtime.rag import Rag

_KINDS = {
    "rewrites": ("rewrite",),
    "generations": ("generation",),
    "web_searches": ("web search", "web searches"),
    "steps": ("step of reasoning", "steps of reasoning"),
}
_YES = {"y", "yes"}
_LOADS, _RETRIES, _UNPARSED = ("model load",), ("retry", "retries"), ("unusable verdict",)


class Live:
    """Stages and the live draft on stderr: one line that is wiped in a terminal, a line per stage elsewhere."""

    def __init__(self, console: Console, *, trace: bool = False) -> None:
        self.console = console
        self.trace = trace
        self._drawn = console.is_terminal and not console.is_dumb_terminal
        self._draft = ""
        self._attempt = (0, 0)
        self._doing = ""
        self._region_shown: Region | None = None

    def follow(self, events: Iterable[Event]) -> Answer:
        """Show events until `Done`, and return its answer."""
        from rich.live import Live as Region

        if not self._drawn:
            return self._drain(events)
        region = Region(console=self.console, transient=True, refresh_per_second=12, get_renderable=self._region)
        self._region_shown = region
        with region:
            return self._drain(events)

    def may_search(self, query: WebQuery, *, ask: bool = False) -> bool:
        """Show the words that are about to leave, before they do; with `ask`, only a yes lets them."""
        line = f"asking {query.engine}: {printable(query.query)}"
        if not ask:
            self._line(line)
            return True
        if not (self.console.is_terminal and sys.stdin.isatty()):
            self._line(f"not {line} (there is no terminal to ask for your consent; --web allows it)")
            return False
        if self._region_shown:
            self._region_shown.stop()
        try:
            return (
                self.console.input(f"{line}\n  may these words leave? [y/N] ", markup=False, emoji=False)
                .strip()
                .lower()
                in _YES
            )
        except EOFError:
            return False
        finally:
            if self._region_shown:
                self._region_shown.start()

    def _drain(self, events: Iterable[Event]) -> Answer:
        for event in events:
            if isinstance(event, Done):
                if self.trace:
                    self._line(usage_line(event.answer))
                return event.answer
            self._show(event)
        raise AssertionError("a stream ends with Done")

    def _show(self, event: Event) -> None:
        if isinstance(event, Started):
            self._doing = event.doing
            if not self._drawn:
                self._line(f"{event.doing}…")
        elif isinstance(event, Token):
            attempt = (event.attempt, event.candidate)
            if attempt != self._attempt or event.restart:
                self._attempt, self._draft = attempt, ""
            self._draft += printable(event.text)
        elif isinstance(event, Note):
            self._line(f"note: {printable(event.text)}")
        if self.trace and (line := trace_line(event)):
            self._line(line)

    def _line(self, line: str) -> None:
        self.console.print(line, markup=False, emoji=False, highlight=False, soft_wrap=True)

    def _region(self) -> Any:
        from rich.console import Group
        from rich.spinner import Spinner
        from rich.text import Text

        if not hasattr(self, "_spinner"):
            self._spinner = Spinner("dots", style="cyan")
        self._spinner.update(text=Text(f"{self._doing}…" if self._doing else "…", style="dim"))
        return Group(self._spinner, Text(self._draft[-1200:], style="dim")) if self._draft else self._spinner


def usage_line(answer: Answer) -> str:
    """The last line of --trace."""
    usage = answer.usage
    parts = [f"{answer.graph}: {' -> '.join(answer.path)}", f"{answer.seconds:.2f} s"]
    if usage.calls:
        parts.append(f"{plural(usage.calls, 'call')}, {usage.prompt_tokens:,} + {usage.output_tokens:,} tokens")
    parts += [
        plural(count, *words)
        for count, words in ((usage.loads, _LOADS), (usage.retries, _RETRIES), (usage.unparsed, _UNPARSED))
        if count
    ]
    if answer.tries:
        parts.append(joined(plural(count, *_KINDS[kind]) for kind, count in answer.tries.items()))
    return "; ".join(parts)


def say_engine(console: Console, rag: Rag) -> None:
    """Which engine answers, and for `auto` why, before the question is worked on."""
    for line in rag.choice.lines:
        console.print(printable(line), style="dim", markup=False, highlight=False, soft_wrap=True)


def say_terms(console: Console, rag: Rag) -> None:
    """The engine, calibrated thresholds that are in force, and options that change nothing here."""
    say_engine(console, rag)
    for line in (*_calibrated(rag), *idle_lines(rag.settings.values, rag.engine.name)):
        console.print(line, style="dim", markup=False, highlight=False, soft_wrap=True)


def _calibrated(rag: Rag) -> list[str]:
    own = rag.settings.values.thresholds
    found = [
        f"{name} {value:.2f}"
        for name, value, by_hand in (
            ("relevance", rag.thresholds.relevance, own.relevance),
            ("answer", rag.thresholds.answer, own.answer),
        )
        if value is not None and by_hand is None
    ]
    return [f"  calibrated thresholds in force: {joined(found)}"] if found else []


def idle_lines(values: Values, engine: str) -> list[str]:
    """A note for each option that was set and changes nothing with this engine and graph."""
    decides = values.graph == "self-rag" and values.self_rag.retrieve == "decide"
    found = []
    if engine == "extractive":
        if values.explain:
            found.append("explain changes nothing: the extractive engine says why anyway, see --trace")
        if values.direct:
            found.append("direct changes nothing: the extractive engine answers from files only")
    elif values.direct and values.graph != "adaptive" and not decides:
        found.append(
            f"direct changes nothing with {values.graph}: it needs adaptive, or self-rag with self_rag.retrieve: decide"
        )
    if decides and not values.direct:
        found.append("self_rag.retrieve: decide changes nothing without direct: true (--direct)")
    if values.strict and values.graph == "plain":
        found.append("strict changes nothing with plain, which checks no sentence")
    return [f"note: {line}" for line in found]
