"""The figures of a run as tables that fit a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from local_rag.evaluation.reports.facts import failure_head, failure_lines
from local_rag.evaluation.reports.tables import Table, tables
from local_rag.show import wrapped

FAILURES = 3
"""Failures that are named; the others stand in report.md."""


def lines(record: Mapping[str, Any], summary: Mapping[str, Any], width: int | None = None) -> Iterator[str]:
    """Every table with what it is over, and the failures; at most `width` columns, None is no limit."""
    if not record.get("finished"):
        yield from wrapped("The run is not finished: the same command goes on where it stopped.", width)
        yield ""
    for table in tables(summary):
        yield table.title
        yield from _table_lines(table.narrowed(), width)
        yield from wrapped(f"  {table.over}", width, "  ")
        yield ""
    if head := failure_head(summary, FAILURES):
        yield from wrapped(head, width)
        for line in failure_lines(summary, FAILURES):
            yield from wrapped(f"  {line}", width, "    ")


def _table_lines(table: Table, width: int | None) -> Iterator[str]:
    """Names to the left, numbers to the right; columns that find no room go on below, with the names again."""
    columns = list(zip(table.head, *table.rows, strict=True))
    widths = [max(map(len, column)) for column in columns]
    start = 1
    while start < len(columns):
        end, taken = start + 1, widths[0] + 2 + 2 + widths[start]
        while end < len(columns) and (width is None or taken + 2 + widths[end] <= width):
            taken += 2 + widths[end]
            end += 1
        for number in range(len(table.rows) + 1):
            cells = (f"{columns[place][number]:>{widths[place]}}" for place in range(start, end))
            yield "  ".join((f"  {columns[0][number]:<{widths[0]}}", *cells)).rstrip()
        start = end
