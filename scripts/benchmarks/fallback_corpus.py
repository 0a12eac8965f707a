"""What a fallback corpus gives CRAG and Adaptive RAG: questions of which a third of the answers lie only there.

From SQuAD 2.0 (Rajpurkar and others, 2018, `--squad FILE`, which is not part of this repository). Half of the questions
are answered by a paragraph of the main folder, a quarter by one of the second folder alone, a quarter by neither:
their paragraphs are left out. All graphs answer them without the second folder, and those that search it with it.
"""

from __future__ import annotations

import argparse
import html
import json
import random
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.report import Cell, Report, Table

GRAPHS = ("plain", "self-rag", "crag", "adaptive")
ASKED = {"without": GRAPHS, "with": ("crag", "adaptive")}
"""The graphs that are asked without the second folder and with it: the first two never search it."""

PAIRS = (
    ("plain, without", "crag, with"),
    ("self-rag, without", "adaptive, with"),
    ("crag, without", "crag, with"),
    ("adaptive, without", "adaptive, with"),
)
GROUPS = ("main", "second", "neither")


@dataclass(frozen=True)
class Paragraph:
    """A paragraph with the first question that it answers."""

    name: str
    title: str
    text: str
    question: str
    answers: tuple[str, ...]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of this benchmark."""
    parser.add_argument("--squad", type=Path, metavar="FILE", required=True, help="a file in the format of SQuAD 2.0")
    parser.add_argument("--more", type=Path, metavar="FILE", help="another one, whose paragraphs fill the main folder")
    parser.add_argument("--questions", type=int, default=120, metavar="N", help="of all groups (default: %(default)s)")
    parser.add_argument("--by", choices=("paragraph", "article"), default="paragraph", help="what a group is made of")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the draw (default: %(default)s)")
    parser.add_argument("--engine", default="extractive", metavar="NAME", help="the engine (default: %(default)s)")


def run(options: argparse.Namespace, data: Path) -> Report:
    """Ask all questions with each graph, without and with the second folder; a stopped run goes on."""
    place = data / f"fallback-corpus-{options.squad.stem}-{options.by}-{options.questions}-{options.seed}"
    groups, rest = drawn(options)
    if options.more:
        rest += [paragraph for article in articles(options.more) for paragraph in article]
    laid_out(place, groups, rest)
    runs = {how: evaluated(place, how, options.engine) for how in ("without", "with")}
    graded = {f"{graph}, {how}": values(folder, graph) for how, folder in runs.items() for graph in ASKED[how]}
    report = Report(
        "fallback-corpus", "the same questions without a fallback corpus, and the graphs that never search it"
    )
    report.facts = {"engine": options.engine, "by": options.by, "questions": sum(map(len, groups.values()))}
    counts = {group: len(groups[group]) for group in GROUPS}
    report.notes.append(f"questions answered by: {counts}; {len(rest)} more paragraphs in the main folder")
    report.tables += [overview(graded), *(compared(graded, *pair) for pair in PAIRS)]
    return report


# --- the questions and folders


def articles(file: Path) -> list[list[Paragraph]]:
    """The paragraphs of each article that answer a question; those that answer none are no use here."""
    found = []
    for article in json.loads(file.read_text(encoding="utf-8"))["data"]:
        title = article["title"].replace("_", " ")
        paragraphs = []
        for number, paragraph in enumerate(article["paragraphs"]):
            asked = next((qa for qa in paragraph["qas"] if not qa["is_impossible"]), None)
            if asked:
                answers = tuple(dict.fromkeys(answer["text"] for answer in asked["answers"]))
                name = f"{article['title']}-{number:02}"
                paragraphs.append(Paragraph(name, title, paragraph["context"], asked["question"], answers))
        found.append(paragraphs)
    return found


def drawn(options: argparse.Namespace) -> tuple[dict[str, list[Paragraph]], list[Paragraph]]:
    """The paragraphs of each group, and all others; by article a group holds those of whole articles."""
    dice, found = random.Random(options.seed), articles(options.squad)
    wanted = dict(zip(GROUPS, (options.questions // 2, options.questions // 4, options.questions // 4), strict=True))
    if options.by == "article":
        dice.shuffle(found)
        pools = {"main": [p for article in found[:-2] for p in article], "second": found[-2], "neither": found[-1]}
        for pool in pools.values():
            dice.shuffle(pool)
        return {group: pools[group][: wanted[group]] for group in GROUPS}, pools["main"][wanted["main"] :]
    pool = [paragraph for article in found for paragraph in article]
    dice.shuffle(pool)
    groups = {}
    for group in GROUPS:
        groups[group], pool = pool[: wanted[group]], pool[wanted[group] :]
    return groups, pool


def laid_out(place: Path, groups: Mapping[str, Sequence[Paragraph]], rest: Sequence[Paragraph]) -> None:
    """Write the folders and the cases; the same draw writes the same bytes."""
    for folder in ("main", "second"):
        shutil.rmtree(place / folder, ignore_errors=True)
        (place / folder).mkdir(parents=True)
    for paragraph in (*groups["main"], *rest):
        text = f"# {paragraph.title}\n\n{paragraph.text}\n"
        (place / "main" / f"{paragraph.name}.md").write_text(text, encoding="utf-8")
    for paragraph in groups["second"]:
        head = f"<title>{html.escape(paragraph.title)}</title>"
        head += f'<link rel="canonical" href="https://example.org/{paragraph.name}">'
        body = f"<h1>{html.escape(paragraph.title)}</h1><p>{html.escape(paragraph.text)}</p>"
        page = f"<!DOCTYPE html><html><head>{head}</head><body><article>{body}</article></body></html>\n"
        (place / "second" / f"{paragraph.name}.html").write_text(page, encoding="utf-8")
    lines = []
    for group, suffix in zip(GROUPS, (".md", ".html", ""), strict=True):
        for paragraph in groups[group]:
            case: dict[str, Any] = {"id": f"{group} {paragraph.name}", "question": paragraph.question, "note": group}
            case["answerable"] = bool(suffix)
            if suffix:
                case |= {"answers": list(paragraph.answers), "relevant": [{"file": paragraph.name + suffix}]}
            lines.append(json.dumps(case) + "\n")
    (place / "cases.jsonl").write_text("".join(lines), encoding="utf-8")


# --- asking and counting


def evaluated(place: Path, how: str, engine: str) -> Any:
    """The run of `local-rag eval`, in the folder of this draw."""
    from local_rag.config.settings import Settings
    from local_rag.evaluation.evaluate import EvaluationRequest, evaluate
    from local_rag.evaluation.formats import open_cases
    from local_rag.evaluation.runner import Plan
    from local_rag.runtime.indexing import Request, index_files
    from local_rag.terminal.console import TerminalDisplay, stderr

    display = TerminalDisplay(stderr())
    source = str(place / "second") if how == "with" else ""
    settings = Settings.load(index=str(place / "index"), engine=engine, web__enabled="off", web__source=source)
    index_files(settings, Request([place / "main"]), display)
    request = EvaluationRequest(
        open_cases([place / "cases.jsonl"], "jsonl"), Plan(ASKED[how], ()), out=place / f"run-{how}"
    )
    evaluation = evaluate(settings, request, display)
    if evaluation.error:
        raise evaluation.error
    return evaluation.folder


Values = dict[str, dict[str, float]]
"""Figure -> case -> value in [0, 1]."""

FIGURES = {
    "right": "right: contains a reference answer, or refuses where neither folder has one",
    "contains": "contains an answer, of the answerable",
    "cited": "cites the gold passage, of the answerable",
    "answered": "answered, of the answerable",
    "refused": "refused, of the unanswerable",
}


def values(folder: Any, graph: str) -> Values:
    """The figures of each case of a graph; an abstention contains and cites nothing."""
    from local_rag.evaluation.measures import MEASURES

    found: Values = {name: {} for name in FIGURES}
    for case in folder.cases:
        record = folder.record(("answer", case.id, graph))
        of = {
            name: MEASURES[name].of(case, record) for name in ("containment", "citation_recall", "refused", "answered")
        }
        if case.answerable:
            found["contains"][case.id] = of["containment"] or 0.0
            found["cited"][case.id] = of["citation_recall"] or 0.0
            found["answered"][case.id] = of["answered"] or 0.0
        else:
            found["refused"][case.id] = of["refused"] or 0.0
        found["right"][case.id] = (of["containment"] if case.answerable else of["refused"]) or 0.0
    return found


def overview(graded: Mapping[str, Values]) -> Table:
    """Each graph, without the fallback corpus and with it: the figures, and by group where they are not one group's."""
    columns = ["", "right", "contains: main", "second", "cited: main", "second", "answered: main", "second", "refused"]
    rows: list[list[Cell]] = []
    for name, found in graded.items():
        row: list[Cell] = [name, _mean(found["right"], "")]
        for figure in ("contains", "cited", "answered"):
            row += [_mean(found[figure], "main"), _mean(found[figure], "second")]
        rows.append([*row, _mean(found["refused"], "")])
    return Table("shares of questions, by where the answer lies", columns, rows)


