"""An index on a PostgreSQL server beside one in a folder, on the same passages.

    python scripts/bench.py postgres --server URL [--others URL URL]

URL is postgresql://USER@HOST/DATABASE; the index `bench` there is made anew. With --others its partitions are then
shared among the servers, and all is asked again.
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
from benchmarks.search import PER_FILE
from local_rag.config.settings import index_path
from local_rag.core.documents import LoadedDocument
from local_rag.index import stores
from local_rag.index.copying import copy
from local_rag.index.index import Index
from local_rag.index.postgres import schema
from local_rag.index.search import Mode
from local_rag.index.store import writes
from local_rag.index.store.database import Database
from local_rag.index.store.schema import FileRow, IndexSettings
from local_rag.text.chunking import Chunk

if TYPE_CHECKING:
    from local_rag.core.protocols import Vectors

CLUSTERS, WORDS, LENGTH, DIMENSION, QUERIES, CLIENTS = 2_000, 40_000, 120, 384, 100, 8
MODES: tuple[Mode, ...] = ("dense", "words", "hybrid")


class Made:
    """Passages in clusters, with words by Zipf's law; a query is near a passage, and has six of its words."""

    name, fingerprint, dimension, window = "made", "made-384", DIMENSION, 10_000

    def __init__(self) -> None:
        self.dice = np.random.default_rng(7)
        self.centres = self._unit(self.dice.standard_normal((CLUSTERS, DIMENSION)))
        self.vocabulary = np.array([f"w{number:x}q" for number in range(WORDS)])
        self.queries: dict[str, Vectors] = {}

    def _unit(self, rows: Any) -> Vectors:
        return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)  # type: ignore[no-any-return]

    def batch(self, count: int) -> tuple[Vectors, list[str]]:
        """Unit vectors (n, d) and their texts."""
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
    """Options of this benchmark."""
    parser.add_argument("--server", required=True, metavar="URL", help="postgresql://HOST/DATABASE")
    parser.add_argument("--others", nargs="+", default=[], metavar="URL", help="servers that take partitions")
    parser.add_argument("--passages", type=int, default=100_000, help="passages (default: %(default)s)")


def run(options: Namespace, data: Path) -> Report:
    """Make the index in a folder, copy it to the server, and ask both."""
    made, folder = Made(), data / f"postgres-{options.passages}" / "index"
    server = index_path(f"{options.server}#bench", data)
    for place in (folder, server):
        if stores.has_index(place):
            stores.destroy(place)
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
        recall = _recall(server, made)
        rows += [[f"server, {CLIENTS} clients, one writes: hybrid", None, None, *_crowded(index, made)]]
    if options.others:
        began = time.monotonic()
        _share([index_path(f"{url}#bench", data) for url in (options.server, *options.others)])
        moved, names = time.monotonic() - began, f"{1 + len(options.others)} servers"
        with Index.open(server, made, chunk_size=None, chunk_overlap=None) as index:
            rows += [[f"{names}: {mode}", moved, None, *_asked(index, made, mode)] for mode in MODES]
            rows += [[f"{names}, {CLIENTS} clients, one writes: hybrid", None, None, *_crowded(index, made)]]
    report = Report("postgres", "the index in a folder, in the same run")
    columns = ["", "made in s", "MB", "p50 ms", "p95 ms"]
    report.tables.append(Table(f"{options.passages:,} passages", columns, rows))
    report.notes.append(f"recall@10 of HNSW against exact search of the same vectors: {recall:.3f}")
    return report


def _make(folder: Path, made: Made, passages: int) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    settings = IndexSettings(made.name, made.fingerprint, made.dimension, 250, 0)
    with closing(stores.created(folder, settings)) as store, store.locked():
        for first in range(0, passages, 1000):
            vectors, texts = made.batch(1000)
            with store.writing() as db:
                for start in range(0, 1000, PER_FILE):
                    _write(
                        db,
                        (first + start) // PER_FILE,
                        texts[start : start + PER_FILE],
                        vectors[start : start + PER_FILE],
                    )
        store.refresh()


def _write(db: Database, number: int, texts: list[str], vectors: Vectors) -> None:
    document = LoadedDocument("\n\n".join(texts), f"Document {number}")
    starts = np.cumsum([0, *(len(text) + 2 for text in texts)])
    chunks = [Chunk(int(start), int(start) + len(text), "") for start, text in zip(starts, texts, strict=False)]
    path = f"/corpus/{number % 100:02}/{number:06}.txt"
    writes.write(db, FileRow(path, "/corpus", f"{number:064x}", 1, 1, indexed_at=1.0), [(document, chunks)])
    sql = "SELECT chunks.id, header FROM chunks JOIN documents ON documents.id = document JOIN files ON files.id = file"
    rows = db.execute(f"{sql} WHERE path = ? ORDER BY chunks.id", (path,)).fetchall()
    of_texts = {chunk: vector for (chunk, _), vector in zip(rows, vectors, strict=True)}
    headers = {header: np.zeros_like(vectors[0]) for _, header in rows if header}
    writes.set_vectors(db, list(of_texts), of_texts, headers)


def _share(places: list[Any]) -> None:
    """Give each server as many partitions as the others, by the SQL that `local-rag doctor` prints."""
    import psycopg

    first, *_ = servers = [place.server for place in places]
    for place in places[1:]:
        if stores.has_index(place):
            stores.destroy(place)
    for n in range(schema.PARTITIONS):
        other = servers[n * len(servers) // schema.PARTITIONS]
        if other is not first:
            where = other.connection()
            there, here = schema.server_sql(first, DIMENSION, n, where["host"], int(where["port"]))
            for server, sql in ((other, there), (first, here.replace("THEIR_USER", where["user"]))):
                with psycopg.connect(**server.connection(), autocommit=True) as connection:
                    connection.execute(sql.encode())


def _asked(index: Index, made: Made, mode: Mode) -> Iterator[float]:
    """The median and the 95th percentile, in ms, of searches in a warm index."""
    seconds = []
    for query in [*[*made.queries][:5], *made.queries]:
        began = time.perf_counter()
        index.search(query, 10, mode=mode)
        seconds.append(time.perf_counter() - began)
    yield from (percentile(seconds[5:], share) * 1e3 for share in (0.5, 0.95))


def _recall(server: Path, made: Made) -> float:
    from local_rag.index.postgres.tables import Nearest

    def both(db: Any, vector: Vectors) -> float:
        near, exact = (Nearest(db, exact=exact).candidates(vector, 10, None)[0] for exact in (False, True))
        return len({*near.tolist()} & {*exact.tolist()}) / 10

    with closing(stores.opened(server)) as store:
        return float(np.mean([store.read(both, vector) for vector in made.queries.values()]))


def _crowded(index: Index, made: Made) -> Iterator[float]:
    done, seconds = threading.Event(), list[float]()
    documents = made.batch(PER_FILE)

    def write() -> None:
        with closing(stores.opened(index.path)) as store:
            while not done.is_set():
                with store.writing() as db:
                    _write(db, 10_000_000, documents[1], documents[0])

    def ask(queries: list[str]) -> None:
        for query in queries:
            began = time.perf_counter()
            index.search(query, 10)
            seconds.append(time.perf_counter() - began)

    writer = threading.Thread(target=write)
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
