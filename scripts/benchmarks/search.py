"""Search in 10,000 to 1,000,000 passages, beside FAISS's flat index, Chroma and LanceDB on the same vectors."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks import search_build
from benchmarks.report import Report, Table, percentile
from benchmarks.search_texts import Seeds, seeds

if TYPE_CHECKING:
    from local_rag.core.protocols import Embedder

NAMES = {"flat": "FAISS flat, float32", "ours": "local-rag", "chroma": "Chroma, HNSW", "lance": "LanceDB, IVF_PQ"}
_ASKED = {10_000: 200, 100_000: 150}
_ASKED_OF_MANY = 60


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of this benchmark."""
    parser.add_argument("--sizes", default="10000,100000,1000000", help="passages (default: %(default)s)")
    parser.add_argument(
        "--text", type=Path, metavar="FOLDER|JSONL", help="real text to mix passages from (default: what is installed)"
    )
    parser.add_argument("--only", default=",".join(NAMES), help="which of them (default: %(default)s)")


def run(options: argparse.Namespace, data: Path) -> Report:
    """Prepare what is not there, then ask each collection in a fresh process."""
    kinds = [kind for kind in NAMES if kind in options.only.split(",")]
    embedder = _embedder()
    known = seeds(data, options.text, embedder)
    sizes = [int(size) for size in options.sizes.split(",")]
    folder = data / f"search-{options.text.name if options.text else 'installed'}"
    report = Report("search", "FAISS IndexFlatIP over all float32 vectors, in the same run")
    for size in sizes:
        asked = _ASKED.get(size, _ASKED_OF_MANY)
        built = {kind: _prepared(kind, folder, known, size, embedder) for kind in {*kinds, "flat"}}
        figures = {kind: _measured(kind, folder / f"{kind}-{size}", size, known, asked) for kind in kinds}
        exact = np.load(folder / f"flat-{size}" / "nearest.npy").tolist()
        report.tables.append(_vectors(size, figures, built, exact))
        if "ours" in figures:
            report.tables.append(_whole(size, figures["ours"]))
        report.facts[str(size)] = {kind: _facts(one) for kind, one in figures.items()}
    report.notes += [
        "open: a fresh process, its imports done and the disk warm, until the first answer by vectors",
        "memory: after all queries; own + pages of files that are mapped (which the system may take back)",
        "local-rag's own column holds its SQLite database with texts and words too; the others have vectors only",
        "build and change: nothing is embedded; build is what preparation took, whenever that was",
        f"vectors: of {len(known.vectors):,} real passages, each mixed with a neighbour and moved by a difference of"
        " two others; texts: the sentences of both and of two more; queries: sentences of texts that were held out",
    ]
    return report


def _embedder() -> Embedder:
    from local_rag.config.models import load_models
    from local_rag.config.settings import Settings
    from local_rag.index.embed.embedder import SentenceTransformerEmbedder

    settings = Settings.load()
    return SentenceTransformerEmbedder(load_models(settings).embedder("minilm"), settings.cache_folder)


def _prepared(kind: str, folder: Path, known: Seeds, size: int, embedder: Embedder) -> float:
    makers = {
        "flat": lambda: search_build.flat(known, size),
        "ours": lambda: search_build.ours(known, size, search_build.index_settings(embedder)),
        "chroma": lambda: search_build.chroma(known, size),
        "lance": lambda: search_build.lance(known, size),
    }
    return search_build.prepared(folder / f"{kind}-{size}", makers[kind]())


def _measured(kind: str, folder: Path, size: int, known: Seeds, asked: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as scratch:
        queries = Path(scratch) / "queries.npz"
        np.savez(queries, vectors=known.query_vectors[-asked:], texts=np.array(known.queries[-asked:]))
        command = [sys.executable, "-m", "benchmarks.search_measure", kind, str(folder), str(size), str(queries)]
        done = subprocess.run(command, cwd=Path(__file__).parent.parent, capture_output=True, text=True, check=False)
    if done.returncode:
        print(done.stderr, file=sys.stderr)
        raise SystemExit(1)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def _vectors(size: int, figures: dict[str, dict[str, Any]], built: dict[str, float], exact: list[list[int]]) -> Table:
    columns = ["", "open s", "p50 ms", "p95 ms", "p50 / flat", "recall@10", "own MB", "files MB", "memory / flat"]
    base = figures.get("flat")
    rows: list[list[Any]] = []
    for kind, one in figures.items():
        middle, whole = percentile(one["near"], 0.5), sum(one["memory"].values())
        hits = [len(set(a) & set(b)) / len(b) for a, b in zip(one["found"], exact[-len(one["found"]) :], strict=True)]
        rows.append(
            [
                NAMES[kind],
                one["first"],
                middle * 1e3,
                percentile(one["near"], 0.95) * 1e3,
                middle / percentile(base["near"], 0.5) if base else None,
                f"{sum(hits) / len(hits):.3f}",
                one["memory"].get("anon", 0) / 1e6,
                one["memory"].get("file", 0) / 1e6,
                whole / sum(base["memory"].values()) if base and whole else None,
                one["disk"] / 1e6,
                built[kind],
            ]
        )
    return Table(f"{size:,} passages, vectors alone", [*columns, "disk MB", "build s"], rows)


def _whole(size: int, one: dict[str, Any]) -> Table:
    slow = percentile(one["every match"], 0.5)
    rows: list[list[Any]] = [
        [name, percentile(one[mode], 0.5) * 1e3, percentile(one[mode], 0.95) * 1e3]
        for mode, name in (("dense", "by vectors"), ("words", "by words"), ("hybrid", "hybrid"))
    ]
    whole = percentile(one["hybrid"], 0.5)
    for name, (first, later) in one["narrowed"].items():
        ratio = percentile(later, 0.5) / whole
        what = f"hybrid, {name}: {ratio:.2f} of all; the first query {first * 1e3:.0f} ms"
        rows.append([what, percentile(later, 0.5) * 1e3, percentile(later, 0.95) * 1e3])
    rows.append([f"words, every match ranked ({len(one['every match'])} queries)", slow * 1e3, None])
    rows.append(["the same queries as local-rag ranks them", percentile(one["its queries"], 0.5) * 1e3, None])
    rows.append(["one file changed", one["change"] * 1e3, None])
    same = f"the same first ten by words as with every match: {one['same words']:.3f}"
    return Table(f"{size:,} passages, Index.search in local-rag; {same}", ["", "p50 ms", "p95 ms"], rows)


def _facts(one: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in one.items() if not isinstance(value, list)}
