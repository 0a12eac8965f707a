"""Measure `index` against sentence-transformers alone, and syncing an index again.

It is timed until the text can be searched, and in whole.
"""

from __future__ import annotations

import argparse
import shutil
import sqlite3
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks import texts
from benchmarks.commands import PROGRAM, Done, environment, index, ready, timed, weights_of_minilm
from benchmarks.report import Cell, Report, Table

if TYPE_CHECKING:
    from local_rag.core.protocols import Vectors

FILES, CHARACTERS = 160, 8_000
SYNC_FILES, SYNC_CHARACTERS = 10_000, 400
BATCHES = (8, 16, 32, 64)
"""The batch sizes from which the baseline takes the fastest, measured on about 128 of the texts."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    parser.add_argument("--times", type=int, default=3, metavar="N", help="runs of each (default: %(default)s)")
    texts.add_text(parser)


def run(options: argparse.Namespace, data: Path) -> Report:
    """Index a corpus in both ways, then sync an index of many files again."""
    ready(data)
    report = Report("indexing", "SentenceTransformer.encode on the same passages, best batch size, float32")
    corpus = texts.folder(data, FILES, CHARACTERS, options.text)
    report.tables.append(_measured(data, corpus, report, options.times))
    report.tables.append(_again(data, texts.folder(data, SYNC_FILES, SYNC_CHARACTERS, options.text), options.times))
    report.notes.append("memory: the most that one of the processes held, in MB")
    return report


def _measured(data: Path, corpus: Path, report: Report, times: int) -> Table:
    """Return the seconds until the text can be searched, of the whole index, and of the baseline.

    Each is the best of several runs, in turns.
    """
    place, env = data / "indexes" / "measured", environment(data)
    command = [*PROGRAM, "index", str(corpus), "--index", str(place)]
    ways = {"searchable by its words": [*command, "--no-embed"], "index, whole": command}
    best: dict[str, Done] = {}
    encoded, batch, model = float("inf"), 0, _model()
    for _ in range(times):
        for name, words in ways.items():
            shutil.rmtree(place, ignore_errors=True)
            done = timed(words, env)
            best[name] = min(done, best.get(name, done), key=lambda one: one.seconds)
        passages, stored = _passages(place)
        batch = batch or min(BATCHES, key=lambda size: _encoded(model, passages[:: len(passages) // 128 + 1], size)[0])
        seconds, vectors = _encoded(model, passages, batch)
        encoded = min(encoded, seconds)
    cosine = float((stored * vectors).sum(axis=1).min())
    report.notes.append(f"{len(passages):,} passages; least cosine of a stored vector to that of encode: {cosine:.6f}")
    rows: list[list[Cell]] = [["encode alone", encoded, len(passages) / encoded, 1.0, None]]
    rows += [
        [name, done.seconds, len(passages) / done.seconds, encoded / done.seconds, done.memory]
        for name, done in best.items()
    ]
    return Table("Indexing", ["", "seconds", "passages/s", "times encode", "memory"], rows)


def _passages(place: Path) -> tuple[list[str], Vectors]:
    """Return the texts of an index and their vectors (n, 384)."""
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


def _encoded(model: Any, passages: Sequence[str], size: int) -> tuple[float, Vectors]:
    began = time.perf_counter()
    rows: Vectors = model.encode(list(passages), batch_size=size, normalize_embeddings=True, show_progress_bar=False)
    return time.perf_counter() - began, rows


def _again(data: Path, many: Path, times: int) -> Table:
    """Return the seconds of a sync: of the whole command, and minus those of a command that only starts."""
    place, env = index(data, many), environment(data)
    sync, status = ([*PROGRAM, name, "--index", str(place)] for name in ("index", "status"))
    one = many / "000" / "00007.txt"
    kept = one.read_text(encoding="utf-8")
    taken: dict[str, list[float]] = {"nothing changed": [], "one file changed": []}
    start = median(timed(status, env).seconds for _ in range(times))
    for number in range(times):
        taken["nothing changed"].append(timed(sync, env).seconds)
        one.write_text(f"{kept}\n\nChanged for the time number {number} at {time.time()}.\n", encoding="utf-8")
        taken["one file changed"].append(timed(sync, env).seconds)
    one.write_text(kept, encoding="utf-8")
    timed(sync, env)
    rows: list[list[Cell]] = [[name, median(seconds), median(seconds) - start] for name, seconds in taken.items()]
    return Table("Syncing an index again, seconds", ["", "whole command", "beyond `status`"], rows)
