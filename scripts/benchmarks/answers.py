"""How well questions are answered and refused: the tables of docs/measurements.md.

Sets as they are published (none is part of this repository): SQuAD 2.0 with `--squad`, ClapNQ and HotpotQA besides. All
of it goes through `local_rag.evaluation`, as `local-rag eval run` and `local-rag calibrate --dry-run` do; a stopped run
goes on, and a finished one is only tabled again.
"""

from __future__ import annotations

import argparse
import os
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.report import Cell, Report, Table

GRAPHS = ("plain", "self-rag", "crag", "adaptive")


@dataclass(frozen=True)
class Part:
    """Cases that are asked in one way. `within`: "corpus" of the set, "all" documents, "others" than the set's.

    `open` takes both thresholds away, so that every question is answered.
    """

    name: str
    files: tuple[Path, ...]
    graphs: tuple[str, ...]
    limit: int | None
    within: str = "corpus"
    gold: bool = False
    open: bool = False
    multi: bool = False


@dataclass(frozen=True)
class Row:
    """A line of the table: a figure of one part and graph."""

    title: str
    part: str
    graph: str
    figure: str


ROWS = (
    *(Row(f"adversarial, from the index: balanced accuracy, {graph}", "index", graph, "balanced") for graph in GRAPHS),
    *(Row(f"answer rate on answerable questions, {graph}", "index", graph, "answered") for graph in GRAPHS),
    *(Row(f"refusals of adversarial questions, {graph}", "index", graph, "refused") for graph in GRAPHS),
    Row("short answer, F1: gold paragraph shown, nothing refused", "gold", "plain", "short_f1"),
    Row("short answer, exact match: gold paragraph shown, nothing refused", "gold", "plain", "short_exact_match"),
    Row("short answer, F1: from the index, nothing refused", "open", "plain", "short_f1"),
    Row("short answer, exact match: from the index, nothing refused", "open", "plain", "short_exact_match"),
    Row("short answer, F1: from the index, a refusal counts 0, plain", "index", "plain", "short_f1"),
    Row("answer contains the expected words, from the index, plain", "index", "plain", "containment"),
    *(Row(f"grading accuracy, {graph}", "index", graph, "grading") for graph in ("self-rag", "crag")),
    *(Row(f"ClapNQ: token F1, {graph}", "clapnq", graph, "f1") for graph in ("plain", "self-rag")),
    Row("HotpotQA: contains, adaptive multi", "hotpotqa", "adaptive", "containment"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of this benchmark."""
    parser.add_argument("--squad", type=Path, metavar="FILE", required=True, help="a file in the format of SQuAD 2.0")
    parser.add_argument("--more", type=Path, metavar="FILE", nargs="*", default=[], help="sets whose texts are others")
    parser.add_argument("--clapnq", type=Path, metavar="FILE", nargs="*", default=[], help="files of ClapNQ")
    parser.add_argument("--hotpotqa", type=Path, metavar="FILE", help="a file of HotpotQA")
    parser.add_argument("--questions", type=int, default=100, metavar="N", help="of SQuAD (default: %(default)s)")
    parser.add_argument("--evaluators", nargs="+", default=["minilm"], metavar="NAME", help="what is compared")
    parser.add_argument("--graphs", nargs="+", default=GRAPHS, metavar="NAME", help="asked of SQuAD's index")
    parser.add_argument("--parts", nargs="+", metavar="NAME", help="only these: index, gold, open, inside, outside, …")
    parser.add_argument("--table", action="store_true", help="ask nothing: table what is there")


def run(options: argparse.Namespace, data: Path) -> Report:
    """Ask every part with each evaluator, and table the figures."""
    os.environ["LOCAL_RAG_DATA_DIR"] = str(data / "data")
    place = data / "answers"
    folders: dict[str, dict[str, Any]] = {}
    errors: dict[str, dict[str, float | None]] = {}
    for evaluator in options.evaluators:
        folders[evaluator] = {part.name: asked(part, options, place, evaluator) for part in parts(options)}
        errors[evaluator] = calibration_errors(options, place, evaluator)
    report = Report("answers", f"the extractive engine with the evaluator {options.evaluators[0]}")
    report.facts = {"squad": options.squad.stem, "questions": options.questions, "evaluators": options.evaluators}
    tables = [figures(folders), not_in_the_corpus(folders), calibrated(errors), graphs_compared(folders)]
    report.tables = [table for table in tables if table.rows]
    report.notes.append("95 % by bootstrap; differences over the same cases")
    return report


# --- asking


def parts(options: argparse.Namespace) -> Iterator[Part]:
    """What is asked, as far as it was named."""
    squad, some = (options.squad,), options.questions
    every = [
        Part("index", squad, tuple(options.graphs), some),
        Part("gold", squad, ("plain",), some, gold=True, open=True),
        Part("open", squad, ("plain",), some, open=True),
        *(
            Part(name, squad, ("plain",), some // 2, within)
            for name, within in (("inside", "all"), ("outside", "others"))
        ),
        *([Part("clapnq", tuple(options.clapnq), ("plain", "self-rag"), None)] if options.clapnq else []),
        *([Part("hotpotqa", (options.hotpotqa,), ("adaptive",), None, multi=True)] if options.hotpotqa else []),
    ]
    return (part for part in every if not options.parts or part.name in options.parts)


def asked(part: Part, options: argparse.Namespace, place: Path, evaluator: str) -> Any:
    """The run of a part, asked now as far as it is not there yet; None where it is not and nothing is to be asked."""
    from local_rag.evaluation.evaluate import EvaluationRequest, evaluate
    from local_rag.evaluation.folder import MANIFEST, RunFolder
    from local_rag.evaluation.formats import open_cases
    from local_rag.evaluation.runner import Plan
    from local_rag.terminal.console import TerminalDisplay, stderr

    folder = place / f"{part.files[0].stem}-{part.name}-{part.limit or 'all'}-{evaluator}"
    known = RunFolder.open(folder) if (folder / MANIFEST).is_file() else None
    done = known is not None and known.manifest.get("finished") and {*part.graphs} <= {*known.manifest["graphs"]}
    if done or options.table:
        return known
    cases = open_cases(part.files)
    if part.within != "corpus":
        cases = replace(cases, cases=alone(cases.cases, part, options.squad), documents=texts(part, options))
        limit = None
    else:
        limit = part.limit
    plan = Plan(part.graphs, (), limit=limit, gold=part.gold)
    settings = configured(evaluator, open_to_all=part.open, multi=part.multi)
    evaluation = evaluate(settings, EvaluationRequest(cases, plan, True, folder), TerminalDisplay(stderr()))
    if evaluation.error:
        raise evaluation.error
    return evaluation.folder


def configured(evaluator: str, *, open_to_all: bool = False, multi: bool = False) -> Any:
    """The settings of a run; nothing of a person's own calibration is used."""
    from local_rag.config.settings import Settings

    flags: dict[str, Any] = {"engine": "extractive", "evaluator": evaluator, "web__enabled": "off"}
    if open_to_all:
        flags |= {"thresholds__relevance": 0.0, "thresholds__answer": 0.0}
    if multi:
        flags["adaptive__complexity"] = "multi"
    return Settings.load(**flags)


def alone(cases: Sequence[Any], part: Part, squad: Path) -> tuple[Any, ...]:
    """The answerable cases that are drawn; without an answer where the index lacks their documents."""
    known = [case for case in cases if case.answerable]
    drawn = random.Random(squad.stem).sample(known, min(part.limit or len(known), len(known)))
    if part.within == "all":
        return tuple(drawn)
    return tuple(replace(case, answerable=False, answers=(), relevant=()) for case in drawn)


def texts(part: Part, options: argparse.Namespace) -> tuple[Any, ...]:
    """The documents of all sets, or of all others than SQuAD's."""
    from local_rag.evaluation.formats import open_cases

    named = [*options.more, *options.clapnq, *([options.hotpotqa] if options.hotpotqa else [])]
    files = [*([options.squad] if part.within == "all" else []), *named]
    found: dict[str, Any] = {}
    for file in files:
        found |= {f"{file.stem}/{name}": text for name, text in open_cases([file]).documents}
    return tuple(found.items())


def calibration_errors(options: argparse.Namespace, place: Path, evaluator: str) -> dict[str, float | None]:
    """ECE of the scores by `local-rag calibrate --dry-run`, kept beside the runs."""
    import json

    from local_rag.evaluation.calibration import CalibrationRequest, calibrate
    from local_rag.terminal.console import TerminalDisplay, stderr

    kept = place / f"{options.squad.stem}-calibrate-{options.questions}-{evaluator}.json"
    if kept.is_file():
        known: dict[str, float | None] = json.loads(kept.read_text(encoding="utf-8"))
        return known
    if options.table or (options.parts and "calibrate" not in options.parts):
        return {}
    request = CalibrationRequest(
        (options.squad,), corpus=True, limit=options.questions, picture=kept.with_suffix(".png"), dry_run=True
    )
    made = calibrate(configured(evaluator), request, TerminalDisplay(stderr())).ece
    kept.write_text(json.dumps(made) + "\n", encoding="utf-8")
    return made


# --- tables


def figures(folders: Mapping[str, Mapping[str, Any]]) -> Table:
    """Each figure with each evaluator, and how far the last one is from the first."""
    from local_rag.evaluation.estimates import difference_between, estimates

    first, last = next(iter(folders)), list(folders)[-1]
    rows: list[list[Cell]] = []
    for row in ROWS:
        runs = {name: by_part.get(row.part) for name, by_part in folders.items()}
        cells: list[Cell] = []
        cases = 0
        for folder in runs.values():
            known = estimates(folder, row.graph, names=(row.figure,)).get(row.figure) if folder else None
            cells.append(_shown(known))
            cases = known.cases if known else cases
        a, b = runs[first], runs[last]
        change = None
        if first != last and a and b:
            change = difference_between((a, row.graph), (b, row.graph), row.figure)
        if any(cells):
            rows.append([row.title, cases, *cells, _shown(change, "+")])
    return Table("figures", ["", "cases", *folders, "difference"], rows)


def not_in_the_corpus(folders: Mapping[str, Mapping[str, Any]]) -> Table:
    """Refusals of questions whose documents are not in the index, and of the same ones where they are."""
    from local_rag.evaluation.estimates import answered_pairs
    from local_rag.evaluation.measures import is_answered

    rows: list[list[Cell]] = []
    for name, by_part in folders.items():
        inside, outside = by_part.get("inside"), by_part.get("outside")
        if inside and outside:
            wrong = [not is_answered(record) for _, record in answered_pairs(inside, "plain")]
            right = [not is_answered(record) for _, record in answered_pairs(outside, "plain")]
            precision = sum(right) / max(1, sum(right) + sum(wrong))
            rows.append([name, len(right), f"{precision:.3f}", f"{sum(right) / len(right):.3f}"])
    return Table("not in the corpus: refusals", ["evaluator", "questions", "precision", "recall"], rows)


def calibrated(errors: Mapping[str, Mapping[str, float | None]]) -> Table:
    """The calibration errors by what the score is the chance of."""
    names = list(dict.fromkeys(name for known in errors.values() for name in known))
    rows: list[list[Cell]] = [
        [evaluator, *(None if known.get(name) is None else f"{known[name]:.3f}" for name in names)]
        for evaluator, known in errors.items()
        if known
    ]
    return Table("expected calibration error of the scores", ["evaluator", *names], rows)


def graphs_compared(folders: Mapping[str, Mapping[str, Any]]) -> Table:
    """Each graph's balanced accuracy against that of plain, over the same cases."""
    from local_rag.evaluation.estimates import BALANCED, difference_between

    rows: list[list[Cell]] = []
    for name, by_part in folders.items():
        if folder := by_part.get("index"):
            changes = [difference_between((folder, "plain"), (folder, graph), BALANCED) for graph in GRAPHS[1:]]
            rows.append([name, *(_shown(change, "+") for change in changes)])
    return Table("balanced accuracy against plain", ["evaluator", *GRAPHS[1:]], rows)


def _shown(estimate: Any, sign: str = "") -> str:
    if estimate is None:
        return ""
    if estimate.low is None:
        return f"{estimate.value:{sign}.3f}"
    return f"{estimate.value:{sign}.3f} ({estimate.low:{sign}.3f} to {estimate.high:{sign}.3f})"
