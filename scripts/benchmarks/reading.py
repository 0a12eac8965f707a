"""What the evaluator costs a question of the extractive engine: without it and with it.

All ways are asked each question in turn, in one process, with everything loaded; `cold-start` has the start. Processor
seconds are those of all threads: other programs on the machine do not change them much.
"""

from __future__ import annotations

import os
import statistics
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from benchmarks import corpora
from benchmarks.cold_start import CHARACTERS, FILES
from benchmarks.commands import environment
from benchmarks.report import Cell, Report, Table, percentile

if TYPE_CHECKING:
    from local_rag.runtime.rag import Rag

WAYS: Mapping[str, dict[str, Any]] = {
    "evaluator: off": {"evaluator": "off"},
    "with the evaluator": {},
}
"""The settings that are compared; the first is the baseline."""
GRAPHS = ("plain", "self-rag")
SEED = 7


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--index", metavar="NAME|PATH", help="ask this index, as it is")
    parser.add_argument("--cases", type=Path, metavar="CASES", help="with --index: its questions, as for eval")
    parser.add_argument("--limit", type=int, default=40, metavar="N", help="questions (default: %(default)s)")
    parser.add_argument("--text", type=Path, metavar="FOLDER|JSONL", help="text to index instead of the installed one")


def run(options: Namespace, data: Path) -> Report:
    """Ask every question in every way."""
    from local_rag.runtime.rag import Rag

    index, questions = _prepared(options, data)
    report = Report("reading", "`evaluator: off`")
    with ExitStack() as opened:
        rags = {
            way: opened.enter_context(Rag.open(index=index, engine="extractive", **settings))
            for way, settings in WAYS.items()
        }
        for graph in GRAPHS:
            report.tables.append(_table(graph, _taken(rags, graph, questions)))
    report.notes.append("processor: the same ratio in processor seconds of all threads")
    return report


def _prepared(options: Namespace, data: Path) -> tuple[str, list[str]]:
    """The index and the questions; without options those of `cold-start`, its settings and caches too."""
    if options.index:
        from local_rag.evaluation.formats import open_cases

        cases = open_cases([options.cases]).cases if options.cases else ()
        posed = [case.question for case in cases] or list(corpora.QUESTIONS)
        return options.index, Random(SEED).sample(posed, min(options.limit, len(posed)))
    corpora.ready(data)
    os.environ |= {name: value for name, value in environment(data).items() if name.startswith("LOCAL_RAG_")}
    folder = corpora.folder(data, "start", FILES, CHARACTERS, options.text)
    return str(corpora.index(data, folder)), list(corpora.QUESTIONS)


def _taken(rags: Mapping[str, Rag], graph: str, questions: Sequence[str]) -> dict[str, list[tuple[float, float]]]:
    """(seconds, processor seconds) of each question, by way; the first question warms all of them up."""
    taken: dict[str, list[tuple[float, float]]] = {way: [] for way in rags}
    for number, question in enumerate([questions[0], *questions]):
        ways = list(rags) if number % 2 else list(reversed(list(rags)))
        for way in ways:
            began, busy = time.perf_counter(), time.process_time()
            rags[way].ask(question, graph=graph, record=False)
            if number:
                taken[way].append((time.perf_counter() - began, time.process_time() - busy))
    return taken


def _table(graph: str, taken: Mapping[str, Sequence[tuple[float, float]]]) -> Table:
    base = next(iter(taken.values()))
    rows: list[list[Cell]] = []
    for way, costs in taken.items():
        seconds = [cost[0] for cost in costs]
        median = statistics.median(seconds)
        busy = statistics.median(cost[1] for cost in costs)
        rows.append(
            [
                way, median, percentile(seconds, 0.95), median / statistics.median(cost[0] for cost in base),
                busy, busy / statistics.median(cost[1] for cost in base),
            ]
        )  # fmt: skip
    columns = ["", "p50 s", "p95 s", "ratio", "processor s", "ratio"]
    return Table(f"{graph}: seconds of {len(base)} questions", columns, rows)
