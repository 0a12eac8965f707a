"""Measure the cost of a question: Self-RAG and Adaptive RAG with our calls, against the LangGraph tutorials' calls.

All run through the same graphs, engine and server; only `grading` differs. `each` is the baseline: one grading call per
document. `packed` grades as many passages in one call as fit; with `evaluator` the packaged model grades them.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from statistics import median
from typing import NamedTuple

from benchmarks.commands import environment, index, must_have_ollama
from benchmarks.report import Cell, Report, Table
from local_rag.config.values import Grading, GraphName

GRAPHS: tuple[GraphName, ...] = ("self-rag", "adaptive")
GRADINGS: tuple[Grading, ...] = ("each", "packed", "evaluator")
DEMO = Path(__file__).parents[2] / "local_rag" / "diagnostics" / "demo" / "documents"
QUESTIONS = (
    "What does CRAG do when every retrieved document is irrelevant?",
    "How does Self-RAG check the answer that it has written?",
    "Which questions does Adaptive RAG send to the web?",
)


class Cost(NamedTuple):
    """Hold medians over the questions: seconds, calls, prompt tokens and written tokens of one question."""

    seconds: float
    calls: float
    read: float
    written: float


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    parser.add_argument("--ollama", metavar="MODEL", default="", help="the model (default: what local-rag chooses)")
    parser.add_argument("--k", type=int, default=8, help="passages of a question (default: %(default)s)")
    parser.add_argument("--times", type=int, default=3, metavar="N", help="rounds (default: %(default)s)")


def run(options: argparse.Namespace, data: Path) -> Report:
    """Ask each question in every way, in turns; the first round warms model and server."""
    must_have_ollama(options.ollama)
    corpus = str(index(data, DEMO))
    os.environ |= {**environment(data), "LOCAL_RAG_ENGINE": "ollama"}
    taken: dict[tuple[GraphName, Grading], list[Cost]] = {
        (graph, grading): [] for graph in GRAPHS for grading in GRADINGS
    }
    for number in range(options.times + 1):
        for graph, grading in taken:
            asked = _asked(graph, grading, corpus, options)
            if number:
                taken[graph, grading] += asked
    rows: list[list[Cell]] = []
    for (graph, grading), costs in taken.items():
        cost, each = _medians(costs), _medians(taken[graph, "each"])
        ratios = [mine / max(base, 1) for mine, base in zip(cost[1:], each[1:], strict=True)]
        rows.append([f"{graph}: {grading}", cost.seconds, cost.seconds / each.seconds, *ratios])
    columns = ["", "seconds", "of `each`", "calls, of `each`", "tokens read, of `each`", "written, of `each`"]
    title = f"One question, {options.k} passages, medians of {options.times} rounds of {len(QUESTIONS)}"
    note = "with real weights the ways of a graph may differ by the verdicts: the calls show it"
    return Report(
        "question", "the calls of the LangGraph tutorials (`grading: each`)", [Table(title, columns, rows)], [note]
    )


def _asked(graph: GraphName, grading: Grading, corpus: str, options: argparse.Namespace) -> list[Cost]:
    from local_rag import Rag

    costs, model = [], options.ollama or None
    with Rag.open(index=corpus, graph=graph, k=options.k, ollama__grading=grading, model=model) as rag:
        for question in QUESTIONS:
            began = time.perf_counter()
            usage = rag.ask(question).usage
            seconds = time.perf_counter() - began
            costs.append(Cost(seconds, usage.calls, usage.prompt_tokens, usage.output_tokens))
    return costs


def _medians(costs: list[Cost]) -> Cost:
    return Cost(*(median(values) for values in zip(*costs, strict=True)))
