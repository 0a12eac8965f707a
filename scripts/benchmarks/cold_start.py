"""How long a person waits: commands from the shell to the last byte, on a warm disk, and what they load."""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks import corpora
from benchmarks.commands import Done, environment, must, program, timed
from benchmarks.report import Cell, Report, Table, percentile

FILES, CHARACTERS = 2_700, 2_000
"""About 10,000 passages."""

BASELINE = """
import sys
from sentence_transformers import SentenceTransformer
model = SentenceTransformer(sys.argv[1], device="cpu")
print(model.encode([sys.argv[2]]).shape)
"""
BASE = "sentence-transformers"
ASK = "ask (extractive)"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of this benchmark."""
    parser.add_argument("--times", type=int, default=9, metavar="N", help="runs of each command (default: %(default)s)")
    parser.add_argument("--text", type=Path, metavar="FOLDER|JSONL", help="text to index instead of the installed one")
    parser.add_argument("--index", type=Path, metavar="PATH", help="ask this index, as it is, instead of making one")
    parser.add_argument("--question", default=corpora.QUESTIONS[0], help="what is asked (default: %(default)s)")


def run(options: argparse.Namespace, data: Path) -> Report:
    """Time the commands in turns, so that a busy moment meets them all."""
    corpora.ready(data)
    index = options.index or corpora.index(data, corpora.folder(data, "start", FILES, CHARACTERS, options.text))
    question, env = options.question, environment(data)
    ask = [*program(), "ask", question, "--index", str(index)]
    commands = {
        BASE: ([sys.executable, "-c", BASELINE, str(weights_of_minilm()), question], env),
        "--help": ([*program(), "--help"], env),
        "search": ([*program(), "search", question, "--index", str(index)], env),
        ASK: (ask, env),
    }
    taken: dict[str, list[Done]] = {name: [] for name in commands}
    for number in range(options.times + 1):
        for name, (words, given) in commands.items():
            done = must(timed(words, given))
            if number:  # the first one of each warms the disk
                taken[name].append(done)
    report = Report("cold-start", "importing sentence-transformers, loading the model and embedding one question")
    report.tables.append(_table(taken))
    report.tables.append(_profile(ask, env))
    status = must(timed([*program(), "status", "--index", str(index)], env)).out
    report.facts["index"] = [line for line in status.splitlines() if line.startswith(("files", "runtime"))]
    report.notes += [
        *report.facts["index"],
        "processor: seconds of all threads and children; other programs do not change them much",
        "aims: --help 0.25 s, search 0.8 s, ask 1.5 s",
    ]
    return report


def _table(taken: Mapping[str, Sequence[Done]]) -> Table:
    """Seconds and processor seconds, as ratios to the baseline."""
    medians = {
        name: (statistics.median(done.seconds for done in runs), statistics.median(done.busy for done in runs))
        for name, runs in taken.items()
    }
    rows: list[list[Cell]] = []
    for name, runs in taken.items():
        seconds = [done.seconds for done in runs]
        median, busy = medians[name]
        rows.append([name, median, min(seconds), percentile(seconds, 0.95), median / medians[BASE][0], busy])
    columns = ["", "median", "least", "p95", "ratio", "processor"]
    return Table("seconds from the shell to the last byte", columns, rows)


def _profile(command: Sequence[str], env: dict[str, str]) -> Table:
    """What importing costs, by package (python -X importtime counts a little itself)."""
    words = [sys.executable, "-X", "importtime", "-m", "local_rag", *command[len(program()) :]]
    done = subprocess.run(words, env=env, capture_output=True, text=True)
    spent: Counter[str] = Counter()
    for line in done.stderr.splitlines():
        own, _, name = line.removeprefix("import time:").partition("|")
        if own.strip().isdigit():
            spent[name.rpartition("|")[2].strip().partition(".")[0]] += int(own)
    rows: list[list[Cell]] = [[name, micro / 1e6] for name, micro in spent.most_common(14)]
    rows.append(["all imports", sum(spent.values()) / 1e6])
    return Table("what an ask imports, seconds", ["package", "seconds"], rows)


def weights_of_minilm() -> Path:
    from local_rag.config.models import load_models
    from local_rag.config.settings import Settings
    from local_rag.index.embed import weights

    return weights.folder(load_models(Settings.load()).embedder("minilm"))
