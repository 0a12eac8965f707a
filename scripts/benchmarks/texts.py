"""Provide real text to measure on that every machine has: texts of its installed packages, or a folder of files."""

from __future__ import annotations

import ast
import importlib.metadata
import shutil
import sysconfig
from argparse import ArgumentParser
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path

import numpy as np

QUESTIONS = (
    "What happens when the file does not exist?",
    "How is a connection closed?",
    "Which arguments does the constructor take?",
    "When is an error raised?",
    "What is returned if nothing matches?",
)


def add_text(parser: ArgumentParser) -> None:
    """Add the option that names other text."""
    parser.add_argument("--text", type=Path, metavar="FOLDER", help="text to index instead of the installed one")


def documents(source: Path | None) -> Iterator[str]:
    """Yield the texts of a folder, or else those of the installed packages."""
    if source is None:
        yield from _installed()
    else:
        for file in sorted(source.rglob("*")):
            if file.suffix in (".txt", ".md", ".rst") and file.is_file():
                yield file.read_text(encoding="utf-8", errors="replace")


def _installed() -> Iterator[str]:
    """Yield the descriptions of all packages, then their docstrings and those of the standard library, shuffled."""
    told = sorted({str(one.metadata["Name"]): one for one in importlib.metadata.distributions()}.items())
    for _, package in told:
        yield str(package.metadata["Description"] or package.read_text("METADATA") or "")
    roots = {sysconfig.get_paths()[name] for name in ("stdlib", "purelib", "platlib")}
    files = sorted({file for root in roots for file in Path(root).rglob("*.py") if "test" not in str(file)})
    for place in np.random.default_rng(6).permutation(len(files)).tolist():
        yield _docstrings(files[place])


def _docstrings(file: Path) -> str:
    try:
        tree = ast.parse(file.read_bytes())
    except (SyntaxError, ValueError, OSError, RecursionError):
        return ""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return "\n\n".join(ast.get_docstring(node) or "" for node in ast.walk(tree) if isinstance(node, kinds))


def folder(data: Path, files: int, characters: int, source: Path | None) -> Path:
    """Return a folder of text files of about that length, made once from paragraphs of `source`, repeated if needed."""
    place = data / "corpora" / f"{source.name if source else 'installed'}-{files}x{characters}"
    if not (place / "whole").exists():
        shutil.rmtree(place, ignore_errors=True)
        paragraphs = cycle(_paragraphs(source, files * characters, characters))
        for number in range(files):
            held: list[str] = []
            while sum(map(len, held)) < characters:
                held.append(next(paragraphs))
            file = place / f"{number // 100:03}" / f"{number:05}.txt"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("\n\n".join(held), encoding="utf-8")
        (place / "whole").touch()
    return place


def _paragraphs(source: Path | None, wanted: int, longest: int) -> list[str]:
    """Return each paragraph once, up to `wanted` characters in all; raise SystemExit if there is none."""
    told: dict[str, None] = {}
    length = 0
    for text in documents(source):
        for part in (" ".join(one.split()) for one in text.split("\n\n")):
            if 60 <= len(part) <= longest and part not in told:
                told[part] = None
                length += len(part)
        if length >= wanted:
            break
    if not told:
        raise SystemExit("error: there is no text to index\n  name more of it with --text")
    return list(told)
