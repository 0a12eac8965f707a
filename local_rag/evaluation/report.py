"""Describe a run in words and tables, for the terminal and the page: figures, conditions, and what is missing.

A figure that does not exist is a dash, never a zero. Texts of files, models and errors are cut, without control
characters and lone surrogates.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from local_rag.evaluation.cases import Case
from local_rag.evaluation.figures import FIGURES, Figure, Form
from local_rag.text.display import joined, plural, printable, shorten

Manifest = Mapping[str, Any]

NONE = "–"
"""The sign for a figure that counts nothing."""

WIDTH = 400
"""The maximum characters of one fact, because an error can quote a page."""

FAILURES = 50
"""The maximum number of failures to name."""

_BY_RULES = re.compile(r"proposed: heading")
"""The note of a case that `eval make` made without a model, and that nobody edited."""


# --- figures and texts as a person reads them


def share(value: float | None) -> str:
    """Return a share or a score with three digits: .642, 1.000, -.050."""
    if value is None:
        return NONE
    shown = f"{value:.3f}".replace("-0.000", "0.000")
    return shown.replace("0.", ".", 1) if shown.startswith(("0.", "-0.")) else shown


def number(value: float | None) -> str:
    """Return a mean of whole numbers: 2.4, from 100 on without a decimal, and 0 for exactly zero."""
    if value is None:
        return NONE
    return f"{value:,.0f}" if abs(value) >= 100 or value == 0 else f"{value:.1f}"


def seconds(value: float | None) -> str:
    """Return seconds with three significant digits: 0.012, 1.25, 83.1."""
    if value is None:
        return NONE
    return f"{value:,.{0 if value >= 100 else 1 if value >= 10 else 2 if value >= 1 else 3}f}"


def one_line(value: object, width: int = WIDTH) -> str:
    """Return the text as one line of at most `width` characters."""
    return shorten(block(value, 4 * width), width)


def block(value: object, limit: int) -> str:
    """Return the text with its lines, cut with … after `limit` characters; empty for None."""
    text = "" if value is None else str(value)
    kept = printable(text[:limit].encode("utf-8", "replace").decode())
    return kept if len(text) <= limit else f"{kept.rstrip()}…"


# --- tables

FORMS: Mapping[Form, Callable[[float | None], str]] = {
    "share": share,
    "count": share,
    "number": number,
    "seconds": seconds,
}

OVER = {
    "Retrieval": "over cases with relevant places",
    "Router": "over cases with a route, by the route that is expected",
    "Answers": "over answerable cases with reference answers",
    "Certainty": "how sure the answers are said to be, and how many of those are right; counts of questions",
    "Refusals": "over questions that are known to be answerable, or not to be",
    "Citations": "means over the answers given",
    "Grading of passages": "means over the questions whose passages were graded",
    "Fallback corpus": "counts of questions",
    "Judge": "over the answers shown to a language model; no other figure uses it",
    "Cost": "over the questions that did not fail",
}


@dataclass(frozen=True)
class Table:
    """Hold a table: title, its cases, a head, rows of cells (the first is the name), and the meaning of each column."""

    title: str
    over: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    meanings: tuple[tuple[str, str], ...]


def tables(summary: Mapping[str, Any]) -> Iterator[Table]:
    """Yield every table that has figures, in the order in which a person reads them."""
    for group, rows in summary["figures"].items():
        shown = [figure for figure in FIGURES if figure.group == group and _says_something(figure, rows)]
        if not shown:
            continue
        columns = [column for figure in shown for column in _columns(figure)]
        cells = (
            (
                name,
                str(max(found["cases"] for found in row.values())),
                *(cell(row.get(figure.name)) for _, figure, cell in columns),
            )
            for name, row in rows.items()
        )
        yield Table(
            group,
            OVER[group],
            ("", "cases", *(head for head, _, _ in columns)),
            tuple(cells),
            tuple((figure.name, figure.meaning) for figure in shown),
        )


def _says_something(figure: Figure, rows: Mapping[str, Any]) -> bool:
    """Return whether any row has the figure; a count of calls or events needs one above zero."""
    means = [row[figure.name]["mean"] for row in rows.values() if figure.name in row]
    silent = figure.form == "number" or (figure.form == "count" and figure.better is None)
    return any(means) if silent else bool(means)


def _columns(figure: Figure) -> Iterator[tuple[str, Figure, Callable[[Mapping[str, Any] | None], str]]]:
    """Yield head, figure and format of each column: the mean; for seconds the median and 95th percentile first."""
    for key in ("p50", "p95", "mean") if figure.form == "seconds" else ("mean",):
        head = f"{key} s" if figure.form == "seconds" else figure.name
        yield head, figure, partial(_cell, figure.form, key)


def _cell(form: Form, key: str, found: Mapping[str, Any] | None) -> str:
    if found and form == "count":
        return f"{found['mean'] * found['cases']:,.0f}"
    return FORMS[form](found[key]) if found else NONE


# --- what to know beside the figures


def warnings(manifest: Manifest, cases: Sequence[Case]) -> Iterator[str]:
    """Yield what a person should know before any figure."""
    if not manifest.get("finished"):
        yield "The run is not finished: the same command continues where it stopped."
    by_rules = sum(bool(_BY_RULES.fullmatch(case.note)) for case in cases)
    if 2 * by_rules > len(cases):
        yield (
            f"{by_rules:,} of {plural(len(cases), 'case')} were made from headings of the files: word search looks "
            "better than on people's questions."
        )


def missing(manifest: Manifest, summary: Mapping[str, Any]) -> Iterator[str]:
    """Yield a line for each requested table that is missing because no case has the labels it needs."""
    cases, graphs, found = summary["cases"], manifest["graphs"], summary["figures"]
    for title, wanted, labelled, why in (
        ("Retrieval", manifest["modes"], cases["with_relevant"], "names a relevant place (relevant)"),
        ("Router", "adaptive" in graphs, cases["with_route"], "names a route (route)"),
        ("Answers", graphs, cases["with_answers"], "has reference answers (answers)"),
        ("Refusals", graphs, cases["answerable"] + cases["unanswerable"], "says whether it is answerable (answerable)"),
    ):
        if wanted and not labelled:
            yield f"no {title}: no case {why}"
    judged = "Judge" in found or any(failure["kind"] == "judgement" for failure in summary["failures"])
    if manifest["judge"] and manifest["finished"] and not judged:
        yield "no answer could be judged: the judge needs cases with reference answers that were answered"


def failures(summary: Mapping[str, Any], first: int = FAILURES) -> list[str]:
    """Return the number of failures and the first of them, one line each; empty without failures."""
    failed: Sequence[Mapping[str, Any]] = summary["failures"]
    if not failed:
        return []
    lines = [f"{plural(len(failed), 'failure')}, in none of the figures{' (the first ones)' * (len(failed) > first)}:"]
    for failure in failed[:first]:
        where = failure.get("graph") or failure.get("mode") or failure["kind"]
        lines.append(f"{one_line(failure['case'], 60)}, {one_line(where, 40)}: {one_line(failure['error'])}")
    return lines


def facts(manifest: Manifest) -> dict[str, str]:
    """Return what was run, on which cases, and with which parts; unknown facts are left out."""
    cases, index, engine = manifest["cases"], manifest["index"], manifest["engine"]
    corpus = manifest["fallback_corpus"]
    limit = f", --limit {manifest['limit']}" if manifest["limit"] else ""
    known = {
        "started": manifest["started"],
        "cases": f"{cases['used']:,} of {plural(cases['total'], 'case')}{limit}, {cases['path']}, {cases['format']}",
        "engine": f"{engine['describe']} ({engine['why']})" if engine["why"] else engine["describe"],
        "evaluator": manifest["evaluator"] or "none",
        "index": ", ".join(
            (
                index["path"],
                plural(index["documents"], "file"),
                plural(index["chunks"], "passage"),
                index["embedder"],
                f"at most {index['chunk_size']} tokens, overlap {index['chunk_overlap']}",
            )
        ),
        "finished": manifest["finished"],
        "command": shlex.join(manifest["command"]),
        "SHA-256 of the cases": cases["sha256"][:16],
        "graphs": joined(manifest["graphs"]) or "none: retrieval only",
        "retrieval": joined(manifest["modes"]),
        "passages per query": manifest["k"],
        "prompts of one's own": ", ".join(map(" ".join, engine["prompts"].items())),
        "judge": manifest["judge"],
        "fingerprint": index["fingerprint"],
        "fallback corpus": corpus and f"{corpus['path']}, {plural(corpus['documents'], 'file')}",
        "seed": manifest["seed"],
        "SHA-256 of models.yaml": manifest["models_yaml"]["sha256"][:16],
        "versions": ", ".join(f"{name} {version}" for name, version in manifest["versions"].items()),
    }
    return {name: one_line(value, 2000) for name, value in known.items() if value not in (None, "")}


FIRST = ("started", "cases", "engine", "evaluator", "index")
"""The facts that a reader needs before the figures; the other facts follow later."""


def settings_of(manifest: Manifest) -> dict[str, str]:
    """Return the settings in force, by name."""
    return {
        one_line(name): one_line(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
        for name, value in sorted(manifest["settings"].items())
    }
