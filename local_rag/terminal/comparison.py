"""A comparison of two runs as lines and tables of a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

from local_rag.evaluation.comparison import Comparison, ManifestDifference, Pairing
from local_rag.evaluation.difference import SURE, Difference, amount, p_text
from local_rag.evaluation.measures import MEASURES
from local_rag.terminal.show import columns_of, fitting_lines, table_lines, wrapped, write, write_json
from local_rag.text.display import joined, plural, printable, short_path, shorten

MOST_DIFFERENCES = 12
"""Differences in how two runs were made that are shown; the others are only counted."""

TITLES = {"graphs": "Answers, ", "retrieval": "Retrieval, ", "router": "The "}
HEAD = ("", "cases", "A", "B", "B - A", "95 % interval", "corrected p")
LEAST_COLUMNS = 5
"""Of HEAD, before each figure gets a paragraph of its own."""


def print_comparison(comparison: Comparison, *, as_json: bool) -> None:
    """The comparison on stdout."""
    if as_json:
        write_json(comparison)
        return
    for line in comparison_lines(comparison, columns_of(sys.stdout)):
        write(line)


def comparison_lines(comparison: Comparison, width: int | None = None) -> Iterator[str]:
    """A comparison for a terminal of so many columns; None is no limit."""
    yield f"A  {short_path(comparison.a)}"
    yield f"B  {short_path(comparison.b)}"
    yield ""
    yield from wrapped(_common(comparison), width)
    yield from _manifest_lines(comparison.made, width)
    if comparison.alone:
        yield ""
        yield from wrapped(f"Not compared: {printable(joined(comparison.alone))}.", width)
    for pairing in comparison.paired:
        yield ""
        yield from _pairing_lines(pairing, width)
    tested = sum(figure.p is not None for pairing in comparison.paired for figure in pairing.figures)
    tables = plural(len(comparison.paired), "table")
    yield ""
    yield from wrapped(
        f"Put to a test: {plural(tested, 'figure')} in {tables}, by exact McNemar where a case is right or wrong, else "
        f"by randomisation. A difference is called one where p is below {SURE:g} after correction for the number of "
        "figures tested in its table (Holm). Intervals: bootstrap, 95 %.",
        width,
    )


def _common(comparison: Comparison) -> str:
    parts = [f"{plural(comparison.cases, 'case')} in common"]
    for name, count in (("A", comparison.only_a), ("B", comparison.only_b)):
        if count:
            parts.append(f"{count:,} only in {name} left out")
    if comparison.relabelled:
        parts.append(f"{comparison.relabelled:,} with other labels in A than in B, each measured by its own")
    return "; ".join(parts) + "."


def _manifest_lines(differences: Sequence[ManifestDifference], width: int | None) -> Iterator[str]:
    if differences:
        yield ""
        yield "Made differently:"
    for entry in differences[:MOST_DIFFERENCES]:
        yield from wrapped(f"  {printable(entry.name)}: {_value(entry.a)} in A, {_value(entry.b)} in B", width, "    ")
    if len(differences) > MOST_DIFFERENCES:
        yield f"  and {len(differences) - MOST_DIFFERENCES:,} more, see --json"


def _value(value: object) -> str:
    return "none" if value in (None, "") else printable(shorten(str(value), 40))


def _pairing_lines(pairing: Pairing, width: int | None) -> Iterator[str]:
    yield from wrapped(f"{TITLES[pairing.what]}{printable(pairing.title)}{_lost(pairing)}", width)
    yield from _table_lines(pairing.figures, width)
    yield ""
    yield from _verdict_lines(pairing.figures, width)


def _lost(pairing: Pairing) -> str:
    parts = [
        f"{plural(count, 'case')} failed or {'was' if count == 1 else 'were'} not asked in {name}"
        for name, count in (("A", pairing.lost_a), ("B", pairing.lost_b))
        if count
    ]
    return f" (left out: {joined(parts)})" if parts else ""


def _table_lines(figures: Sequence[Difference], width: int | None) -> Iterator[str]:
    """As many columns as there is room for."""
    records = [_cells(figure) for figure in figures]
    for columns in range(len(HEAD), LEAST_COLUMNS - 1, -1):
        table = list(table_lines(HEAD[:columns], [record[:columns] for record in records]))
        if width is None or max(map(len, table)) <= width:
            yield from table
            return
    yield from fitting_lines(HEAD, records, width)


def _cells(figure: Difference) -> tuple[str, ...]:
    measure = MEASURES[figure.measure]
    limits = [amount(measure, limit, "+") for limit in (figure.low, figure.high) if limit is not None]
    return (
        figure.title,
        f"{figure.cases:,}",
        amount(measure, figure.mean_a),
        amount(measure, figure.mean_b),
        amount(measure, figure.difference, "+") if figure.differ else "same",
        " to ".join(limits) if figure.differ and limits else "-",
        "-" if figure.adjusted is None else p_text(figure.adjusted).removeprefix("p ").removeprefix("= "),
    )


def _verdict_lines(figures: Sequence[Difference], width: int | None) -> Iterator[str]:
    """A line for what was told apart and for what can be counted; the others are named together."""
    alike: dict[str, list[str]] = {}
    for figure in figures:
        if figure.p is None:
            alike.setdefault("the same in every case", []).append(figure.title)
        elif figure.p >= SURE and figure.only_a is None:
            alike.setdefault("no difference can be told", []).append(figure.title)
        else:
            yield from wrapped(f"  {figure.title}: {figure.verdict}", width, "    ")
    for verdict, titles in alike.items():
        yield from wrapped(f"  {verdict}: {joined(titles)}", width, "    ")
