"""Search in 10,000 to 1,000,000 passages, beside FAISS's flat index on the same vectors."""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks import texts
from benchmarks.mixtures import Seeds, mixed_texts, mixed_vectors, seeds
from benchmarks.report import Cell, Report, Table, percentile
from benchmarks.search_measure import PER_FILE, TOP, write_file

if TYPE_CHECKING:
    from local_rag.core.protocols import Vectors

NAMES = {"flat": "FAISS flat, float32", "ours": "local-rag"}
ASKED = 60
"""Queries of each collection."""
_BATCH = 5_000

Batches = Iterator[tuple[int, "Vectors", list[str]]]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of this benchmark."""
    parser.add_argument("--sizes", default="10000,100000,1000000", help="passages (default: %(default)s)")
    texts.add_text(parser)


def run(options: argparse.Namespace, data: Path) -> Report:
    """Prepare what is not there, then ask each collection in a fresh process."""
    from local_rag.config.models import load_models
    from local_rag.config.settings import Settings
    from local_rag.index.embed.embedder import SentenceTransformerEmbedder

    settings = Settings.load()
    embedder = SentenceTransformerEmbedder(load_models(settings).embedder("minilm"), settings.cache_folder)
    known = seeds(data, options.text, embedder)
    report = Report("search", "FAISS IndexFlatIP over all float32 vectors, in the same run")
    for size in map(int, options.sizes.split(",")):
        folder = data / f"search-{options.text.name if options.text else 'installed'}-{size}"
        built = {
            "flat": _prepared(folder / "flat", partial(_flat, known=known, size=size)),
            "ours": _prepared(folder / "ours", partial(_ours, known=known, size=size, embedder=embedder)),
        }
        figures = {kind: _measured(kind, folder / kind, size, known) for kind in NAMES}
        report.tables += [_vectors(size, figures, built), _whole(size, figures["ours"])]
    report.notes += [
        "open: a fresh process, its imports done and the disk warm, until the first answer by vectors",
        "memory: after all queries; own + pages of files that are mapped (which the system may take back)",
        "local-rag's disk holds its SQLite database with texts and words; build and change: nothing is embedded",
        f"vectors: of {len(known.vectors):,} real passages, each mixed with a neighbour and moved by a difference of"
        " two others; texts: the sentences of both and of two more; queries: sentences of texts that were held out",
    ]
    return report


def _prepared(folder: Path, make: Callable[[Path], None]) -> float:
    """Make a folder once; the seconds that it took then."""
    done = folder.with_suffix(".json")
    if not done.exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.parent.mkdir(parents=True, exist_ok=True)
        began = time.perf_counter()
        make(folder)
        done.write_text(json.dumps(time.perf_counter() - began))
    return float(json.loads(done.read_text()))


def _batches(known: Seeds, size: int) -> Batches:
    """(first, vectors, texts) of all passages of a collection; the smaller one is the beginning of the larger."""
    for first in range(0, size, _BATCH):
        vectors, pairs = mixed_vectors(known, first, _BATCH)
        count = min(_BATCH, size - first)
        yield first, vectors[:count], mixed_texts(known, pairs[:count], first)


def _flat(folder: Path, known: Seeds, size: int) -> None:
    folder.mkdir()
    rows = np.lib.format.open_memmap(
        folder / "vectors.npy", mode="w+", dtype=np.float32, shape=(size, known.vectors.shape[1])
    )
    for first, vectors, _ in _batches(known, size):
        rows[first : first + len(vectors)] = vectors


def _ours(folder: Path, known: Seeds, size: int, embedder: Any) -> None:
    """Files of ten passages, in large transactions, then what a sync does at its end."""
    from local_rag.index.store.connection import write_lock
    from local_rag.index.store.schema import IndexSettings
    from local_rag.index.store.store import Store

    store = Store.create(folder, IndexSettings(embedder.name, embedder.fingerprint, embedder.dimension, 250, 0))
    with write_lock(folder):
        for first, vectors, told in _batches(known, size):
            with store.writing() as db:
                for start in range(0, len(told), PER_FILE):
                    part = slice(start, start + PER_FILE)
                    write_file(db, (first + start) // PER_FILE, told[part], vectors[part])
        store.refresh()
    store.close()


def _measured(kind: str, folder: Path, size: int, known: Seeds) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as scratch:
        queries = Path(scratch) / "queries.npz"
        np.savez(queries, vectors=known.query_vectors[-ASKED:], texts=np.array(known.queries[-ASKED:]))
        command = [sys.executable, "-m", "benchmarks.search_measure", kind, str(folder), str(size), str(queries)]
        done = subprocess.run(command, cwd=Path(__file__).parents[1], stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def _vectors(size: int, figures: dict[str, dict[str, Any]], built: dict[str, float]) -> Table:
    base, rows = figures["flat"], list[list[Cell]]()
    for kind, one in figures.items():
        middle, whole = percentile(one["near"], 0.5), sum(one["memory"].values())
        hits = [len({*a} & {*b}) / TOP for a, b in zip(one["found"], base["found"], strict=True)]
        rows.append([
            NAMES[kind], one["first"], middle * 1e3, percentile(one["near"], 0.95) * 1e3,
            middle / percentile(base["near"], 0.5), f"{sum(hits) / len(hits):.3f}",
            one["memory"].get("anon", 0) / 1e6, one["memory"].get("file", 0) / 1e6,
            whole / sum(base["memory"].values()) if whole else None, one["disk"] / 1e6, built[kind],
        ])  # fmt: skip
    columns = ["", "open s", "p50 ms", "p95 ms", "p50 / flat", "recall@10", "own MB", "files MB", "memory / flat"]
    return Table(f"{size:,} passages, vectors alone", [*columns, "disk MB", "build s"], rows)


def _whole(size: int, one: dict[str, Any]) -> Table:
    rows: list[list[Cell]] = [
        [name, percentile(seconds, 0.5) * 1e3, percentile(seconds, 0.95) * 1e3] for name, seconds in one["ways"].items()
    ]
    rows.append(["one file changed", one["change"] * 1e3, None])
    return Table(f"{size:,} passages, Index.search in local-rag", ["", "p50 ms", "p95 ms"], rows)
