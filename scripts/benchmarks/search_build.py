"""The same passages in an index of ours, in Chroma and in LanceDB: made once and kept."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.search_texts import Seeds, mixed_texts, mixed_vectors
from local_rag.core.documents import LoadedDocument
from local_rag.index.index import Index
from local_rag.index.store import writes
from local_rag.index.store.connection import write_lock
from local_rag.index.store.schema import FileRow, IndexSettings
from local_rag.index.store.store import Store
from local_rag.text.chunking import Chunk

if TYPE_CHECKING:
    from local_rag.core.protocols import Embedder, Vectors

PER_FILE = 10
TOP = 10
_BATCH = 5_000


def batches(seeds: Seeds, size: int, *, texts: bool = True) -> Iterator[tuple[int, Vectors, list[str]]]:
    """(first, vectors, texts) of all passages of a collection; the smaller one is the beginning of the larger."""
    for first in range(0, size, _BATCH):
        vectors, pairs = mixed_vectors(seeds, first, _BATCH)
        count = min(_BATCH, size - first)
        yield first, vectors[:count], mixed_texts(seeds, pairs[:count], first) if texts else []


def prepared(folder: Path, make: Callable[[Path], None]) -> float:
    """Make a folder once; the seconds that it took then."""
    done = folder.with_name(f"{folder.name}.json")
    if not done.exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.parent.mkdir(parents=True, exist_ok=True)
        began = time.perf_counter()
        make(folder)
        done.write_text(json.dumps({"seconds": time.perf_counter() - began}))
    return float(json.loads(done.read_text())["seconds"])


class Known:
    """The embedder that an index names, for queries whose vectors are known: what embedding costs is left out."""

    def __init__(self, folder: Path, vectors: Mapping[str, Vectors]) -> None:
        made = Index.inspect(folder)
        self.name, self.fingerprint, self.dimension, self.window = (
            made.embedder,
            made.fingerprint,
            made.dimension,
            made.chunk_size,
        )
        self._vectors = vectors

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return np.stack([self._vectors[text] for text in texts])

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        return self.embed_queries(texts)

    def token_ends(self, text: str) -> Sequence[int]:
        return []


def flat(seeds: Seeds, size: int) -> Callable[[Path], None]:
    """The bare vectors, and the ten nearest of each query by all of them."""

    def make(folder: Path) -> None:
        folder.mkdir()
        rows = np.lib.format.open_memmap(
            folder / "vectors.npy", mode="w+", dtype=np.float32, shape=(size, seeds.vectors.shape[1])
        )
        best = [(np.empty((len(seeds.queries), 0), dtype=np.float32), np.empty((len(seeds.queries), 0), dtype=int))]
        for first, vectors, _ in batches(seeds, size, texts=False):
            rows[first : first + len(vectors)] = vectors
            products = seeds.query_vectors @ vectors.T
            place = np.argpartition(-products, TOP, axis=1)[:, :TOP]
            best.append((np.take_along_axis(products, place, 1), place + first))
        scores, ids = (np.concatenate(parts, axis=1) for parts in zip(*best, strict=True))
        nearest = np.argsort(-scores, axis=1, kind="stable")[:, :TOP]
        np.save(folder / "nearest.npy", np.take_along_axis(ids, nearest, 1))

    return make


def index_settings(embedder: Embedder) -> IndexSettings:
    return IndexSettings(embedder.name, embedder.fingerprint, embedder.dimension, 250, 0)


def ours(seeds: Seeds, size: int, made_by: IndexSettings) -> Callable[[Path], None]:
    """Files of ten passages, in transactions of 500 files, then what a sync does at its end."""

    def make(folder: Path) -> None:
        store = Store.create(folder, made_by)
        with write_lock(folder):
            for first, vectors, texts in batches(seeds, size):
                with store.writing() as db:
                    for start in range(0, len(texts), PER_FILE):
                        number = (first + start) // PER_FILE
                        write_file(db, number, texts[start : start + PER_FILE], vectors[start : start + PER_FILE])
            store.refresh()
        store.close()

    return make


def write_file(db: Any, number: int, texts: list[str], vectors: Vectors) -> None:
    """One file whose text is that of its passages."""
    pieces, length = [], 0
    for text in texts:
        pieces.append(Chunk(length, length + len(text), f"Part {number % 97}"))
        length += len(text) + 2
    document = LoadedDocument(
        "\n\n".join(texts), f"Document {number}", author=f"Author {number % 200}", date=f"{2000 + number % 25}"
    )
    path = f"/corpus/{number % 100:02}/{number:06}.{'txt' if number % 10 else 'pdf'}"
    row = FileRow(path, "/corpus", f"{number:064x}", length, 1, indexed_at=1.0)
    writes.write(db, row, [(document, pieces)])
    sql = "SELECT chunks.id, header FROM chunks JOIN documents ON documents.id = document JOIN files ON files.id = file"
    rows = db.execute(f"{sql} WHERE path = ? ORDER BY chunks.id", (path,)).fetchall()
    of_texts = {chunk: vector for (chunk, _), vector in zip(rows, vectors, strict=True)}
    headers = {header: np.zeros_like(vectors[0]) for _, header in rows}  # a text alone is as near as it is
    writes.set_vectors(db, list(of_texts), of_texts, headers)


def chroma(seeds: Seeds, size: int) -> Callable[[Path], None]:
    """Chroma as it comes: HNSW with its own settings; cosine, as langchain-chroma's users choose for such vectors."""

    def make(folder: Path) -> None:
        client = chroma_client(folder)
        found = client.create_collection("passages", configuration={"hnsw": {"space": "cosine"}})
        for first, vectors, _ in batches(seeds, size, texts=False):
            found.add(ids=[str(first + n) for n in range(len(vectors))], embeddings=vectors)

    return make


def chroma_client(folder: Path) -> Any:
    quiet = import_module("chromadb.config").Settings(anonymized_telemetry=False)
    return import_module("chromadb").PersistentClient(str(folder), settings=quiet)


def lance(seeds: Seeds, size: int) -> Callable[[Path], None]:
    """LanceDB with the index that it makes by itself, IVF_PQ, with its own settings."""

    def make(folder: Path) -> None:
        lancedb, pa = import_module("lancedb"), import_module("pyarrow")
        schema = pa.schema([("id", pa.int64()), ("vector", pa.list_(pa.float32(), seeds.vectors.shape[1]))])

        def rows() -> Iterator[Any]:
            for first, vectors, _ in batches(seeds, size, texts=False):
                flat = pa.FixedSizeListArray.from_arrays(pa.array(vectors.reshape(-1)), vectors.shape[1])
                ids = pa.array(range(first, first + len(vectors)), pa.int64())
                yield pa.RecordBatch.from_arrays([ids, flat], schema=schema)

        table = lancedb.connect(str(folder)).create_table("passages", data=rows(), schema=schema)
        table.create_index(metric="cosine", vector_column_name="vector")

    return make
