"""One collection in a fresh process: python -m benchmarks.search_measure KIND FOLDER SIZE QUERIES.npz prints JSON."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from local_rag.core.documents import LoadedDocument, Narrowing
from local_rag.index.index import Index
from local_rag.index.store import vectors as store_vectors
from local_rag.index.store import writes
from local_rag.index.store.schema import FileRow
from local_rag.text.chunking import Chunk

if TYPE_CHECKING:
    from local_rag.core.protocols import Vectors

PER_FILE, TOP = 10, 10

WAYS: dict[str, dict[str, Any]] = {
    "by vectors": {"mode": "dense"},
    "by words": {"mode": "words"},
    "hybrid": {},
    "hybrid, --type txt (90 %)": {"within": Narrowing(types=("txt",))},
    "hybrid, --from 'Author 7' (0.5 %)": {"within": Narrowing(authors=("Author 7",))},
}
"""Searches, with the share of the passages that a condition leaves."""


class Known:
    """The embedder that an index names, for queries whose vectors are known: what embedding costs is left out."""

    def __init__(self, folder: Path, vectors: Mapping[str, Vectors]) -> None:
        made = Index.inspect(folder)
        self.name, self.fingerprint, self.dimension = made.embedder, made.fingerprint, made.dimension
        self.window = made.chunk_size
        self._vectors = vectors

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return np.stack([self._vectors[text] for text in texts])

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        return self.embed_queries(texts)

    def token_ends(self, text: str) -> Sequence[int]:
        return []


def ours(folder: Path, size: int, vectors: Vectors, texts: Sequence[str]) -> dict[str, Any]:
    """Through Index.search; the vectors of the queries are there already."""
    import faiss  # noqa: F401
    from langchain_core.documents import Document  # noqa: F401

    began = time.perf_counter()
    index = Index.open(folder, Known(folder, dict(zip(texts, vectors, strict=True))))
    index.search(texts[0], TOP, mode="dense")
    first = time.perf_counter() - began

    def nearest(db: Any, meta: Any, known: Any, number: int) -> list[int]:
        return [chunk - 1 for chunk, _ in store_vectors.nearest(db, known, vectors[number], TOP)[0]]

    def search(way: dict[str, Any], number: int) -> Any:
        return index.search(texts[number], TOP, **way)

    found, near = timed(lambda number: index._store.search(nearest, number), len(texts))
    ways = {name: timed(partial(search, way), len(texts))[1] for name, way in WAYS.items()}
    memory = resident()
    return {"first": first, "near": near, "found": found, "ways": ways, "memory": memory} | {
        "change": changed(index._store, size)
    }


def flat(folder: Path, size: int, vectors: Vectors, texts: Sequence[str]) -> dict[str, Any]:
    """Every float32 vector in memory: FAISS IndexFlatIP."""
    import faiss

    began = time.perf_counter()
    index = faiss.IndexFlatIP(vectors.shape[1])
    index.add(np.load(folder / "vectors.npy"))
    index.search(vectors[:1], TOP)
    first = time.perf_counter() - began
    found, near = timed(lambda number: index.search(vectors[number : number + 1], TOP)[1][0].tolist(), len(texts))
    return {"first": first, "near": near, "found": found, "memory": resident()}


def write_file(db: Any, number: int, texts: list[str], vectors: Vectors) -> None:
    """One file whose text is that of its passages."""
    pieces, length = [], 0
    for text in texts:
        pieces.append(Chunk(length, length + len(text), f"Part {number % 97}"))
        length += len(text) + 2
    author, date = f"Author {number % 200}", f"{2000 + number % 25}"
    document = LoadedDocument("\n\n".join(texts), f"Document {number}", author=author, date=date)
    path = f"/corpus/{number % 100:02}/{number:06}.{'txt' if number % 10 else 'pdf'}"
    writes.write(db, FileRow(path, "/corpus", f"{number:064x}", length, 1, indexed_at=1.0), [(document, pieces)])
    sql = "SELECT chunks.id, header FROM chunks JOIN documents ON documents.id = document JOIN files ON files.id = file"
    rows = db.execute(f"{sql} WHERE path = ? ORDER BY chunks.id", (path,)).fetchall()
    of_texts = {chunk: vector for (chunk, _), vector in zip(rows, vectors, strict=True)}
    headers = {header: np.zeros_like(vectors[0]) for _, header in rows}  # a text alone is as near as it is
    writes.set_vectors(db, list(of_texts), of_texts, headers)


def changed(store: Any, size: int) -> float:
    """Seconds to store one changed file of ten passages, and for what a sync does at its end."""
    spent = []
    for step in range(6):
        rows = np.eye(PER_FILE, 384, step, dtype=np.float32)
        began = time.perf_counter()
        with store.writing() as db:
            write_file(db, size, [f"Changed for the time {step}, passage {n}." for n in range(PER_FILE)], rows)
        store.refresh()
        spent.append(time.perf_counter() - began)
    with store.writing() as db:
        writes.remove(db, [db.execute("SELECT path FROM files ORDER BY id DESC LIMIT 1").fetchone()[0]])
    return sorted(spent[1:])[2]


def timed(ask: Callable[[int], Any], count: int) -> tuple[list[Any], list[float]]:
    """What was answered, and the seconds of each answer; one goes before, unmeasured."""
    ask(count - 1)
    answers, seconds = [], []
    for number in range(count):
        began = time.perf_counter()
        answers.append(ask(number))
        seconds.append(time.perf_counter() - began)
    return answers, seconds


def resident() -> dict[str, int]:
    """Memory of this process in bytes: its own, and pages of files; nothing where /proc does not say."""
    status = Path("/proc/self/status")
    lines = dict(line.split(":", 1) for line in status.read_text().splitlines()) if status.exists() else {}
    named = {"anon": "RssAnon", "file": "RssFile"}
    return {name: int(lines[key].split()[0]) * 1024 for name, key in named.items() if key in lines}


if __name__ == "__main__":
    kind, folder, size, queries = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), np.load(sys.argv[4])
    measured = {"ours": ours, "flat": flat}[kind](folder, size, queries["vectors"], queries["texts"].tolist())
    disk = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    print(json.dumps(measured | {"disk": disk}))
