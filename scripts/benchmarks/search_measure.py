"""One collection in a fresh process: python -m benchmarks.search_measure KIND FOLDER SIZE QUERIES.npz prints JSON."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.search_build import PER_FILE, TOP, Known, chroma_client, write_file
from local_rag.core.documents import Narrowing
from local_rag.index.index import Index
from local_rag.index.search import Mode
from local_rag.index.store import vectors as near_vectors
from local_rag.index.store import writes
from local_rag.index.store.full_text import Frequencies, Words

_EVERY_MATCH = 15
"""Queries for which all that FTS5 matches is ranked: a second each at 1,000,000."""


def main(kind: str, folder: Path, size: int, queries: Path) -> dict[str, Any]:
    known = np.load(queries)
    vectors, texts = known["vectors"], known["texts"].tolist()
    found = {"ours": ours, "flat": flat, "chroma": chroma, "lance": lance}[kind](folder, size, vectors, texts)
    return found | {"disk": sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())}


def ours(folder: Path, size: int, vectors: Any, texts: Sequence[str]) -> dict[str, Any]:
    """Through Index.search; the vectors of the queries are there already."""
    import faiss  # noqa: F401
    from langchain_core.documents import Document  # noqa: F401

    began = time.perf_counter()
    index = Index.open(folder, Known(folder, dict(zip(texts, vectors, strict=True))))
    opened = time.perf_counter() - began
    index.search(texts[0], TOP, mode="dense")
    first = time.perf_counter() - began
    store = index._store

    def search(mode: Mode, number: int) -> Any:
        return index.search(texts[number], TOP, mode=mode)

    def nearest(db: Any, meta: Any, known: Any, number: int) -> Any:
        return near_vectors.nearest(db, known, vectors[number], TOP)[0]

    rows, near = timed(lambda n: store.search(nearest, n), len(texts))
    figures: dict[str, Any] = {mode: timed(partial(search, mode), len(texts))[1] for mode in MODES}
    memory = resident()
    frequencies, count = Frequencies(), min(len(texts), _EVERY_MATCH)

    def every_match(db: Any, number: int) -> Any:
        return Words(db, frequencies, "", texts[number]).among(range(1, size + 2), TOP)

    def bounded(db: Any, number: int) -> Any:
        return Words(db, frequencies, "", texts[number]).best(50)[:TOP]

    every, slow = timed(lambda n: store.read(every_match, n), count)
    quick, fast = timed(lambda n: store.read(bounded, n), count)
    return {
        "open": opened,
        "first": first,
        "near": near,
        **figures,
        "found": [[chunk - 1 for chunk, _ in row] for row in rows],
        "narrowed": narrowed(index, texts),
        "every match": slow,
        "its queries": fast,
        "same words": float(np.mean([overlap(a, b) for a, b in zip(quick, every, strict=True)])),
        "change": changed(index, size),
        "memory": memory,
    }


NARROWED = {
    "--after 2001 (96 %)": Narrowing(after="2001"),
    "--after 2024 (4 %)": Narrowing(after="2024"),
    "--type txt (90 %)": Narrowing(types=("txt",)),
    "--type pdf (10 %)": Narrowing(types=("pdf",)),
    "--from 'Author 7' (0.5 %)": Narrowing(authors=("Author 7",)),
}
"""Conditions, with the share of the passages that they leave."""


def narrowed(index: Index, texts: Sequence[str]) -> dict[str, tuple[float, list[float]]]:
    """For each condition the seconds of its first query, which makes the set of chunks, and of each query after it."""
    figures = {}
    for name, narrowing in NARROWED.items():
        began = time.perf_counter()
        _search_within(index, texts, narrowing, 0)
        first = time.perf_counter() - began
        figures[name] = first, timed(partial(_search_within, index, texts, narrowing), len(texts))[1]
    return figures


def _search_within(index: Index, texts: Sequence[str], narrowing: Narrowing, number: int) -> Any:
    return index.search(texts[number], TOP, within=narrowing)


MODES: tuple[Mode, ...] = ("dense", "words", "hybrid")


def overlap(mine: Sequence[Any], other: Sequence[Any]) -> float:
    """The share of the other's chunks that are among mine."""
    return len({row[0] for row in mine} & {row[0] for row in other}) / max(1, len(other))


