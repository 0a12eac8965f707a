"""Compare an index on a PostgreSQL server with one in a folder, on the same passages.

    python scripts/bench.py postgres --server URL

URL is postgresql://USER@HOST/DATABASE; the index `bench` there is made anew.
"""

from __future__ import annotations

import threading
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.report import Cell, Report, Table, percentile
from benchmarks.search import PER_FILE, write
from local_rag.config.settings import index_path
from local_rag.index.copying import copy
from local_rag.index.index import Index
from local_rag.index.search import Mode
from local_rag.index.store import opening
from local_rag.index.store.values import IndexSettings

if TYPE_CHECKING:
    from local_rag.core.protocols import Vectors

CLUSTERS, WORDS, LENGTH, DIMENSION, QUERIES, CLIENTS = 2_000, 40_000, 120, 384, 100, 8
MODES: tuple[Mode, ...] = ("dense", "words", "hybrid")


class Made:
    """Make passages in clusters, with words by Zipf's law; a query is near a passage, and has six of its words."""

    name, fingerprint, dimension, window = "made", "made-384", DIMENSION, 10_000

    def __init__(self) -> None:
        self.dice = np.random.default_rng(7)
        self.centres = self._unit(self.dice.standard_normal((CLUSTERS, DIMENSION)))
        self.vocabulary = np.array([f"w{number:x}q" for number in range(WORDS)])
        self.queries: dict[str, Vectors] = {}

    def _unit(self, rows: Any) -> Vectors:
        return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)  # type: ignore[no-any-return]

    def batch(self, count: int) -> tuple[Vectors, list[str]]:
        """Return unit vectors (n, d) and their texts."""
        near = self.centres[self.dice.integers(CLUSTERS, size=count)]
        vectors = self._unit(near + 0.05 * self.dice.standard_normal((count, DIMENSION)))
        ranks = np.minimum(self.dice.zipf(1.1, (count, LENGTH)) - 1, WORDS - 1)
        texts = [" ".join(row) for row in self.vocabulary[ranks]]
        for text, vector in zip(texts[:4], vectors, strict=False):
            if len(self.queries) < QUERIES:
                moved = vector + 0.02 * self.dice.standard_normal((1, DIMENSION))
                self.queries[" ".join(self.dice.choice(text.split(), 6))] = self._unit(moved)[0]
        return vectors, texts

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return np.array([self.queries[text] for text in texts])

    embed_documents = embed_queries

    def token_ends(self, text: str) -> list[int]:
        return [len(text)]


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options of this benchmark."""
    parser.add_argument("--server", required=True, metavar="URL", help="postgresql://HOST/DATABASE")
    parser.add_argument("--passages", type=int, default=100_000, help="passages (default: %(default)s)")


def run(options: Namespace, data: Path) -> Report:
    """Make the index in a folder, copy it to the server, and search both."""
    made, folder = Made(), data / f"postgres-{options.passages}" / "index"
    server = index_path(f"{options.server}#bench", data)
    for place in (folder, server):
        if opening.has_index(place):
            opening.kind_of(place).destroy(place)
    began = time.monotonic()
    _make(folder, made, options.passages)
    seconds = {"folder": time.monotonic() - began}
    began = time.monotonic()
    copy(folder, server, lambda progress: None)
    seconds["server, by copy"] = time.monotonic() - began
    rows: list[list[Cell]] = []
    for (name, second), place in zip(seconds.items(), (folder, server), strict=True):
        with Index.open(place, made, chunk_size=None, chunk_overlap=None) as index:
            size = index.status().bytes / 1e6
            rows += [[f"{name}: {mode}", second, size, *_asked(index, made, mode)] for mode in MODES]
    with Index.open(server, made, chunk_size=None, chunk_overlap=None) as index:
        recall = _recall(index, made)
        rows += [[f"server, {CLIENTS} clients, one writes: hybrid", None, None, *_crowded(index, made)]]
    report = Report("postgres", "the index in a folder, in the same run")
    columns = ["", "made in s", "MB", "p50 ms", "p95 ms"]
    report.tables.append(Table(f"{options.passages:,} passages", columns, rows))
    report.notes.append(f"recall@10 of HNSW against exact search of the same vectors: {recall:.3f}")
    return report


def _make(folder: Path, made: Made, passages: int) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    settings = IndexSettings(made.name, made.fingerprint, made.dimension, 250, 0)
    with closing(opening.kind_of(folder).create(folder, settings)) as store, store.locked():
        for first in range(0, passages, 1000):
            vectors, texts = made.batch(1000)
            with store.writing():
                for start in range(0, 1000, PER_FILE):
                    part = slice(start, start + PER_FILE)
                    write(store, (first + start) // PER_FILE, texts[part], vectors[part])
        store.refresh()


def _asked(index: Index, made: Made, mode: Mode) -> Iterator[float]:
    """Yield the median and the 95th percentile, in ms, of searches in a warm index."""
    seconds = []
    for query in [*[*made.queries][:5], *made.queries]:
        began = time.perf_counter()
        index.search(query, 10, mode=mode)
        seconds.append(time.perf_counter() - began)
    yield from (percentile(seconds[5:], share) * 1e3 for share in (0.5, 0.95))


def _recall(index: Index, made: Made) -> float:
    """Return the recall of HNSW against the cosines of all passages."""
    ids = [chunk for chunks in index.store.chunks_by_file() for chunk in chunks]
    shares = []
    for vector in list(made.queries.values())[:20]:
        cosines = index.store.cosines(vector, ids)
        exact = sorted(cosines, key=lambda chunk: -cosines[chunk])[:10]
        shares.append(len({*exact} & {chunk for chunk, _ in index.store.nearest(vector, 10)}) / 10)
    return float(np.mean(shares))


def _crowded(index: Index, made: Made) -> Iterator[float]:
    done, seconds = threading.Event(), list[float]()
    documents = made.batch(PER_FILE)

    def keep_writing() -> None:
        with closing(opening.opened(index.path)) as store:
            while not done.is_set():
                with store.writing():
                    write(store, 10_000_000, documents[1], documents[0])

    def ask(queries: list[str]) -> None:
        for query in queries:
            began = time.perf_counter()
            index.search(query, 10)
            seconds.append(time.perf_counter() - began)

    writer = threading.Thread(target=keep_writing)
    writer.start()
    queries = [*made.queries]
    clients = [threading.Thread(target=ask, args=(queries[number :: CLIENTS - 1],)) for number in range(CLIENTS - 1)]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    done.set()
    writer.join()
    yield from (percentile(seconds, share) * 1e3 for share in (0.5, 0.95))
