"""report.md: the tables of a run, how it was made, what the figures mean, and where it is bad."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from local_rag.evaluation.reports.facts import facts, failure_head, failure_lines, settings_of
from local_rag.evaluation.reports.notes import missing, origin
from local_rag.evaluation.reports.outcomes import OUTCOMES, TITLES, unblamed, worst
from local_rag.evaluation.reports.safe import WIDTH, said
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
    return "\n".join(line for part in parts for line in part)


def escaped(text: object, width: int = WIDTH) -> str:
    """One line that Markdown shows as it is, whatever it holds."""
    return re.sub(r"([\\`*_{}\[\]<>()#+!|~&$])", r"\\\1", said(text, width))


def _head(manifest: Mapping[str, Any], cases: Sequence[Case]) -> Iterator[str]:
    yield f"# Evaluation: {escaped(manifest.get('name') or 'a run')}"
    yield ""
    if not manifest.get("finished"):
        yield "**The run is not finished.** The same command continues where it stopped."
        yield ""
    yield "Retrieval and answers are counted apart, and there is no overall score. A question that failed is counted as"
    yield "failed and enters no figure. – stands for a figure that nothing could be counted for."
    yield ""
    if warning := origin(cases):
        yield f"**{warning}**"
        yield ""


def _table_part(table: Table) -> Iterator[str]:
    yield f"## {table.title}"
    yield ""
    yield _row(table.head)
    yield "|---" + "|---:" * (len(table.head) - 1) + "|"
    yield from (_row(row) for row in table.rows)
    yield ""
    yield f"{table.over[:1].upper()}{table.over[1:]}."
    yield ""


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(escaped(cell) for cell in cells) + " |"


def _missing(manifest: Mapping[str, Any], summary: Mapping[str, Any]) -> Iterator[str]:
    if lines := list(missing(manifest, summary)):
        yield "## What is missing"
        yield ""
        yield from (f"- {line}" for line in lines)
        yield ""


def _failures(summary: Mapping[str, Any]) -> Iterator[str]:
    if head := failure_head(summary, FAILURES):
        yield "## Failures"
        yield ""
        yield head
        yield ""
        yield from (f"- {escaped(line)}" for line in failure_lines(summary, FAILURES))
        yield ""


def _bad(cases: Sequence[Case], records: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The mistakes by kind, up to WORST cases each."""
    mistakes = worst(cases, records)
    if not any(record["kind"] == "answer" for record in records):
        return
    yield "## Where it is bad"
    yield ""
    if not mistakes:
        yield unblamed(cases, records)
        yield ""
    for mistake, by_case in mistakes.items():
        more = f", the first {WORST}" if len(by_case) > WORST else ""
        yield f"**{TITLES[mistake]}** ({plural(len(by_case), 'case')}{more}): {OUTCOMES[mistake]}."
        yield ""
        for case, graphs in list(by_case.items())[:WORST]:
            yield f"- `{_code(case.id)}` {escaped(case.question)} ({joined(map(escaped, graphs))})"
        yield ""


def _code(text: str) -> str:
    return said(text, 80).replace("`", "'")


def _meanings(shown: Sequence[Table]) -> Iterator[str]:
    """Each figure that is shown, in a line."""
    yield "## What the figures mean"
    yield ""
    for table in shown:
        explained = [column for column in table.columns if column.meaning]
        if explained:
            yield f"{table.title}:"
            yield ""
            yield from (f"- {escaped(column.head)}: {column.meaning}" for column in explained)
            yield ""


def _made(manifest: Mapping[str, Any]) -> Iterator[str]:
    yield "## How it was made"
    yield ""
    for name, value in facts(manifest):
        yield f"- {name}: `{value.replace('`', chr(39))}`" if name == "command" else f"- {name}: {escaped(value, 2000)}"
    yield ""
    settings = settings_of(manifest)
    if settings:
        yield "Settings:"
        yield ""
        yield from (f"- {escaped(name)} = {escaped(value)}" for name, value in settings)
        yield ""
    yield "All answers with their passages and verdicts: report.html and records.jsonl beside this file."
    yield ""
