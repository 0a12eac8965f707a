"""Run a benchmark that anyone can repeat: python scripts/bench.py NAME

Every figure of speed is a ratio within one run, because machines differ, and one machine differs over time. Prepared
data is kept in --data between runs.
"""

from __future__ import annotations

import argparse
import importlib
import time
from pathlib import Path

import platformdirs
from benchmarks.report import Report

NAMES = {
    "answers": "answers and refusals on published sets, by a model of your Ollama or by quoting",
    "question": "a question of Self-RAG and Adaptive RAG against the tutorials' calls, on your Ollama",
    "cold-start": "commands from the shell to the last byte, and what they hold",
    "indexing": "index against sentence-transformers, and syncing again",
    "search": "10,000 to 1,000,000 passages, beside FAISS's flat index",
    "postgres": "an index on a PostgreSQL server beside one in a folder",
    "retrieval": "dense and sparse scores as one order, on cases of yours",
}


def main() -> None:
    """Run one benchmark and print its tables."""
    parser = argparse.ArgumentParser(prog="bench.py", description="Benchmarks against named baselines.")
    commands = parser.add_subparsers(dest="name", required=True, metavar="NAME")
    kept = platformdirs.user_cache_path("local-rag-bench", appauthor=False)
    for name, about in NAMES.items():
        command = commands.add_parser(name, help=about, description=about)
        command.add_argument("--data", type=Path, metavar="FOLDER", default=kept, help="(default: %(default)s)")
        command.set_defaults(module=importlib.import_module(f"benchmarks.{name.replace('-', '_')}"))
        command.get_default("module").add_arguments(command)
    options = parser.parse_args()
    options.data.mkdir(parents=True, exist_ok=True)
    began = time.perf_counter()
    report: Report = options.module.run(options, options.data)
    report.show(time.perf_counter() - began)


if __name__ == "__main__":
    main()
