"""Verdicts as a terminal shows them: each with its score, the passage it is about, and the reason."""

from __future__ import annotations

from collections.abc import Iterable

from rich.text import Text

from local_rag.core.verdicts import Graded
from local_rag.index.path_labels import PathLabel
from local_rag.terminal.console import PlainTable
from local_rag.text.display import short_path, shorten

LONGEST = 300
"""Characters of a verdict, such as a rewritten query, and of its reason."""

COLOURS = {
    "relevant": "green",
    "fully": "green",
    "partially": "yellow",
    "unparsed": "yellow",
    "no": "red",
    "irrelevant": "red",
}


def verdicts_table(decisions: Iterable[Graded], label: PathLabel = short_path) -> PlainTable:
    """A row for each: its kind; label, score, passage and reason."""
    table = PlainTable()
    for graded in decisions:
        table.add_row(Text(graded.kind, "dim"), verdict_text(graded, label))
    return table


def verdict_text(graded: Graded, label: PathLabel = short_path, where: str = "") -> Text:
    """Label, score, passage and reason: relevant 0.83 notes/plan.pdf, p. 4 (it names the price)."""
    text = Text(shorten(graded.verdict, LONGEST), COLOURS.get(graded.verdict, ""))
    if graded.kind == "usefulness" and graded.verdict.isdigit():
        text.append(" of 5")
    if graded.score is not None:
        text.append(f" {graded.score:.2f}")
    if graded.source:
        text.append(f"  {label(graded.source)}{where}")
    if graded.why:
        text.append(f" ({shorten(graded.why, LONGEST)})", "dim")
    return text
