"""Folders of real text and their indexes, made once and kept."""

from __future__ import annotations

import hashlib
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.commands import environment, must, program, timed
from benchmarks.texts import documents

QUESTIONS = (
    "What happens when the file does not exist?",
    "How is a connection closed?",
    "Which arguments does the constructor take?",
    "When is an error raised?",
    "What is returned if nothing matches?",
)


def folder(data: Path, name: str, files: int, characters: int, source: Path | None) -> Path:
    """So many text files of about that length: paragraphs of `source` in its order. Made once."""
    mark = f"-{hashlib.sha256(str(source.resolve()).encode()).hexdigest()[:8]}" if source else ""
    place = data / "corpora" / f"{name}-{files}x{characters}{mark}"
    if not (place / "whole").exists():
        shutil.rmtree(place, ignore_errors=True)
        for number, text in enumerate(_texts(source, files, characters)):
            file = place / f"{number // 100:03}" / f"{number:05}.txt"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        (place / "whole").touch()
    return place


def index(data: Path, corpus: Path) -> Path:
    """The index of such a folder, made with the program itself, which goes on where it was stopped."""
    place = data / "indexes" / corpus.name
    must(timed([*program(), "index", str(corpus), "--index", str(place)], environment(data)))
    return place


def ready(data: Path) -> None:
    """Have the embedder converted, which is done once and is no part of what is measured."""
    sample = data / "sample"
    sample.mkdir(exist_ok=True)
    (sample / "one.txt").write_text("A text to begin with.\n", encoding="utf-8")
    must(timed([*program(), "index", str(sample), "--index", str(data / "indexes" / "sample")], environment(data)))


def _texts(source: Path | None, files: int, characters: int) -> Iterator[str]:
    """Where the text does not reach, its paragraphs come again in another order."""
    told = _paragraphs(source, files * characters, characters)
    dice, order = np.random.default_rng(5), iter(range(len(told)))
    for _ in range(files):
        held: list[str] = []
        while sum(map(len, held)) < characters:
            place = next(order, None)
            if place is None:
                order = iter(dice.permutation(len(told)).tolist())
                continue
            held.append(told[place])
        yield "\n\n".join(held)


def _paragraphs(source: Path | None, wanted: int, longest: int) -> list[str]:
    """Each paragraph once, up to so many characters in all. Raises SystemExit for none."""
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
        print("error: there is no text to index\n  name more of it with --text", file=sys.stderr)
        raise SystemExit(1)
    return list(told)
