"""Measure one collection in a fresh process: python -m benchmarks.search_measure KIND FOLDER QUERIES.npz

It prints JSON.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from local_rag.config.models import load_models
from local_rag.config.settings import Settings
from local_rag.core.documents import Narrowing
from local_rag.index.embed.embedder import SentenceTransformerEmbedder
from local_rag.index.index import Index

if TYPE_CHECKING:
    from local_rag.core.protocols import Vectors

TOP = 10
INDEX, VECTORS = "index", "vectors.npy"
"""The contents of a folder."""

WAYS: dict[str, dict[str, Any]] = {
    "by vectors": {"mode": "dense"},
    "by words": {"mode": "words"},
    "hybrid": {},
    "hybrid, --type txt (90 %)": {"within": Narrowing(types=("txt",))},
    "hybrid, --from 'Author 7' (0.5 %)": {"within": Narrowing(authors=("Author 7",))},
}
"""The searches, with the share of the passages that a condition leaves."""


def embedder() -> SentenceTransformerEmbedder:
    """Return MiniLM, which is loaded on first use."""
    settings = Settings.load()
    return SentenceTransformerEmbedder(load_models(settings).embedder("minilm"), settings.cache_folder)


def ours(folder: Path, vectors: Vectors, texts: Sequence[str]) -> dict[str, Any]:
    """Measure searches by vectors alone, then whole searches with Index.search, which also embed the query."""
    began = time.perf_counter()
    index = Index.open(folder / INDEX, embedder())

    def nearest(number: int) -> list[int]:
        return [chunk - 1 for chunk, _ in index.store.nearest(vectors[number], TOP)]

    def search(way: dict[str, Any], number: int) -> Any:
        return index.search(texts[number], TOP, **way)

    nearest(0)
    first = time.perf_counter() - began
    found, near = timed(nearest, len(texts))
    memory = resident()
    ways = {name: timed(partial(search, way), len(texts))[1] for name, way in WAYS.items()}
    return {"first": first, "near": near, "found": found, "ways": ways, "memory": memory}


def flat(folder: Path, vectors: Vectors, texts: Sequence[str]) -> dict[str, Any]:
    """Measure FAISS IndexFlatIP, with every float32 vector in memory."""
    import faiss

    began = time.perf_counter()
    index = faiss.IndexFlatIP(vectors.shape[1])
    index.add(np.load(folder / VECTORS))
    index.search(vectors[:1], TOP)
    first = time.perf_counter() - began
    found, near = timed(lambda number: index.search(vectors[number : number + 1], TOP)[1][0].tolist(), len(texts))
    return {"first": first, "near": near, "found": found, "memory": resident()}


def timed(ask: Callable[[int], Any], count: int) -> tuple[list[Any], list[float]]:
    """Return the answers, and the seconds of each answer; one more, before them, is not measured."""
    ask(count - 1)
    answers, seconds = [], []
    for number in range(count):
        began = time.perf_counter()
        answers.append(ask(number))
        seconds.append(time.perf_counter() - began)
    return answers, seconds


def resident() -> dict[str, int]:
    """Return the memory of this process in bytes: its own, and pages of files; nothing if /proc does not tell."""
    status = Path("/proc/self/status")
    lines = dict(line.split(":", 1) for line in status.read_text().splitlines()) if status.exists() else {}
    named = {"anon": "RssAnon", "file": "RssFile"}
    return {name: int(lines[key].split()[0]) * 1024 for name, key in named.items() if key in lines}


if __name__ == "__main__":
    kind, folder, queries = sys.argv[1], Path(sys.argv[2]), np.load(sys.argv[3])
    measured = {"ours": ours, "flat": flat}[kind](folder, queries["vectors"], queries["texts"].tolist())
    files = (folder / INDEX).iterdir() if kind == "ours" else [folder / VECTORS]
    disk = sum(file.stat().st_size for file in files)
    print(json.dumps(measured | {"disk": disk}))
