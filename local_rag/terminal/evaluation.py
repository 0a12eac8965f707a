"""The figures of an evaluation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import RenderableType
from rich.text import Text

from local_rag.evaluation.reports.facts import failure_head, failure_lines
from local_rag.evaluation.reports.notes import missing, origin
from local_rag.evaluation.reports.tables import tables
from local_rag.terminal.console import NumberTable, indented

if TYPE_CHECKING:
    from local_rag.evaluation.cases import Case

FAILURES = 3
"""Failures that are named; the others stand in report.md."""


def evaluation_parts(
    manifest: Mapping[str, Any], summary: Mapping[str, Any], cases: Sequence[Case] = ()
) -> Iterator[RenderableType]:
    """Every table with what it is over, what is to be known of the cases, and the failures, an empty line between."""
    groups = (group for group in _groups(manifest, summary, cases) if group)
    for number, group in enumerate(groups):
        yield from ("",) if number else ()
        yield from group


def _groups(
    manifest: Mapping[str, Any], summary: Mapping[str, Any], cases: Sequence[Case]
) -> Iterator[list[RenderableType]]:
    if not manifest.get("finished"):
        yield [Text("The run is not finished: the same command continues where it stopped.", "yellow")]
    if note := origin(cases):
        yield [Text(note, "yellow")]
    for table in tables(summary):
        narrow = table.narrowed()
        yield [Text(table.title, "bold"), NumberTable(narrow.head, narrow.rows), indented(table.over)]
    yield list(missing(manifest, summary))
    if head := failure_head(summary, FAILURES):
        yield [head, *map(indented, failure_lines(summary, FAILURES))]
