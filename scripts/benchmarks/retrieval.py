"""How dense and sparse scores become one order: rank fusion against sums, on cases of anybody's, in an index of theirs.

    local-rag index FOLDER --index NAME
    python scripts/bench.py retrieval --index NAME --cases CASES [--cases MORE]

The constants of `index/search.py` and the columns of `index/store/full_text.py` were chosen by it. With --half, cases
are drawn by a seed into two halves: choose by the first, report the second.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from random import Random
from sqlite3 import Connection
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.report import Cell, Report, Table

if TYPE_CHECKING:
    from local_rag.core.protocols import Embedder
    from local_rag.evaluation.cases import Case
    from local_rag.index.store.store import Store

DEEP = 400
"""Candidates of each kind, as `local-rag eval` takes them."""
SHARES = (0.2, 0.4, 0.6, 0.8, 1.0)
WEIGHTS = (1.0, 1.5, 2.0, 3.0)

Order = dict[int, float]


class Scores(NamedTuple):
    """What an index knows of a query: cosines and shares of BM25 by chunk, of all candidates, and both rankings."""

    cosines: Mapping[int, float]
    shares: Mapping[int, float]
    dense: Sequence[int]
    sparse: Sequence[int]


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--index", required=True, metavar="NAME|PATH", help="the index to search")
    parser.add_argument("--cases", required=True, action="append", type=Path, metavar="CASES", help="as for eval")
    parser.add_argument("--half", choices=("first", "second"), help="one half of the cases, drawn by the seed 7")


def run(options: Namespace, data: Path) -> Report:
    """Search once per case and kind, and put the candidates in order in every way."""
    from local_rag.config.settings import Settings
    from local_rag.evaluation.sets import open_cases
    from local_rag.index.store.store import Store
    from local_rag.runtime.opening import open_embedder

    settings = Settings.load()
    settings = replace(settings, values=settings.values.model_copy(update={"index": options.index}))
    cases = _half([case for case in open_cases(options.cases).cases if case.relevant], options.half)
    with closing(Store(settings.index_path)) as store:
        scores = [_scores(store, open_embedder(settings), case.question) for case in cases]
        figures = {name: _figures(store, cases, scores, order) for name, order in _orders().items()}
    report = Report("retrieval", "reciprocal rank fusion, both rankings alike")
    baseline = figures["RRF 1:1"]
    rows = [[name, *_row(rows, baseline)] for name, rows in figures.items()]
    columns = ["", "nDCG@10", "R@1", "R@10", "nDCG@10 more", "from", "to"]
    report.tables.append(Table(f"{len(cases)} cases of {options.index}", columns, rows))
    report.notes.append("more: than reciprocal rank fusion; from, to: 95 % of the differences, bootstrap over cases")
    return report


def _half(cases: list[Case], half: str | None) -> list[Case]:
    if half is None:
        return cases
    mixed = Random(7).sample(cases, len(cases))
    middle = len(mixed) // 2
    return mixed[:middle] if half == "first" else mixed[middle:]


def _orders() -> dict[str, Callable[[Scores], Order]]:
    """The ways of ordering, by name."""
    from local_rag.index.search import combined

    def added(share: float) -> Callable[[Scores], Order]:
        return lambda s: {c: cosine + share * s.shares.get(c, 0.0) for c, cosine in s.cosines.items()}

    def ranked(weight: float) -> Callable[[Scores], Order]:
        return lambda s: _reciprocal_ranks([s.dense, s.sparse], [weight, 1.0])

    orders: dict[str, Callable[[Scores], Order]] = {
        "dense": lambda s: {chunk: s.cosines[chunk] for chunk in s.dense},
        "sparse": lambda s: dict(s.shares),
        "local-rag": lambda s: combined(s.cosines, s.shares),
    }
    orders |= {f"RRF {weight:g}:1": ranked(weight) for weight in WEIGHTS}
    return orders | {f"cosine + {share:g} BM25": added(share) for share in SHARES}


def _reciprocal_ranks(rankings: Sequence[Sequence[int]], weights: Sequence[float]) -> Order:
    """Cormack, Clarke and Buettcher, Reciprocal Rank Fusion, SIGIR 2009; k = 60 as there."""
    scores: Order = defaultdict(float)
    for ranking, weight in zip(rankings, weights, strict=True):
        for rank, chunk in enumerate(ranking, start=1):
            scores[chunk] += weight / (60 + rank)
    return scores


def _scores(store: Store, embedder: Embedder, question: str) -> Scores:
    from local_rag.index.store import vectors
    from local_rag.index.store.full_text import Frequencies, Words

    query = embedder.embed_queries([question])[0]

    def scored(db: Connection, meta: dict[str, str], index: vectors.VectorIndex) -> Scores:
        words = Words(db, Frequencies(), meta["generation"], question)
        dense, _ = vectors.nearest(db, index, query, DEEP)
        sparse = words.best(DEEP)
        cosines = dict(dense) | dict(vectors.exact(db, query, [chunk for chunk, _ in sparse]))
        shares = {chunk: -score / words.highest for chunk, score in sparse}
        return Scores(cosines, shares, [chunk for chunk, _ in dense], [chunk for chunk, _ in sparse])

    return store.search(scored)


def _figures(
    store: Store, cases: Sequence[Case], scores: Sequence[Scores], order: Callable[[Scores], Order]
) -> list[tuple[float, float, float]]:
    """(nDCG@10, R@1, R@10) of each case."""
    from local_rag.evaluation import matching
    from local_rag.evaluation.metrics import ndcg, recall
    from local_rag.index.search import document
    from local_rag.index.store import reads

    rows = []
    for case, known in zip(cases, scores, strict=True):
        ordered = order(known)
        best = sorted(ordered, key=lambda chunk: (-ordered[chunk], chunk))[:100]
        ranking = matching.ranking(case, [document(passage) for passage in store.read(reads.passages, best)])
        units, gains = ranking.units, ranking.gains
        rows.append((ndcg(units, gains), recall(units, gains, 1), recall(units, gains, 10)))
    return rows


def _row(rows: Sequence[tuple[float, float, float]], baseline: Sequence[tuple[float, float, float]]) -> list[Cell]:
    from local_rag.evaluation.statistics import bootstrap_interval, mean

    differences = [own[0] - other[0] for own, other in zip(rows, baseline, strict=True)]
    low, high = bootstrap_interval(differences, 0) or (0.0, 0.0)
    figures = [mean([row[place] for row in rows]) for place in range(3)]
    return [f"{figure:.3f}" for figure in (*figures, mean(differences) or 0.0, low, high) if figure is not None]
