"""The questions of a command: under which conditions they are answered, how each is shown and written down."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, cast

from local_rag.core.answer import Answer
from local_rag.core.documents import Narrowing
from local_rag.index.path_labels import PathLabel
from local_rag.terminal.progress import TerminalDisplay
from local_rag.terminal.question_display import QuestionDisplay
from local_rag.text.display import joined, short_path

if TYPE_CHECKING:
    from local_rag.config.values import Values
    from local_rag.core.events import Event
    from local_rag.runtime.rag import Rag


@dataclass
class QuestionRunner:
    """What the questions of a command have in common: the files that are asked, what is shown and written down.

    `announce`: say which engine answers, once nothing is wrong with the question itself.
    """

    rag: Rag
    display: TerminalDisplay
    within: Narrowing | Sequence[str] = ()
    trace: bool = False
    announce: bool = False
    _noted: set[str] = field(default_factory=set)

    @cached_property
    def label(self) -> PathLabel:
        """How the files of the index are named."""
        return self.rag.index.path_labels()

    def answer(self, question: str, *, graph: str | None = None, thread: str | None = None) -> Answer:
        """The answer, once everything that leads to it was shown. An exception, Ctrl-C too, stops the question."""
        asks = self.rag.settings.values.web.enabled == "ask"
        shown = QuestionDisplay(self.display.console, trace=self.trace, label=self.label, ask=asks)
        stream = self.rag.stream(question, graph=graph, within=self.within, thread=thread, may_search=shown.may_search)
        if self.announce:
            self.say_conditions()
        with closing(cast("Generator[Event, None, None]", stream)) as events:
            return shown.follow(events)

    def chosen_files(self, narrowing: Narrowing) -> int | None:
        """How many files a narrowing leaves; None for a corpus that lists none. Raises UsageError if none is left."""
        files = getattr(self.rag.index, "files", None)
        return len(files(narrowing)) if files else None

    def say_conditions(self) -> None:
        for line in condition_lines(self.rag):
            self.display.say(line)


def condition_lines(rag: Rag) -> list[str]:
    """The engine, for `auto` with the reason, calibrated thresholds, notes on the index, and idle options."""
    notes: list[str] = getattr(rag.index, "waiting_notes", list)()
    idle = idle_lines(rag.settings.values, rag.engine.name)
    return [*rag.choice.lines, *_calibrated(rag), *_fallback_corpus(rag), *notes, *idle]


def _fallback_corpus(rag: Rag) -> list[str]:
    """What is searched in place of the web, and that a web which is on is not searched then."""
    source = rag.fallback_corpus_of(rag.settings.values.graph)
    if source is None:
        return []
    line = f"  in place of the web: {short_path(source.fallback_corpus)} (nothing leaves this machine)"
    if rag.settings.values.web.enabled == "off":
        return [line]
    return [line, '  the web, which is on, is not searched; to search it: --web-from ""']


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


def idle_lines(values: Values, engine: str) -> list[str]:
    """A note for each option that was set and changes nothing with this engine and graph."""
    retrieve = values.self_rag.retrieve if values.graph == "self-rag" else "always"
    notes = []
    if engine == "extractive":
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
    if values.strict and values.graph == "plain":
        notes.append("strict changes nothing with plain, which checks no sentence")
    return [f"note: {note}" for note in notes]
