"""Measure searches in 10,000 to 1,000,000 passages, beside FAISS's flat index on the same vectors."""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks import texts
from benchmarks.mixtures import Seeds, mixed, seeds
from benchmarks.report import Cell, Report, Table, percentile
from benchmarks.search_measure import INDEX, TOP, VECTORS, embedder
from local_rag.core.documents import LoadedDocument
from local_rag.index.store.protocol import Store
from local_rag.index.store.sqlite.store import SqliteStore
from local_rag.index.store.values import FileRow, IndexSettings
from local_rag.text.chunking import Chunk

if TYPE_CHECKING:
    from local_rag.core.protocols import Vectors

PER_FILE = 10
NAMES = {"flat": "FAISS flat, float32", "ours": "local-rag"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    parser.add_argument("--sizes", default="10000,100000,1000000", help="passages (default: %(default)s)")
    texts.add_text(parser)


def run(options: argparse.Namespace, data: Path) -> Report:
    """Prepare what is missing, then search each collection in a fresh process."""
    known = seeds(data, options.text, embedder())
    report = Report("search", "FAISS IndexFlatIP over all float32 vectors, in the same run")
    for size in map(int, options.sizes.split(",")):
        folder = data / f"search-{options.text.name if options.text else 'installed'}-{size}"
        if not (folder / "whole").exists():
            _make(folder, known, size)
        figures = {kind: _measured(kind, folder, known) for kind in NAMES}
        report.tables += [_vectors(size, figures), _whole(size, figures["ours"])]
    report.notes += [
        "open: a fresh process, its imports done and the disk warm, until the first answer by vectors",
        "memory: after these queries; own + pages of files that are mapped (which the system may take back)",
        "local-rag's disk holds its SQLite database with texts and words; Index.search embeds the query, too",
        f"vectors: of {len(known.vectors):,} real passages, each mixed with a neighbour and moved by a difference of"
        " two others; texts: the sentences of both and of two more; queries: sentences of texts that were held out",
    ]
    return report


def _make(folder: Path, known: Seeds, size: int) -> None:
    """Write the vectors alone, and an index with files of ten passages, in large transactions."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    shape, made = (size, known.vectors.shape[1]), embedder()
    rows = np.lib.format.open_memmap(folder / VECTORS, mode="w+", dtype=np.float32, shape=shape)
    store = SqliteStore.create(folder / INDEX, IndexSettings(made.name, made.fingerprint, made.dimension, 250, 0))
    with store.locked():
        for first, vectors, told in mixed(known, size):
            rows[first : first + len(vectors)] = vectors
            with store.writing():
                for start in range(0, len(told), PER_FILE):
                    part = slice(start, start + PER_FILE)
                    write(store, (first + start) // PER_FILE, told[part], vectors[part])
        store.refresh()
    store.close()
    (folder / "whole").touch()


def write(store: Store, number: int, texts: list[str], vectors: Vectors) -> None:
    """Write one file whose text is that of its passages."""
    pieces, length = [], 0
    for text in texts:
        pieces.append(Chunk(length, length + len(text), f"Part {number % 97}"))
        length += len(text) + 2
    author, date = f"Author {number % 200}", f"{2000 + number % 25}"
    document = LoadedDocument("\n\n".join(texts), f"Document {number}", author=author, date=date)
    path = f"/corpus/{number % 100:02}/{number:06}.{'txt' if number % 10 else 'pdf'}"
    store.replace(FileRow(path, "/corpus", f"{number:064x}", length, 1, indexed_at=1.0), [(document, pieces)])
    chunks = [span[0] for span in store.spans(path)]
    headers = dict.fromkeys(store.to_embed(chunks)[1], np.zeros_like(vectors[0]))  # a text alone is as near as it is
    store.set_vectors(chunks, dict(zip(chunks, vectors, strict=True)), headers)


def _measured(kind: str, folder: Path, known: Seeds) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as scratch:
        queries = Path(scratch) / "queries.npz"
        np.savez(queries, vectors=known.query_vectors, texts=np.array(known.queries))
        command = [sys.executable, "-m", "benchmarks.search_measure", kind, str(folder), str(queries)]
        done = subprocess.run(command, cwd=Path(__file__).parents[1], stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def _vectors(size: int, figures: dict[str, dict[str, Any]]) -> Table:
    base, rows = figures["flat"], list[list[Cell]]()
    for kind, one in figures.items():
        middle, whole = percentile(one["near"], 0.5), sum(one["memory"].values())
        hits = [len({*a} & {*b}) / TOP for a, b in zip(one["found"], base["found"], strict=True)]
        rows.append([
            NAMES[kind], one["first"], middle * 1e3, percentile(one["near"], 0.95) * 1e3,
            middle / percentile(base["near"], 0.5), f"{sum(hits) / len(hits):.3f}",
            one["memory"].get("anon", 0) / 1e6, one["memory"].get("file", 0) / 1e6,
            whole / sum(base["memory"].values()) if whole else None, one["disk"] / 1e6,
        ])  # fmt: skip
    columns = ["", "open s", "p50 ms", "p95 ms", "p50 / flat", "recall@10", "own MB", "files MB", "memory / flat"]
    return Table(f"{size:,} passages, vectors alone", [*columns, "disk MB"], rows)


def _whole(size: int, one: dict[str, Any]) -> Table:
    rows: list[list[Cell]] = [
        [name, percentile(seconds, 0.5) * 1e3, percentile(seconds, 0.95) * 1e3] for name, seconds in one["ways"].items()
    ]
    return Table(f"{size:,} passages, Index.search in local-rag", ["", "p50 ms", "p95 ms"], rows)
