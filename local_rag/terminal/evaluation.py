"""The figures of an evaluation, and the comparison of two."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import RenderableType
from rich.text import Text

from local_rag.evaluation.compare import HEAD, HOW, Comparison, cells
from local_rag.evaluation.report import failures, missing, tables, warnings
from local_rag.terminal.console import NumberTable, indented
from local_rag.text.display import joined, short_path, shorten

if TYPE_CHECKING:
    from local_rag.evaluation.cases import Case

FAILURES = 3
"""Failures that are named; the others stand in report.html."""

MOST_DIFFERENCES = 12
"""Differences in how two runs were made that are shown; the others are only counted."""


def evaluation_parts(
    manifest: Mapping[str, Any], summary: Mapping[str, Any], cases: Sequence[Case]
) -> Iterator[RenderableType]:
    """What is to be known of the run and its cases, every table with what it is over, and the failures."""
    for note in warnings(manifest, cases):
        yield Text(note, "yellow")
    for table in tables(summary):
        yield Text(table.title, "bold")
        yield NumberTable(table.head, table.rows)
        yield indented(table.over)
        yield ""
    yield from missing(manifest, summary)
    yield from failures(summary, FAILURES)


def comparison_parts(comparison: Comparison) -> Iterator[RenderableType]:
    """What was compared, what was made differently, each pair of graphs or modes, and how it was tested."""
    yield f"A  {short_path(comparison.a)}"
    yield f"B  {short_path(comparison.b)}"
    yield ""
    yield from comparison.notes
    if comparison.made:
        yield "Made differently:"
    for name, (a, b) in list(comparison.made.items())[:MOST_DIFFERENCES]:
        yield indented(f"{name}: {_value(a)} in A, {_value(b)} in B")
    if len(comparison.made) > MOST_DIFFERENCES:
        yield indented(f"and {len(comparison.made) - MOST_DIFFERENCES:,} more, see --json")
    for pairing in comparison.paired:
        yield ""
        yield pairing.title
        differ = [figure for figure in pairing.figures if figure.p is not None]
        if differ:
            yield NumberTable(HEAD, [cells(figure) for figure in differ])
        if same := [figure.title for figure in pairing.figures if figure.p is None]:
            yield indented(f"the same in every case: {joined(same)}")
    yield ""
    yield HOW


def _value(value: object) -> str:
    return "none" if value in (None, "") else shorten(str(value), 40)
