"""Compare ways to merge dense and sparse scores into one order: rank fusion against sums, on cases in an index.

    local-rag index FOLDER --index NAME
    python scripts/bench.py retrieval --index NAME --cases CASES [MORE]

The constants of `index/search.py` and the columns of `index/store/sqlite/words.py` were chosen with it.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.report import Cell, Report, Table
from local_rag.config.settings import Settings
from local_rag.evaluation import matching
from local_rag.evaluation.cases import Case
from local_rag.evaluation.metrics import ndcg, recall
from local_rag.evaluation.sets import open_cases
from local_rag.evaluation.statistics import bootstrap_interval, mean
from local_rag.index.search import combined, document
from local_rag.index.store.opening import opened
from local_rag.index.store.protocol import Store
from local_rag.runtime.opening import open_embedder

if TYPE_CHECKING:
    from local_rag.core.protocols import Vectors

DEEP = 400
"""The number of candidates of each kind, as in `local-rag eval`."""

BASELINE = "reciprocal rank fusion"

Order = Mapping[int, float]


class Scores(NamedTuple):
    """Hold an index's scores for a query: cosines and shares of BM25 of all candidates by chunk, and both rankings."""

    cosines: Mapping[int, float]
    shares: Mapping[int, float]
    dense: Sequence[int]
    sparse: Sequence[int]


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options of this benchmark."""
    parser.add_argument("--index", required=True, metavar="NAME|PATH", help="the index to search")
    parser.add_argument("--cases", required=True, nargs="+", type=Path, metavar="CASES", help="as for eval")


def run(options: Namespace, data: Path) -> Report:
    """Search once per case, and order the candidates in every way."""
    settings = Settings.load(index=options.index)
    embedder = open_embedder(settings)
    cases = [case for case in open_cases(options.cases).cases if case.relevant]
    figures: dict[str, list[tuple[float, ...]]] = {name: [] for name in ORDERS}
    with closing(opened(settings.index_path)) as store:
        for case in cases:
            known = _scores(store, embedder.embed_queries([case.question])[0], case.question)
            for name, order in ORDERS.items():
                figures[name].append(_figures(store, case, order(known)))
    rows: list[list[Cell]] = []
    for name, values in figures.items():
        more = [own[0] - other[0] for own, other in zip(values, figures[BASELINE], strict=True)]
        shown = [
            *(mean(column) for column in zip(*values, strict=True)),
            mean(more),
            *(bootstrap_interval(more, 0) or ()),
        ]
        rows.append([name, *(f"{figure:.3f}" for figure in shown if figure is not None)])
    columns = ["", "nDCG@10", "R@1", "R@10", "nDCG@10 more", "from", "to"]
    table = Table(f"{len(cases)} cases of {options.index}", columns, rows)
    note = "more: than reciprocal rank fusion; from, to: 95 % of the differences, bootstrap over cases"
    return Report("retrieval", BASELINE, [table], [note])


def _added(share: float) -> Callable[[Scores], Order]:
    return lambda known: {c: cosine + share * known.shares.get(c, 0.0) for c, cosine in known.cosines.items()}


def _fused(known: Scores) -> Order:
    """Return the scores of Cormack, Clarke and Buettcher, Reciprocal Rank Fusion, SIGIR 2009; k = 60 as there."""
    scores: dict[int, float] = defaultdict(float)
    for ranking in (known.dense, known.sparse):
        for rank, chunk in enumerate(ranking, start=1):
            scores[chunk] += 1 / (60 + rank)
    return scores


ORDERS: dict[str, Callable[[Scores], Order]] = {
    "dense": lambda known: {chunk: known.cosines[chunk] for chunk in known.dense},
    "sparse": lambda known: known.shares,
    "local-rag": lambda known: combined(known.cosines, known.shares),
    BASELINE: _fused,
    **{f"cosine + {share:g} BM25": _added(share) for share in (0.2, 0.4, 0.6, 0.8, 1.0)},
}


def _scores(store: Store, query: Vectors, question: str) -> Scores:
    dense, shares = dict(store.nearest(query, DEEP)), store.match(question, DEEP)
    return Scores(dense | store.cosines(query, list(shares)), shares, list(dense), list(shares))


def _figures(store: Store, case: Case, order: Order) -> tuple[float, ...]:
    """Return nDCG@10, R@1 and R@10."""
    best = sorted(order, key=lambda chunk: (-order[chunk], chunk))[:100]
    ranking = matching.ranking(case, [document(passage) for passage in store.passages(best)])
    units, gains = ranking.units, ranking.gains
    return ndcg(units, gains), recall(units, gains, 1), recall(units, gains, 10)