def changed(index: Any, size: int) -> float:
    """Seconds to store one changed file of ten passages, and for what a sync does at its end."""
    store, number = index._store, size // PER_FILE
    spent = []
    for step in range(6):
        rows = np.eye(PER_FILE, 384, step, dtype=np.float32)
        began = time.perf_counter()
        with store.writing() as db:
            write_file(db, number, [f"Changed for the time {step}, passage {n}." for n in range(PER_FILE)], rows)
        store.refresh()
        spent.append(time.perf_counter() - began)
    with store.writing() as db:
        writes.remove(db, [db.execute("SELECT path FROM files ORDER BY id DESC LIMIT 1").fetchone()[0]])
    return sorted(spent[1:])[2]


def flat(folder: Path, size: int, vectors: Any, texts: Sequence[str]) -> dict[str, Any]:
    """Every float32 vector in memory: FAISS IndexFlatIP."""
    faiss: Any = import_module("faiss")

    def opened() -> Ask:
        index = faiss.IndexFlatIP(vectors.shape[1])
        index.add(np.load(folder / "vectors.npy"))
        return lambda number: index.search(vectors[number : number + 1], TOP)[1][0].tolist()

    return measured(opened, len(texts))


def chroma(folder: Path, size: int, vectors: Any, texts: Sequence[str]) -> dict[str, Any]:
    import_module("chromadb")

    def opened() -> Ask:
        passages = chroma_client(folder).get_collection("passages", embedding_function=None)

        def ask(number: int) -> list[int]:
            answer = passages.query(query_embeddings=vectors[number : number + 1], n_results=TOP, include=["distances"])
            return list(map(int, answer["ids"][0]))

        return ask

    return measured(opened, len(texts))


def lance(folder: Path, size: int, vectors: Any, texts: Sequence[str]) -> dict[str, Any]:
    lancedb = import_module("lancedb")

    def opened() -> Ask:
        table = lancedb.connect(str(folder)).open_table("passages")

        def ask(number: int) -> list[int]:
            query = table.search(vectors[number], vector_column_name="vector").distance_type("cosine").limit(TOP)
            return list(query.select(["id"]).to_arrow()["id"].to_pylist())

        return ask

    return measured(opened, len(texts))


Ask = Callable[[int], list[int]]
"""The chunks nearest to the query of that number."""


def measured(opened: Callable[[], Ask], count: int) -> dict[str, Any]:
    """Seconds to open, to the first answer and of each answer, and what was answered."""
    began = time.perf_counter()
    ask = opened()
    after_opening = time.perf_counter() - began
    ask(0)
    first = time.perf_counter() - began
    rows, near = timed(ask, count)
    return {"open": after_opening, "first": first, "near": near, "found": rows, "memory": resident()}


def timed(ask: Callable[[int], Any], count: int) -> tuple[list[Any], list[float]]:
    """What was answered, and the seconds of each answer; one goes before, unmeasured."""
    ask(count - 1)
    answers, seconds = [], []
    for number in range(count):
        began = time.perf_counter()
        answers.append(ask(number))
        seconds.append(time.perf_counter() - began)
    return answers, seconds


def resident() -> dict[str, Any]:
    """Memory of this process in bytes: its own, and pages of files; nothing where /proc does not say."""
    status = Path("/proc/self/status")
    lines = dict(line.split(":", 1) for line in status.read_text().splitlines()) if status.exists() else {}
    named = {"anon": "RssAnon", "file": "RssFile"}
    return {name: int(lines[key].split()[0]) * 1024 for name, key in named.items() if key in lines}


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]))))