def _mean(by_case: Mapping[str, float], group: str) -> float:
    held = [value for case, value in by_case.items() if case.startswith(group)]
    return round(sum(held) / max(1, len(held)), 3)


def compared(graded: Mapping[str, Values], a: str, b: str) -> Table:
    """B against A, case by case: the difference with its bootstrap interval of 95 %, and McNemar's p."""
    from local_rag.evaluation.statistics import bootstrap_interval, mcnemar

    rows: list[list[Cell]] = []
    for figure, meaning in FIGURES.items():
        pairs = [(graded[a][figure][case], graded[b][figure][case]) for case in graded[a][figure]]
        differences = [right - left for left, right in pairs]
        low, high = bootstrap_interval(differences, 0) or (0.0, 0.0)
        p = mcnemar(sum(value < 0 for value in differences), sum(value > 0 for value in differences))
        mean_a, mean_b = (sum(pair[side] for pair in pairs) / len(pairs) for side in (0, 1))
        rows.append(
            [meaning, len(pairs), round(mean_a, 3), round(mean_b, 3), f"{mean_b - mean_a:+.3f}",
             f"{low:+.3f} to {high:+.3f}", "<.001" if p < 0.001 else f"{p:.3f}"]
        )  # fmt: skip
    return Table(f"A: {a}   B: {b}", ["", "cases", "A", "B", "B - A", "95 %", "McNemar p"], rows)
