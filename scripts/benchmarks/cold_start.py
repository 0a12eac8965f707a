"""Measure how long a person waits: commands from the shell to the last byte, on a warm disk, and their memory."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from benchmarks import texts
from benchmarks.commands import PROGRAM, Done, environment, index, ready, timed, weights_of_minilm
from benchmarks.report import Cell, Report, Table

FILES, CHARACTERS = 2_700, 2_000
"""The size of the corpus, which gives about 10,000 passages."""

BASELINE = """
import sys
from sentence_transformers import SentenceTransformer
model = SentenceTransformer(sys.argv[1], device="cpu")
print(model.encode([sys.argv[2]]).shape)
"""
BASE = "sentence-transformers"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    parser.add_argument("--times", type=int, default=9, metavar="N", help="runs of each command (default: %(default)s)")
    texts.add_text(parser)


def run(options: argparse.Namespace, data: Path) -> Report:
    """Time the commands in turns, so that a busy moment affects all of them; the first round warms the disk."""
    ready(data)
    asked = str(index(data, texts.folder(data, FILES, CHARACTERS, options.text)))
    question, env = texts.QUESTIONS[0], environment(data)
    commands: dict[str, Sequence[str]] = {
        BASE: [sys.executable, "-c", BASELINE, str(weights_of_minilm()), question],
        "--help": [*PROGRAM, "--help"],
        "search": [*PROGRAM, "search", question, "--index", asked],
        "ask (extractive)": [*PROGRAM, "ask", question, "--index", asked],
    }
    taken: dict[str, list[Done]] = {name: [] for name in commands}
    for number in range(options.times + 1):
        for name, words in commands.items():
            done = timed(words, env)
            if number:
                taken[name].append(done)
    return Report(
        "cold-start",
        "importing sentence-transformers, loading the model and embedding one question",
        [_table(taken)],
        ["processor: seconds of all threads and children"],
    )


def _table(taken: dict[str, list[Done]]) -> Table:
    base = median(done.seconds for done in taken[BASE])
    rows: list[list[Cell]] = []
    for name, runs in taken.items():
        seconds = [done.seconds for done in runs]
        busy, memory = median(done.busy for done in runs), max(done.memory for done in runs)
        rows.append([name, median(seconds), min(seconds), median(seconds) / base, busy, memory])
    columns = ["", "median", "least", "ratio", "processor", "memory, MB"]
    return Table("Seconds from the shell to the last byte", columns, rows)
