"""The most memory that `ask` and `index` hold, and that a corpus ten times larger does not change it."""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

from benchmarks import corpora
from benchmarks.cold_start import CHARACTERS as SHORT
from benchmarks.cold_start import FILES as MANY
from benchmarks.commands import Done, environment, must, program, watched
from benchmarks.report import Cell, Report, Table

FILES, CHARACTERS = 120, 8_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of this benchmark."""
    parser.add_argument("--text", type=Path, metavar="FOLDER|JSONL", help="text to index instead of the installed one")


def run(options: argparse.Namespace, data: Path) -> Report:
    """Watch the processes of each command."""
    corpora.ready(data)
    report = Report("memory", "the aims: 400 MB for ask, 1,200 MB for index, with their processes")
    asked = corpora.index(data, corpora.folder(data, "start", MANY, SHORT, options.text))
    rows: list[list[Cell]] = []
    for question in corpora.QUESTIONS[:3]:
        done = must(watched([*program(), "ask", question, "--index", str(asked)], environment(data)))
        rows.append(_row(f"ask: {question}", done, 400))
    for times in (1, 10):
        corpus = corpora.folder(data, "memory", FILES * times, CHARACTERS, options.text)
        place = data / "indexes" / "memory"
        shutil.rmtree(place, ignore_errors=True)
        done = must(watched([*program(), "index", str(corpus), "--index", str(place)], environment(data)))
        rows.append(_row(f"index: {FILES * times:,} files of {CHARACTERS:,} characters", done, 1200))
    columns = ["", "process, MB", "of it files", "with children", "ratio to the aim"]
    report.tables.append(Table("the most that was resident, looked at every 20 ms", columns, rows))
    report.notes.append("files: libraries and weights that are mapped; the system drops them when memory is short")
    return report


def _row(name: str, done: Done, aim: int) -> list[Cell]:
    if not done.all:  # a system that tells nothing of it
        return [name, None, None, None, None]
    own, file, whole = (round(value / 1e6) for value in (done.own, done.file, done.all))
    return [name, own, file, whole, done.all / 1e6 / aim]
