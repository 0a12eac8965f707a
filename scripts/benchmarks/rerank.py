"""What the evaluator is worth as a reranker: how many passages it reads, and how its score joins that of the search.

    local-rag index FOLDER --index NAME
    python scripts/bench.py rerank --index NAME --cases CASES

The constants of `index/reranked.py` were chosen by it. What was read is kept in --data for one evaluator and index, so
that another weighing costs nothing. --half as for `retrieval`: choose by the first, report the second.
"""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from benchmarks.report import Cell, Report, Table

if TYPE_CHECKING:
    from langchain_core.documents import Document

    from local_rag.core.protocols import Evaluator
    from local_rag.evaluation.cases import Case
    from local_rag.index.index import Index

SEED = 7
READ = 30
"""Passages that are read of each search."""
FIRST = (5, 10, 15, 20, 30)
WEIGHTS = (0.001, 0.002, 0.003, 0.005, 0.008, 0.012)
SEARCHED = 300
"""Passages that a ranking is made of: a file is found by several."""


@dataclass(frozen=True)
class Read:
    """A passage of a search: its score there, what the evaluator reads in it (None where it is not read)."""

    units: list[str]
    rank_score: float
    present: float | None = None
    about: float | None = None
    answerable: float | None = None


@dataclass(frozen=True)
class Ranked:
    """A case's search, best first, and what its targets are worth."""

    passages: list[Read]
    gains: dict[str, float]


Order = Callable[[Read], float]


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--index", required=True, metavar="NAME|PATH", help="the index to search")
    parser.add_argument("--cases", required=True, type=Path, metavar="CASES", help="as for eval")
    parser.add_argument("--split", metavar="NAME", help="the split of a BEIR folder; test if left out")
    parser.add_argument("--half", choices=("first", "second"), help=f"one half of the cases, drawn by the seed {SEED}")
    parser.add_argument("--limit", type=int, metavar="N", help=f"only N cases, drawn by the seed {SEED}")


def run(options: Namespace, data: Path) -> Report:
    """Read what is not read yet, and put the passages in order in every way."""
    cases = _chosen(options)
    ranked = list(_all(options.index, cases, data / "rerank"))
    report = Report("rerank", "hybrid search as it is")
    before = [_ndcg(case, lambda passage: passage.rank_score, 0) for case in ranked]
    rows: list[list[Cell]] = []
    for name, order in _orders().items():
        for first in FIRST:
            rows.append([name, first, *_row([_ndcg(case, order, first) for case in ranked], before)])
    columns = ["", "read", "nDCG@10", "more", "from", "to"]
    report.tables.append(Table(f"{len(cases)} cases of {options.index}, hybrid {_mean(before):.4f}", columns, rows))
    report.notes.append("more: than hybrid search; from, to: 95 % of the differences, bootstrap over cases")
    return report


def _chosen(options: Namespace) -> list[Case]:
    from local_rag.evaluation.formats import open_cases

    cases = [case for case in open_cases([options.cases], None, options.split).cases if case.relevant]
    cases = Random(SEED).sample(cases, len(cases))
    middle = len(cases) // 2
    if options.half:
        cases = cases[:middle] if options.half == "first" else cases[middle:]
    return cases[: options.limit]


def _orders() -> dict[str, Order]:
    """The ways of ordering what is read, by name."""
    from local_rag.index.reranked import ABOUT

    def present(passage: Read) -> float:
        return passage.present or 0.0

    def expected(passage: Read) -> float:
        return present(passage) + ABOUT * (passage.about or 0.0)

    def answerable(passage: Read) -> float:
        return passage.answerable or 0.0

    def added(weight: float, read: Order) -> Order:
        return lambda passage: passage.rank_score + weight * read(passage)

    readings = {"present": present, f"(present + {ABOUT:g} about)": expected, "answerable": answerable}
    orders: dict[str, Order] = {f"{name} alone": order for name, order in readings.items()}
    for name, order in readings.items():
        orders |= {f"rank score + {weight:g} {name}": added(weight, order) for weight in WEIGHTS}
    return orders


def _all(name: str, cases: Sequence[Case], kept: Path) -> Iterator[Ranked]:
    """The ranking of each case, read from `kept` where an earlier run left it."""
    from local_rag.config.settings import Settings
    from local_rag.runtime.opening import open_embedder, open_evaluator, open_index

    settings = Settings.load(index=name)
    evaluator, lacking = open_evaluator(settings)
    if evaluator is None:
        raise SystemExit(f"error: there is no evaluator\n  {lacking or 'leave out evaluator: off'}")
    with open_index(settings, open_embedder(settings)) as index:
        file = kept / f"{evaluator.fingerprint}-{index.content()}.jsonl"
        file.parent.mkdir(parents=True, exist_ok=True)
        known = dict(map(json.loads, file.read_text(encoding="utf-8").splitlines())) if file.exists() else {}
        for case in cases:
            if case.question not in known:
                ranked = _ranked(case, index, evaluator)
                known[case.question] = asdict(ranked)
                with file.open("a", encoding="utf-8") as lines:
                    lines.write(json.dumps([case.question, asdict(ranked)]) + "\n")
            row = known[case.question]
            yield Ranked([Read(**passage) for passage in row["passages"]], row["gains"])


def _ranked(case: Case, index: Index, evaluator: Evaluator) -> Ranked:
    from local_rag.evaluation.matching import ranking

    passages = index.search(case.question, SEARCHED, repeats=True)
    readings = evaluator.read(case.question, passages[:READ])
    every = [Read(_units(case, passage), float(passage.metadata["rank_score"])) for passage in passages]
    read = [
        replace(passage, present=reading.present, about=reading.about, answerable=reading.answerable)
        for passage, reading in zip(every, readings, strict=False)
    ]
    return Ranked([*read, *every[len(read) :]], ranking(case, passages).gains)


def _units(case: Case, passage: Document) -> list[str]:
    from local_rag.evaluation.matching import ranking

    return list(ranking(case, [passage]).units)


def _ndcg(case: Ranked, order: Order, first: int) -> float:
    """nDCG@10 with the first so many passages put in that order."""
    from local_rag.evaluation.ranking_metrics import ndcg

    ahead = sorted(case.passages[:first], key=lambda passage: -order(passage))
    units = [unit for passage in [*ahead, *case.passages[first:]] for unit in passage.units]
    return ndcg(list(dict.fromkeys(units)), case.gains) or 0.0


def _mean(values: Sequence[float]) -> float:
    return sum(values) / max(1, len(values))


def _row(own: Sequence[float], before: Sequence[float]) -> list[Cell]:
    from local_rag.evaluation.statistics import bootstrap_interval

    differences = [after - other for after, other in zip(own, before, strict=True)]
    low, high = bootstrap_interval(differences, 0) or (0.0, 0.0)
    return [f"{figure:.4f}" for figure in (_mean(own), _mean(differences), low, high)]
