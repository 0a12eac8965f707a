"""The figures of an evaluation as tables that fit a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

from local_rag.evaluation.reports.facts import failure_head, failure_lines
from local_rag.evaluation.reports.notes import missing, origin
from local_rag.evaluation.reports.tables import Table, tables
from local_rag.terminal.show import columns_of, wrapped, write, write_json
from local_rag.text.display import short_path

if TYPE_CHECKING:
    from local_rag.evaluation.cases import Case
    from local_rag.evaluation.evaluate import Evaluation

FAILURES = 3
"""Failures that are named; the others stand in report.md."""


def print_evaluation(evaluation: Evaluation, *, as_json: bool) -> None:
    """The figures of a run on stdout, and where its reports lie."""
    folder, summary = evaluation.folder, evaluation.summary
    if as_json:
        write_json({"folder": folder.path, "run": folder.manifest, "summary": summary})
        return
    for line in evaluation_lines(folder.manifest, summary, columns_of(sys.stdout), folder.cases):
        write(line)
    write()
    write(f"everything, case by case: {short_path(folder.path / 'report.html')}")


def evaluation_lines(
    manifest: Mapping[str, Any], summary: Mapping[str, Any], width: int | None = None, cases: Sequence[Case] = ()
) -> Iterator[str]:
    """Every table with what it is over, what is to be known of the cases, and the failures, an empty line between them.

    At most `width` columns; None is no limit.
    """
    parts = (part for part in _parts(manifest, summary, width, cases) if part)
    first = next(parts, [])
    yield from first
    yield from chain.from_iterable(["", *part] for part in parts)


def _parts(
    manifest: Mapping[str, Any], summary: Mapping[str, Any], width: int | None, cases: Sequence[Case]
) -> Iterator[list[str]]:
    if not manifest.get("finished"):
        yield wrapped("The run is not finished: the same command goes on where it stopped.", width)
    if told := origin(cases):
        yield wrapped(told, width)
    for table in tables(summary):
        over = wrapped(f"  {table.over}", width, "  ")
        yield [table.title, *_table_lines(table.narrowed(), width), *over]
    yield [line for told in missing(manifest, summary) for line in wrapped(told, width, "  ")]
    if head := failure_head(summary, FAILURES):
        named = (wrapped(f"  {line}", width, "    ") for line in failure_lines(summary, FAILURES))
        yield [*wrapped(head, width), *chain.from_iterable(named)]


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
