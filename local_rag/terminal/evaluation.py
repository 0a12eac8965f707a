"""The figures of an evaluation, and the comparison of two."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import RenderableType
from rich.text import Text

from local_rag.evaluation.comparison import Comparison, ManifestDifference, Pairing
from local_rag.evaluation.difference import HEAD, SURE, Difference, cells
from local_rag.evaluation.reports.facts import failure_head, failure_lines, missing, warnings
from local_rag.evaluation.reports.tables import tables
from local_rag.terminal.console import NumberTable, indented
from local_rag.text.display import joined, plural, short_path, shorten

if TYPE_CHECKING:
    from local_rag.evaluation.cases import Case

FAILURES = 3
"""Failures that are named; the others stand in report.md."""

MOST_DIFFERENCES = 12
"""Differences in how two runs were made that are shown; the others are only counted."""


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
    for note in warnings(manifest, cases):
        yield [Text(note, "yellow")]
    for table in tables(summary):
        narrow = table.narrowed()
        yield [Text(table.title, "bold"), NumberTable(narrow.head, narrow.rows), indented(table.over)]
    yield list(missing(manifest, summary))
    if head := failure_head(summary, FAILURES):
        yield [head, *map(indented, failure_lines(summary, FAILURES))]


# --- two runs -------------------------------------------------------------------------------------------------------


def comparison_parts(comparison: Comparison) -> Iterator[RenderableType]:
    """What was compared, what was made differently, each pair of graphs or modes, and how it was tested."""
    yield f"A  {short_path(comparison.a)}"
    yield f"B  {short_path(comparison.b)}"
    yield ""
    yield comparison.over
    for line in comparison.notes:
        yield Text(line, "yellow")
    yield from _manifest_parts(comparison.made)
    for pairing in comparison.paired:
        yield ""
        yield from _pairing_parts(pairing)
    tested = sum(figure.p is not None for pairing in comparison.paired for figure in pairing.figures)
    figures_in_tables = f"{plural(tested, 'figure')} in {plural(len(comparison.paired), 'table')}"
    yield ""
    yield (
        f"Put to a test: {figures_in_tables}, by exact McNemar where a case is right or wrong, else "
        f"by randomisation. A difference is called one where p is below {SURE:g} after correction for the number of "
        "figures tested in its table (Holm). Intervals: bootstrap, 95 %."
    )


def _manifest_parts(differences: Sequence[ManifestDifference]) -> Iterator[RenderableType]:
    if differences:
        yield ""
        yield "Made differently:"
    for entry in differences[:MOST_DIFFERENCES]:
        yield indented(f"{entry.name}: {_value(entry.a)} in A, {_value(entry.b)} in B")
    if len(differences) > MOST_DIFFERENCES:
        yield f"  and {len(differences) - MOST_DIFFERENCES:,} more, see --json"


def _value(value: object) -> str:
    return "none" if value in (None, "") else shorten(str(value), 40)


def _pairing_parts(pairing: Pairing) -> Iterator[RenderableType]:
    yield f"{pairing.title}{pairing.lost and f' (left out: {pairing.lost})'}"
    yield NumberTable(HEAD, [cells(figure) for figure in pairing.figures])
    yield ""
    yield from _verdict_parts(pairing.figures)


def _verdict_parts(figures: Sequence[Difference]) -> Iterator[RenderableType]:
    """A line for what was told apart and for what can be counted; the others are named together."""
    alike: dict[str, list[str]] = {}
    for figure in figures:
        if figure.p is None:
            alike.setdefault("the same in every case", []).append(figure.title)
        elif figure.p >= SURE and figure.only_a is None:
            alike.setdefault("no difference can be told", []).append(figure.title)
        else:
            yield indented(f"{figure.title}: {figure.verdict}")
    for verdict, titles in alike.items():
        yield indented(f"{verdict}: {joined(titles)}")
