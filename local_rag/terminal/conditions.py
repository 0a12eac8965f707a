"""Under which conditions questions are answered: the engine, thresholds, and options that have no effect."""

from __future__ import annotations

from typing import TYPE_CHECKING

from local_rag.text.display import joined

if TYPE_CHECKING:
    from local_rag.config.settings import Values
    from local_rag.runtime.rag import Rag


def condition_lines(rag: Rag) -> list[str]:
    """The engine, for `auto` with the reason, calibrated thresholds in force, and options that change nothing here."""
    return [*rag.choice.lines, *_calibrated(rag), *idle_lines(rag.settings.values, rag.engine.name)]


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
    return [f"  calibrated thresholds in force: {joined(thresholds)}"] if thresholds else []


def idle_lines(values: Values, engine: str) -> list[str]:
    """A note for each option that was set and changes nothing with this engine and graph."""
    decides = values.graph == "self-rag" and values.self_rag.retrieve == "decide"
    notes = []
    if engine == "extractive":
        if values.explain:
            notes.append("explain changes nothing: the extractive engine says why anyway, see --trace")
        if values.direct:
            notes.append("direct changes nothing: the extractive engine answers from files only")
    elif values.direct and values.graph != "adaptive" and not decides:
        notes.append(
            f"direct changes nothing with {values.graph}: it needs adaptive, or self-rag with self_rag.retrieve: decide"
        )
    if decides and not values.direct:
        notes.append("self_rag.retrieve: decide changes nothing without direct: true (--direct)")
    if values.strict and values.graph == "plain":
        notes.append("strict changes nothing with plain, which checks no sentence")
    return [f"note: {note}" for note in notes]
