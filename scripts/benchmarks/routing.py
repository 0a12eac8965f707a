"""Does Adaptive RAG's router choose the right source, with the extractive engine, among 5, 500 and 5,000 documents?

The questions and five documents of a person are ours (`data/routing`); any folder of other texts goes around them.
Every other question of a kind was used to choose the router's weights; the figures that count are those of the rest.
The baseline is the rule that looks at the nearest cosine alone, limit 0.30, as the router did before.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import statistics
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from benchmarks.commands import environment, must, program, timed
from benchmarks.report import Cell, Report, Table
from local_rag.core.verdicts import Source

if TYPE_CHECKING:
    from local_rag.index.index import Index

OWN = Path(__file__).parent / "data" / "routing"
SIZES = (5, 500, 5_000)
LIMIT = 0.30
ABOUT = "Tomas's papers: the lease of his flat, the boiler, his job contract, the hiking club, baking with sourdough."
RIGHT: dict[str, set[Source]] = {
    "files": {"vectorstore"},
    "current": {"web_search"},
    "chat": {"vectorstore", "direct"},
}
"""Where questions of each kind belong; small talk belongs anywhere but on the web."""
KINDS = {"files": "in the files", "current": "current events", "chat": "small talk"}


@dataclass(frozen=True)
class Question:
    """A question, its kind, and whether it was used for choosing the weights."""

    text: str
    kind: str
    tuned: bool


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--fillers", type=Path, required=True, metavar="FOLDER", help="texts to put around the five documents"
    )
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)), metavar="N,N", help="documents (%(default)s)")


def run(options: Namespace, data: Path) -> Report:
    """Index what is missing, and route every question with each index."""
    posed = list(questions(OWN / "questions.jsonl"))
    report = Report("routing", f"the nearest cosine alone, limit {LIMIT:.2f}")
    rows: list[list[Cell]] = []
    costs: list[list[Cell]] = []
    for size in map(int, options.sizes.split(",")):
        place = made(data / "routing", options.fillers, size)
        with _opened(place) as index:
            began = time.perf_counter()
            topics = len(index.catalog().topics)
            first = time.perf_counter() - began
            routes = {question: _routed(index, question.text) for question in posed}
            index.set_about(ABOUT)
            told = {question: _routed(index, question.text)[1] for question in posed}
            index.set_about("")
            seconds = statistics.median(seconds for *_, seconds in routes.values())
            costs.append([f"{size:,}", index.count(), topics, first, seconds])
        for tuned in (True, False):
            for kind, named in KINDS.items():
                mine = [question for question in posed if (question.kind, question.tuned) == (kind, tuned)]
                before = _share(mine, [routes[question][0] for question in mine])
                now = _share(mine, [routes[question][1] for question in mine])
                half = "tuned on" if tuned else "the rest"
                rows.append(
                    [
                        f"{size:,}",
                        named,
                        half,
                        len(mine),
                        before,
                        now,
                        _share(mine, [told[question] for question in mine]),
                    ]
                )
    report.tables += [
        Table(
            "share routed rightly", ("documents", "kind", "half", "questions", "before", "now", "with --about"), rows
        ),
        Table("costs", ("documents", "passages", "topics", "catalog s", "route s, median"), costs),
    ]
    report.notes.append("small talk is right where nothing is sent to the web; this engine cannot answer it")
    return report


def questions(file: Path) -> Iterator[Question]:
    """The questions of a file, one JSON object per line; of each kind every other one is of the tuned half."""
    seen = dict.fromkeys(RIGHT, 0)
    for line in file.read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        kind = entry["class"]
        yield Question(entry["question"], kind, tuned=seen[kind] % 2 == 0)
        seen[kind] += 1


def made(data: Path, fillers: Path, size: int) -> Path:
    """The index of so many documents: the person's own, and the first fillers in an order of their digests."""
    files = data / f"files-{size}"
    others = sorted(
        (path for path in fillers.rglob("*") if path.is_file()),
        key=lambda path: hashlib.sha256(path.relative_to(fillers).as_posix().encode()).digest(),
    )
    own = sorted((OWN / "documents").iterdir())
    chosen = [(path, path.name) for path in own]
    chosen += [(path, str(path.relative_to(fillers))) for path in others[: size - len(own)]]
    if len(chosen) < size:
        raise SystemExit(f"error: {fillers} has {len(others)} files, and {size - len(own)} are needed")
    for source, name in chosen:
        target = files / name
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
    place = data / f"index-{size}"
    must(timed([*program(), "index", str(files), "--index", str(place)], environment(data)))
    return place


def _opened(place: Path) -> Index:
    from local_rag.config.settings import Settings
    from local_rag.index.index import Index
    from local_rag.runtime.opening import open_embedder

    settings = Settings.load(index=str(place))
    return Index.open(place, open_embedder(settings), chunk_size=None, chunk_overlap=None)


def _routed(index: Index, question: str) -> tuple[Source, Source, float]:
    """The route by the nearest cosine alone, that of the router, and the router's seconds."""
    from local_rag.config.settings import Settings
    from local_rag.engines.extractive.engine import ExtractiveEngine
    from local_rag.graphs.deps import Deps
    from local_rag.graphs.nodes.routing import ask_router
    from local_rag.runtime.opening import open_evaluator
    from local_rag.web.search import Off

    best = index.search(question, 1)
    near = best[0].metadata["score"] if best else -1.0
    evaluator, lacking = open_evaluator(Settings.load())
    if evaluator is None:
        raise SystemExit(f"error: {lacking}")
    deps = Deps(index, ExtractiveEngine(index.embedder, evaluator, index), Off())
    began = time.perf_counter()
    route = ask_router(question, deps, get_args(Source))
    return "vectorstore" if near >= LIMIT else "web_search", route.source, time.perf_counter() - began


def _share(questions: Sequence[Question], routes: Sequence[Source]) -> float:
    return statistics.mean(route in RIGHT[question.kind] for question, route in zip(questions, routes, strict=True))
