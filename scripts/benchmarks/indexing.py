"""`index` until its text is searchable, and whole, against sentence-transformers alone and langchain with Chroma; and
syncing again.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sqlite3
import statistics
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks import corpora
from benchmarks.cold_start import weights_of_minilm
from benchmarks.commands import environment, must, program, timed
from benchmarks.report import Cell, Report, Table

if TYPE_CHECKING:
    from local_rag.core.protocols import Vectors

FILES, CHARACTERS = 160, 8_000
MANY, SHORT = 10_000, 400
BATCHES = (8, 16, 32, 64)
"""Batch sizes of which the baseline takes the quickest."""
_TRIED = 128


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of this benchmark."""
    parser.add_argument("--text", type=Path, metavar="FOLDER|JSONL", help="text to index instead of the installed one")
    parser.add_argument("--folder", type=Path, metavar="FOLDER", help="index these files as they are instead")
    parser.add_argument("--old", type=Path, metavar="COMMAND", help="another local-rag to compare the whole run with")
    parser.add_argument("--files", type=int, default=FILES, metavar="N", help="files (default: %(default)s)")


def run(options: argparse.Namespace, data: Path) -> Report:
    """Index the same passages in three ways, then sync an index of many files again."""
    import langchain_chroma  # noqa: F401 - what is missing is to be missed before minutes of measuring
    import langchain_huggingface  # noqa: F401

    corpora.ready(data)
    corpus = options.folder or corpora.folder(data, "indexing", options.files, CHARACTERS, options.text)
    many = corpora.folder(data, "many", MANY, SHORT, options.text)
    index = corpora.index(data, many)
    report = Report("indexing", "SentenceTransformer.encode on the same passages, sorted, best batch size, float32")
    report.tables.append(_measured(data, corpus, report, options.old))
    report.tables.append(_again(data, many, index))
    report.notes.append(
        "aims: text searchable at 20 times the passages per second of encode; the whole index at 1.8 times with"
        " bfloat16, cosine 0.999; 2.5 times langchain and Chroma"
    )
    return report


def _measured(data: Path, corpus: Path, report: Report, old: Path | None) -> Table:
    """Seconds until the text is searchable, of the whole index, of an older local-rag, and of the baselines.

    Old and new take turns, once each way round, and the better run of each counts.
    """
    place = data / "indexes" / "measured"
    runs: list[tuple[str, list[str]]] = [
        ("searchable by its words", [*program(), "index", str(corpus), "--no-embed"]),
        ("index, whole", [*program(), "index", str(corpus)]),
    ]
    if old is not None:
        whole = ("the older index, whole", [str(old), "index", str(corpus)])
        runs = [runs[0], whole, runs[1], runs[1], whole]
    seconds: dict[str, float] = {}
    for name, command in runs:
        shutil.rmtree(place, ignore_errors=True)
        taken = must(timed([*command, "--index", str(place)], environment(data))).seconds
        seconds[name] = min(taken, seconds.get(name, taken))
    if old is not None:  # the vectors that are compared are those of this program
        shutil.rmtree(place, ignore_errors=True)
        must(timed([*program(), "index", str(corpus), "--index", str(place)], environment(data)))
    texts, stored = _passages(place)
    model = _model()
    batch, encoded, vectors = _encoded(model, texts)
    chroma = _chroma(data, texts, batch)
    cosine = float((stored * vectors).sum(axis=1).min())
    report.facts |= {"passages": len(texts), "batch": batch, "least cosine": cosine}
    seconds = {"encode alone": encoded, "langchain + Chroma, texts given": chroma} | seconds
    rows: list[list[Cell]] = [
        [name, taken, len(texts) / taken, encoded / taken, chroma / taken] for name, taken in seconds.items()
    ]
    report.notes.append(f"{len(texts):,} passages; least cosine of a stored vector to that of encode: {cosine:.6f}")
    return Table("seconds", ["", "seconds", "passages/s", "times encode", "times Chroma"], rows)


def _passages(place: Path) -> tuple[list[str], Vectors]:
    """What the index holds: the texts and their vectors (n, 384)."""
    import numpy as np

    sql = (
        "SELECT substr(text, start + 1, end - start), vector FROM chunks"
        " JOIN documents ON documents.id = document JOIN vectors USING (digest)"
    )
    with closing(sqlite3.connect(place / "index.sqlite")) as db:
        rows = db.execute(sql).fetchall()
    return [text for text, _ in rows], np.frombuffer(b"".join(row for _, row in rows), "<f4").reshape(len(rows), -1)


def _model() -> Any:
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(str(weights_of_minilm()), device="cpu")


def _encoded(model: Any, texts: Sequence[str]) -> tuple[int, float, Vectors]:
    """The best batch size, seconds with it for all texts, and the vectors."""
    some = texts[:: max(1, len(texts) // _TRIED)]
    best = min(BATCHES, key=lambda size: _seconds(model, some, size)[0])
    seconds, rows = _seconds(model, texts, best)
    return best, seconds, rows


def _seconds(model: Any, texts: Sequence[str], size: int) -> tuple[float, Vectors]:
    began = time.perf_counter()
    rows: Vectors = model.encode(list(texts), batch_size=size, normalize_embeddings=True, show_progress_bar=False)
    return time.perf_counter() - began, rows


def _chroma(data: Path, texts: Sequence[str], batch: int) -> float:
    """The tutorials' stack with the same model and batch size; it is spared the reading and the cutting."""
    from langchain_chroma import Chroma
    from langchain_huggingface import HuggingFaceEmbeddings

    place = data / "chroma-indexing"
    shutil.rmtree(place, ignore_errors=True)
    embeddings = HuggingFaceEmbeddings(
        model_name=str(weights_of_minilm()),
        model_kwargs={"device": "cpu"},
        encode_kwargs={"batch_size": batch, "normalize_embeddings": True},
    )
    embeddings.embed_query("warm")
    began = time.perf_counter()
    store = Chroma("measured", embeddings, persist_directory=str(place))
    store.add_texts(list(texts))
    return time.perf_counter() - began


def _again(data: Path, many: Path, index: Path) -> Table:
    """Seconds of a sync of 10,000 files: of the whole command, and beyond one that only starts; and of listing them."""
    command, env = [*program(), "index", "--index", str(index)], environment(data)
    must(timed(command, env))
    listing = statistics.median(_listed(many) for _ in range(5))
    same = [must(timed(command, env)).seconds for _ in range(5)]
    start = statistics.median(must(timed([*program(), "status", "--index", str(index)], env)).seconds for _ in range(5))
    one, changed = many / "000" / "00007.txt", []
    kept = one.read_text(encoding="utf-8")
    for number in range(5):
        one.write_text(f"{kept}\n\nChanged for the time number {number} at {time.time()}.\n", encoding="utf-8")
        changed.append(must(timed(command, env)).seconds)
    one.write_text(kept, encoding="utf-8")
    must(timed(command, env))
    rows: list[list[Cell]] = [
        ["listing the folder (os.walk)", listing, None],
        ["nothing changed", statistics.median(same), statistics.median(same) - start],
        ["one file changed", statistics.median(changed), statistics.median(changed) - start],
    ]
    return Table(f"syncing {MANY:,} files again, seconds", ["", "whole command", "beyond `status`"], rows)


def _listed(folder: Path) -> float:
    began = time.perf_counter()
    count = sum(len(files) for _, _, files in os.walk(folder))
    if not count:
        print(f"error: {folder} is empty", file=sys.stderr)
        raise SystemExit(1)
    return time.perf_counter() - began
