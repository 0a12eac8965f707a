"""report.md: the tables of a run, how it was made, what the figures mean, and where it is bad."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from local_rag.evaluation.reports.facts import facts, failure_head, failure_lines, missing, settings_of, warnings
from local_rag.evaluation.reports.formatting import WIDTH, one_line
from local_rag.evaluation.reports.outcomes import OUTCOMES, TITLES, unblamed, worst
from local_rag.evaluation.reports.tables import Table, tables
from local_rag.text.display import joined, plural

if TYPE_CHECKING:
    from local_rag.evaluation.cases import Case

FAILURES, WORST = 20, 10
"""Failures, and cases per kind of mistake, that are named."""


def report(
    manifest: Mapping[str, Any], cases: Sequence[Case], records: Sequence[Mapping[str, Any]], summary: Mapping[str, Any]
) -> str:
    """The whole report.md. What was read from files is one line each, with Markdown's own signs escaped."""
    parts = (
        _head(manifest, cases),
        *(_table_part(table) for table in tables(summary)),
        _missing(manifest, summary),
        _failures(summary),
        _bad(cases, records),
        _meanings(list(tables(summary))),
        _made(manifest),
    )
    return "\n\n".join(paragraph for part in parts for paragraph in part) + "\n"


def escaped(text: object, width: int = WIDTH) -> str:
    """One line that Markdown shows as it is, whatever it holds."""
    return re.sub(r"([\\`*_{}\[\]<>()#+!|~&$])", r"\\\1", one_line(text, width))


def _head(manifest: Mapping[str, Any], cases: Sequence[Case]) -> Iterator[str]:
    yield f"# Evaluation: {escaped(manifest.get('name') or 'a run')}"
    if not manifest.get("finished"):
        yield "**The run is not finished.** The same command continues where it stopped."
    yield (
        "Retrieval and answers are counted apart, and there is no overall score. A question that failed is counted as\n"
        "failed and enters no figure. – stands for a figure that nothing could be counted for."
    )
    for warning in warnings(manifest, cases):
        yield f"**{warning}**"


def _table_part(table: Table) -> Iterator[str]:
    yield f"## {table.title}"
    rule = "|---" + "|---:" * (len(table.head) - 1) + "|"
    yield "\n".join([_row(table.head), rule, *map(_row, table.rows)])
    yield f"{table.over[:1].upper()}{table.over[1:]}."


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(escaped(cell) for cell in cells) + " |"


def _list(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _missing(manifest: Mapping[str, Any], summary: Mapping[str, Any]) -> Iterator[str]:
    if lines := list(missing(manifest, summary)):
        yield "## What is missing"
        yield _list(lines)


def _failures(summary: Mapping[str, Any]) -> Iterator[str]:
    if head := failure_head(summary, FAILURES):
        yield "## Failures"
        yield head
        yield _list(map(escaped, failure_lines(summary, FAILURES)))


def _bad(cases: Sequence[Case], records: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The mistakes by kind, up to WORST cases each."""
    if not any(record["kind"] == "answer" for record in records):
        return
    yield "## Where it is bad"
    mistakes = worst(cases, records)
    if not mistakes:
        yield unblamed(cases, records)
    for mistake, by_case in mistakes.items():
        more = f", the first {WORST}" if len(by_case) > WORST else ""
        yield f"**{TITLES[mistake]}** ({plural(len(by_case), 'case')}{more}): {OUTCOMES[mistake]}."
        yield _list(
            f"{_code(case.id, 80)} {escaped(case.question)} ({joined(map(escaped, graphs))})"
            for case, graphs in list(by_case.items())[:WORST]
        )


def _code(text: str, width: int) -> str:
    safe = one_line(text, width).replace("`", "'")
    return f"`{safe}`"


def _meanings(shown: Sequence[Table]) -> Iterator[str]:
    """Each figure that is shown, in a line."""
    yield "## What the figures mean"
    for table in shown:
        explained = [column for column in table.columns if column.meaning]
        if explained:
            yield f"{table.title}:"
            yield _list(f"{escaped(column.head)}: {column.meaning}" for column in explained)


def _made(manifest: Mapping[str, Any]) -> Iterator[str]:
    yield "## How it was made"
    yield _list(
        f"{name}: {_code(value, 2000) if name == 'command' else escaped(value, 2000)}"
        for name, value in facts(manifest)
    )
    if settings := settings_of(manifest):
        yield "Settings:"
        yield _list(f"{escaped(name)} = {escaped(value)}" for name, value in settings)
    yield "All answers with their passages and verdicts: report.html and records.jsonl beside this file."
