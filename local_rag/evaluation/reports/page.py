"""report.html: one file with everything in it, which a browser opens from a stick and which asks no one for anything.

What was read from files is escaped by Jinja; should something slip through, the page's own policy lets only the one
script run that was written here, and forbids every request.
"""

from __future__ import annotations

import base64
import hashlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING, Any

from local_rag.evaluation.reports.case_view import CaseView, Limits, case_view
from local_rag.evaluation.reports.charts import charts
from local_rag.evaluation.reports.drawings import svg
from local_rag.evaluation.reports.facts import (
    FIRST,
    facts,
    failure_head,
    failure_lines,
    missing,
    settings_of,
    warnings,
)
from local_rag.evaluation.reports.formatting import block, one_line
from local_rag.evaluation.reports.outcomes import OUTCOMES, SEARCHED, TITLES, tone, unblamed, urgency, worst
from local_rag.evaluation.reports.tables import tables
from local_rag.text.display import is_url, joined, plural

if TYPE_CHECKING:
    from jinja2 import Template

    from local_rag.evaluation.cases import Case

Record = Mapping[str, Any]

MOST, LEAST = Limits(2000, 3000, 500), Limits(160, 300, 100)
"""Characters that are shown of each passage, answer and quote, at most and at least."""

BUDGET = Limits(6_000_000, 4_000_000, 3_000_000)
"""Characters of all of them together: a page of 2,000 cases and four graphs stays below 30 MB (measured: 23)."""

FAILURES, WORST = 50, 10
"""Failures, and cases per kind of mistake, that are named."""


def report(manifest: Record, cases: Sequence[Case], records: Sequence[Record], summary: Mapping[str, Any]) -> str:
    """The whole page. The same run gives the same bytes."""
    from markupsafe import Markup

    folder = Path(__file__).parent
    script = (folder / "page.js").read_text(encoding="utf-8")
    limits, root = limits_of(records), root_of(records)
    shown = _case_views(cases, records, limits, root)
    known, marks = list(facts(manifest)), [mark for entry in shown.values() for mark in entry.marks]
    return _template().render(
        name=one_line(manifest.get("name") or "a run", 200),
        manifest=manifest,
        first=[(label, value) for label, value in known if label in FIRST],
        later=[(label, value) for label, value in known if label not in FIRST],
        warnings=warnings(manifest, cases),
        missing=list(missing(manifest, summary)),
        settings=settings_of(manifest),
        models=block((manifest.get("models_yaml") or {}).get("text"), 100_000),
        tables=list(tables(summary)),
        charts=[(chart, Markup(svg(chart))) for chart in charts(summary)],
        failures=(failure_head(summary, FAILURES), failure_lines(summary, FAILURES)),
        bad=_bad(cases, records, list(shown)),
        cases=list(shown.values()),
        who=list(dict.fromkeys(name for name, _ in marks)),
        outcomes=[entry for entry in OUTCOMES | SEARCHED if any(entry == ending for _, ending in marks)],
        meaning=OUTCOMES | SEARCHED,
        tone=tone,
        limits=limits,
        root=one_line(root),
        style=Markup((folder / "page.css").read_text(encoding="utf-8")),
        script=Markup(script),
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )


@cache
def _template() -> Template:
    """The page without what it shows; compiling it takes as long as a chart."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("page.html.j2")


def _case_views(cases: Sequence[Case], records: Sequence[Record], limits: Limits, root: str) -> dict[str, CaseView]:
    """Each case by its id: those where something is wrong first, else in the order of the set."""
    by_case: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        by_case[record["case"]].append(record)
    by_id = {case.id: case_view(case, by_case[case.id], limits, root) for case in cases}
    return dict(sorted(by_id.items(), key=lambda pair: urgency(ending for _, ending in pair[1].judged)))


@dataclass(frozen=True)
class Bad:
    """Where a run is bad: `title` and `meaning` of a mistake, of how many cases, and the first of them.

    Of each the number on the page, its question, and who made the mistake. A title alone says that there is nothing.
    """

    title: str
    meaning: str = ""
    cases: str = ""
    first: tuple[tuple[int, str, str], ...] = ()


def _bad(cases: Sequence[Case], records: Sequence[Record], order: Sequence[str]) -> list[Bad]:
    """The mistakes by kind; nothing where nobody answered, but where there are none, that is said."""
    if not any(record["kind"] == "answer" for record in records):
        return []
    number = {name: position for position, name in enumerate(order, start=1)}
    return [
        Bad(
            TITLES[mistake],
            OUTCOMES[mistake],
            plural(len(by_case), "case") + (f", the first {WORST}" if len(by_case) > WORST else ""),
            tuple(
                (number[case.id], one_line(case.question, 300), one_line(joined(graphs), 200))
                for case, graphs in list(by_case.items())[:WORST]
            ),
        )
        for mistake, by_case in worst(cases, records).items()
    ] or [Bad(unblamed(cases, records))]


def limits_of(records: Sequence[Record]) -> Limits:
    """How much is shown of each text, so that the page of a large run can still be opened."""
    answers = [record for record in records if record["kind"] == "answer" and "error" not in record]
    passages = {
        (record["case"], passage["chunk_id"] or passage["url"], len(passage["text"]))
        for record in answers
        for passage in record["passages"]
    }
    quotes = sum(len(record["answer"]["citations"]) + len(record["answer"]["nearest"]) for record in answers)

    def each(part: str, count: int) -> int:
        most, least, budget = (int(getattr(limits, part)) for limits in (MOST, LEAST, BUDGET))
        return max(least, min(most, budget // max(1, count)))

    return Limits(each("passage", len(passages)), each("answer", len(answers)), each("quote", quotes))


def root_of(records: Sequence[Record]) -> str:
    """The folder, with its last slash, that all files of the run lie in; empty where there is none but the top."""
    sources = {
        passage["source"]
        for record in records
        if record["kind"] == "answer" and "error" not in record
        for passage in record["passages"]
        if passage["source"] and not is_url(passage["source"])
    }
    windows = any("\\" in source and "/" not in source for source in sources)
    kind: type[PurePosixPath | PureWindowsPath] = PureWindowsPath if windows else PurePosixPath
    folders = [kind(source).parent for source in sorted(sources)]
    if not folders or not all(folder.is_absolute() for folder in folders):
        return ""
    above = (folders[0], *folders[0].parents)
    common = next((top for top in above if all(folder.is_relative_to(top) for folder in folders)), None)
    return "" if common is None or common == kind(common.anchor) else str(common) + ("\\" if windows else "/")
