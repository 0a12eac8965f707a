"""Measure how well questions are answered and refused on published sets: the table of docs/measurements.md.

`local-rag eval` asks each set, so a stopped run continues, and questions that were asked before are only tabled again.
The demo's questions are always asked. The other sets are no part of this repository: docs/measurements.md names them,
FOLDER contains them as SETS says, and missing sets are left out. Sets that nobody has asked yet are "not run".

A FOLDER with a `cases.jsonl` is asked by our graphs and by the tutorials' loop side by side (`side_by_side`).
"""

from __future__ import annotations

import argparse
import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import side_by_side
from benchmarks.commands import PROGRAM, environment, index, must_have_ollama
from benchmarks.report import Cell, Report, Table

GRAPHS = ("plain", "self-rag", "crag", "adaptive")


@dataclass(frozen=True)
class Published:
    """Name the files of a set for `local-rag eval`, over their own texts or over a folder of documents."""

    name: str
    cases: tuple[str, ...]
    documents: str = ""


SETS = (
    Published("demo", ()),
    Published("SQuAD v2", ("squad2/test.json",)),
    Published("ClapNQ", ("clapnq/test_answerable.jsonl", "clapnq/test_unanswerable.jsonl")),
    Published("HotpotQA", ("hotpotqa/sample50.jsonl",)),
    Published("FinanceBench", ("financebench/cases.jsonl",), "financebench/pdfs"),
    Published("person", ("answers/cases.jsonl",), "answers/person"),
    Published("lilianweng", ("answers/cases.jsonl",), "lilianweng/html"),
)
"""The sets to ask: the demo comes with local-rag; the last two share a file, whose key "collection" is their name."""

FIGURES = {
    "answered and refused rightly, balanced": ("Refusals", "balanced", "mean"),
    "answerable questions that are answered": ("Refusals", "answered", "mean"),
    "the answer contains the expected words": ("Answers", "contains", "mean"),
    "token F1": ("Answers", "F1", "mean"),
    "right, of the answers shown as sure": ("Certainty", "sure: right", "mean"),
    "verdicts on passages that agree with the labels": ("Grading of passages", "accuracy", "mean"),
    "calls of the model per question": ("Cost", "calls", "mean"),
    "seconds per question, median": ("Cost", "seconds", "p50"),
}
"""The rows of the table, with their places in a run's report.json."""


@dataclass(frozen=True)
class Way:
    """Name graphs that answer with these variables; `key` is part of the folder name of a run."""

    key: str
    variables: dict[str, str]
    graphs: tuple[str, ...] = GRAPHS
    grader: str = ""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    parser.add_argument("sets", type=Path, nargs="?", metavar="FOLDER", default=Path("sets"), help="the published sets")
    parser.add_argument(
        "--ollama",
        metavar="MODEL",
        nargs="?",
        const="",
        help="a model of your Ollama answers (its own choice if left out)",
    )
    parser.add_argument("--questions", type=int, default=40, metavar="N", help="of each set (default: %(default)s)")
    parser.add_argument("--only", nargs="+", metavar="SET", default=[one.name for one in SETS], help="only these sets")
    parser.add_argument("--table", action="store_true", help="ask nothing: table what is there")


def run(options: argparse.Namespace, data: Path) -> Report:
    """Ask every set in every way, and return a table of the figures."""
    side = (options.sets / "cases.jsonl").is_file() and not options.table
    if side and options.ollama == "":
        raise SystemExit("error: the tutorials' loop needs a model by name\n  try: --ollama qwen3:4b-instruct")
    if options.ollama is not None and not options.table:
        must_have_ollama(options.ollama)
    if side:
        table = side_by_side.table(options.sets, data, options.ollama, options.questions)
        return Report("answers", "the Self-RAG loop of the LangGraph tutorials, in the same run", [table])
    ways = _ways(options.ollama)
    rows: list[list[Cell]] = []
    for one in SETS:
        there = one.name in options.only and all((options.sets / file).is_file() for file in one.cases)
        reports = [_asked(one, way, options, data, there and not options.table) for way in ways]
        cases = next((report["summary"]["cases"]["total"] for report in reports if report), None)
        for title, path in FIGURES.items():
            known = zip(ways, reports, strict=True)
            cells = [_figure(report, graph, path) for way, report in known for graph in way.graphs]
            rows.append([f"{one.name}: {title}", cases, *cells])
    engine = "by quoting, without a language model" if options.ollama is None else options.ollama or "Ollama's model"
    title = f"{engine}; at most {options.questions} questions of each set"
    columns = [graph + way.grader for way in ways for graph in way.graphs]
    return Report("answers", "the labels of each set", [Table(title, ["", "cases", *columns], rows)])


def _ways(model: str | None) -> list[Way]:
    """Return quoting; or the model, and again the model as grader, which `plain` does not have."""
    if model is None:
        return [Way("extractive", {})]
    asked = {"LOCAL_RAG_ENGINE": "ollama"} | ({"LOCAL_RAG_MODEL": model} if model else {})
    key = f"ollama-{model.replace('/', '-').replace(':', '-') or 'default'}"
    graded = asked | {"LOCAL_RAG_OLLAMA_GRADING": "packed"}
    return [Way(key, asked), Way(f"{key}-packed", graded, GRAPHS[1:], ", the model grades")]


def _asked(one: Published, way: Way, options: argparse.Namespace, data: Path, ask: bool) -> dict[str, Any] | None:
    """Return the report of a set's run, after asking what is missing; None if nobody has asked it."""
    folder = data / "answers" / f"{one.name.replace(' ', '-')}-{options.questions}-{way.key}"
    report = folder / "report.json"
    if ask:
        where = ["--corpus"] if one.cases else ["--demo"]
        if one.documents:
            where = ["--index", str(index(data, options.sets / one.documents))]
        graphs = [word for graph in way.graphs for word in ("--graph", graph)]
        cases = [str(file) for file in _cases(one, options.sets, data)]
        command = [*PROGRAM, "eval", *cases, *where, *graphs, "--limit", str(options.questions), "--out", str(folder)]
        if subprocess.run(command, env=environment(data, **way.variables), check=False).returncode not in (0, 4):
            raise SystemExit(f"error: {one.name} was not asked; local-rag says why above")
    found: dict[str, Any] | None = json.loads(report.read_text(encoding="utf-8")) if report.is_file() else None
    return found


def _cases(one: Published, sets: Path, data: Path) -> list[Path]:
    """Return the files for `local-rag eval`, and make one from answers/cases.jsonl with the questions with one key."""
    files = [sets / name for name in one.cases]
    if not files or files[0].parent.name != "answers":
        return files
    rows = map(json.loads, files[0].read_text(encoding="utf-8").splitlines())
    made = data / f"{one.name}.jsonl"
    with made.open("w", encoding="utf-8") as lines:
        for row in rows:
            if row["collection"] == one.name and len(row["keys"]) < 2:
                answers = row["keys"][0].split("|") if row["keys"] else []
                case = {key: row[key] for key in ("id", "question")} | {"answerable": bool(answers), "answers": answers}
                lines.write(json.dumps(case) + "\n")
    return [made]


def _figure(report: dict[str, Any] | None, graph: str, path: tuple[str, str, str]) -> Cell:
    """Return a figure of a report, or nothing if its set has no label for it."""
    if report is None:
        return "not run"
    group, figure, key = path
    found = report["summary"]["figures"].get(group, {}).get(graph, {}).get(figure, {}).get(key)
    return found if found is None else f"{found:.3f}".lstrip("0") if abs(found) < 1 else f"{found:.2f}"
