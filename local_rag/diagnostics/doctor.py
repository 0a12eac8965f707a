"""Is everything well on this machine? Each check says what it found and, where that is wrong, what to type."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Literal

from packaging.requirements import Requirement

from local_rag.config.machine import total_memory
from local_rag.config.settings import Settings
from local_rag.core.errors import IndexMissing, LocalRagError
from local_rag.text.display import format_bytes, joined, plural, short_path

SET_UP = "python3 scripts/quickstart.py"

FREE_DISK = 1_000_000_000
"""Bytes below which a note is made: the model's package and a mid-sized index fit in that."""

MEMORY = 2_000_000_000
"""Bytes of RAM below which a note is made: PyTorch, MiniLM and the parser's worker together stay under it."""


@dataclass(frozen=True)
class Check:
    """One finding. `fix` is a command, or a line for each of several; empty where all is well."""

    name: str
    state: Literal["ok", "note", "bad"]
    found: str
    fix: str = ""


def examine(settings: Settings) -> list[Check]:
    """All checks, in the order in which a person would mend things. A check that fails itself is a finding."""
    checks: list[Check] = []
    for name, look in _CHECKS:
        try:
            checks += look(settings)
        except LocalRagError as error:
            checks.append(Check(name, "bad", str(error), error.hint))
        except Exception as error:
            checks.append(Check(name, "bad", f"{type(error).__name__}: {error}", SET_UP))
    return checks


def _python(_: Settings) -> Iterator[Check]:
    version = ".".join(map(str, sys.version_info[:3]))
    fine = sys.version_info >= (3, 11)
    yield Check("Python", "ok" if fine else "bad", version, "" if fine else "install Python 3.11 or newer")


def _packages(_: Settings) -> Iterator[Check]:
    try:
        lines = metadata.requires("local-rag") or []
    except metadata.PackageNotFoundError:
        yield Check("packages", "bad", "local-rag itself is not installed", SET_UP)
        return
    needed = [one for one in map(Requirement, lines) if one.marker is None or one.marker.evaluate({"extra": ""})]
    wrong = [problem for one in needed if (problem := _problem(one))]
    if wrong:
        yield Check("packages", "bad", "; ".join(wrong), SET_UP)
    else:
        yield Check("packages", "ok", f"{plural(len(needed), 'requirement')} met, torch {metadata.version('torch')}")


def _problem(requirement: Requirement) -> str:
    """What is wrong with an installed requirement, empty if nothing is."""
    try:
        version = metadata.version(requirement.name)
    except metadata.PackageNotFoundError:
        return f"{requirement.name} is missing"
    if requirement.specifier.contains(version, prereleases=True):
        return ""
    return f"{requirement.name} {version} is installed, {requirement.specifier} is needed"


def _disk(settings: Settings) -> Iterator[Check]:
    folder = _existing(settings.index_path)
    free = shutil.disk_usage(folder).free
    found = f"{format_bytes(free)} free in {short_path(folder)}"
    if not os.access(folder, os.W_OK):
        yield Check(
            "disk", "bad", f"{short_path(folder)} cannot be written", "make that folder yours, or use --index PATH"
        )
    elif free < FREE_DISK:
        yield Check("disk", "note", found, "free some space, or put the index elsewhere: --index PATH")
    else:
        yield Check("disk", "ok", found)


def _existing(path: Path) -> Path:
    return next(folder for folder in (path, *path.parents) if folder.exists())


def _memory(_: Settings) -> Iterator[Check]:
    total = total_memory()
    if total is None:
        yield Check("memory", "note", "this system does not say how much there is")
    elif total < MEMORY:
        yield Check(
            "memory", "note", f"{format_bytes(total)}: indexing may be slow", "close other programs while indexing"
        )
    else:
        yield Check("memory", "ok", format_bytes(total))


def _models(settings: Settings) -> Iterator[Check]:
    from local_rag.config.models import load_models

    models = load_models(settings)
    yield Check("models.yaml", "ok", f"embedders: {joined(sorted(models.embedders))}")
    if models.untrusted:
        found = f"{short_path(models.untrusted)} is not read, because nobody said that it may be"
        yield Check("models.yaml", "note", found, "local-rag … --trust-models-here")


def _embedder(settings: Settings) -> Iterator[Check]:
    from local_rag.runtime.rag import open_embedder

    embedder = open_embedder(settings)
    embedder.verify()
    yield Check("embedder", "ok", f"{embedder.name}: {plural(embedder.dimension, 'dimension')}, weights as published")
    found = embedder.conversion
    if found is None:
        yield Check("runtime", "note", embedder.served_by)
    else:
        yield Check("runtime", "note" if found.why else "ok", found.describe)


def _index(settings: Settings) -> Iterator[Check]:
    from local_rag.runtime.rag import open_index

    try:
        with open_index(settings) as index:
            index.verify()
            status = index.status()
    except IndexMissing as error:
        yield Check("index", "note", str(error), error.hint)
        return
    pages = f", {plural(status.pages, 'web page')}" if status.pages else ""
    files = f"{plural(status.files, 'file')}{pages}"
    found = f"{short_path(status.path)}: {files}, {plural(status.chunks, 'passage')}, whole"
    yield Check("index", "ok", found)
    yield Check("fingerprint", "ok", f"{status.fingerprint}: made with {status.embedder}, which is the one in use")


def _ollama(settings: Settings) -> Iterator[Check]:
    from local_rag.diagnostics.ollama_checks import ollama_checks

    yield from ollama_checks(settings)


_CHECKS: tuple[tuple[str, Callable[[Settings], Iterator[Check]]], ...] = (
    ("Python", _python),
    ("packages", _packages),
    ("disk", _disk),
    ("memory", _memory),
    ("models.yaml", _models),
    ("embedder", _embedder),
    ("index", _index),
    ("Ollama", _ollama),
)
