"""Store beside config.yaml what was measured: the thresholds that `calibrate` found, each with the fingerprint it holds
for, and how good the grades of models are, found by `models try`.

They have their own files because rewriting config.yaml would lose a person's comments, and because those of several
engines can be kept together.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from local_rag.config.settings import Settings
from local_rag.config.values import Thresholds
from local_rag.config.yaml_file import read_yaml
from local_rag.core.errors import ConfigError, EngineError
from local_rag.core.private_files import exclusive, make_folder, replace_file
from local_rag.core.protocols import Embedder, Engine, Reranker

FILE = "calibration.yaml"
WAIT = 10
"""Seconds to wait for another process that writes the file, which takes milliseconds."""
_HEAD = """\
# Thresholds that `local-rag calibrate` found. Each holds for one fingerprint: an engine with its models, and the
# embedder. thresholds.relevance and thresholds.answer in config.yaml are stronger; delete an entry to forget it.
"""

GRADES = "grades.yaml"
_GRADES_HEAD = """\
# How good the grades of models are: balanced accuracy (.5 is chance), as `local-rag models try` measured it. With
# grading: auto a model whose support and usefulness reach the least accuracy is asked about each answer.
"""
GOOD_GRADES = 0.8
"""The least balanced accuracy of verdicts on answers that makes a model's own check worth a call."""

UNKNOWN = "@?"
"""The part of a fingerprint that stands for a model whose digest the server did not tell, so that it may be any model.
"""


@dataclass(frozen=True, slots=True)
class VoidCalibration:
    """Explain why calibrated thresholds do not hold now, with the command that finds new ones."""

    reason: str
    command: str

    @property
    def line(self) -> str:
        """Return one line that ends in the command."""
        return f"{self.reason}: {self.command}"


def fingerprint_of(engine: Engine, embedder: Embedder | None, reranker: Reranker | None = None) -> str:
    """Return the fingerprint for thresholds: of the engine with its models, the embedder and the reranker."""
    parts = [engine.fingerprint]
    if embedder is not None and embedder.fingerprint not in engine.fingerprint:
        parts.append(embedder.fingerprint)
    if reranker is not None:
        parts.append(reranker.fingerprint)
    return "; ".join(parts)


def thresholds_for(settings: Settings, fingerprint: str) -> Thresholds:
    """Return the thresholds in force: those of the settings, else those calibrated for this fingerprint.

    Raise ConfigError for a file that cannot be read.
    """
    own = settings.values.thresholds
    kept = calibrated(settings).get(fingerprint)
    if kept is None or UNKNOWN in fingerprint:
        return own
    return kept.model_copy(update=own.model_dump(exclude_none=True))


def void_calibration(settings: Settings, fingerprint: str) -> VoidCalibration | None:
    """Return why calibrated thresholds are not used, or None if none are stored or they are used.

    Thresholds of the same engine are named first, the latest first. Return None too if both thresholds are set by hand.
    Raise ConfigError for a file that cannot be read.
    """
    own = settings.values.thresholds
    kept = calibrated(settings)
    if not kept or None not in (own.relevance, own.answer) or (fingerprint in kept and UNKNOWN not in fingerprint):
        return None
    engine, latest_first = _engine(fingerprint), [*reversed(kept)]
    nearest = next((each for each in latest_first if _engine(each) == engine), latest_first[0])
    if UNKNOWN in fingerprint:
        made_for = "models of known versions, and the server does not say which it runs"
    elif _engine(nearest) != engine:
        made_for = f"another engine ({_engine(nearest)})"
    else:
        made_for = f"another version, model, prompt or embedder of the engine {engine}"
    entry = _entries(settings)[nearest]
    command, has_files = _command(settings, entry)
    cases = "" if has_files or not entry.get("from") else f", fitted to the cases {entry['from']}"
    return VoidCalibration(f"calibrated thresholds are not used, they hold for {made_for}{cases}", command)


def _engine(fingerprint: str) -> str:
    return fingerprint.split(" ", 1)[0]


def _command(settings: Settings, entry: dict[str, Any]) -> tuple[str, bool]:
    """Return the command that calibrates again for the current settings, and whether it names the case files."""
    files = [str(path) for path in entry.get("files") or () if Path(path).exists()]
    options = [str(option) for option in entry.get("options") or ()]
    for name in ("index", "engine", "model", "profile", "embedder"):
        if settings.origin[name] == "flag" and not (name == "index" and "--corpus" in options):
            options += [f"--{name}", str(settings.get(name))]
    return shlex.join(["local-rag", "calibrate", *(files or ["CASES"]), *options]), bool(files)


def accuracy_of(settings: Settings, identity: Callable[[], str]) -> float:
    """Return the measured balanced accuracy of a model's verdicts on answers, or 0 if it is unknown or not good enough.

    `identity` returns that of its engine, for which a server may be asked: only if some model was measured. Raise
    ConfigError for a file that cannot be read.
    """
    entries = _entries(settings, GRADES)
    key = identity() if entries else ""
    kept = entries.get(key)
    if kept is None or UNKNOWN in key:
        return 0.0
    try:
        least = min(float(kept["support"]), float(kept["usefulness"]))
    except (KeyError, TypeError, ValueError) as error:
        raise ConfigError(
            f"{settings.config_folder / GRADES}: "
            f"the entry {key!r} must hold support and usefulness, numbers from 0 to 1",
            hint="delete the entry, or the file, and run local-rag models try again",
        ) from error
    return least if least >= GOOD_GRADES else 0.0


def keep_accuracies(settings: Settings, identity: str, accuracies: Mapping[str, float]) -> Path | None:
    """Store the balanced accuracies of a model's verdicts, unless the server does not tell its version."""
    return None if UNKNOWN in identity else _keep(settings, GRADES, _GRADES_HEAD, identity, accuracies)


def _entries(settings: Settings, file: str = FILE) -> dict[str, Any]:
    path = settings.config_folder / file
    return read_yaml(path) if path.exists() else {}


def calibrated(settings: Settings) -> dict[str, Thresholds]:
    """Return all calibrated thresholds by fingerprint, the latest last."""
    path = settings.config_folder / FILE
    thresholds: dict[str, Thresholds] = {}
    for fingerprint, entry in _entries(settings).items():
        try:
            thresholds[fingerprint] = Thresholds(relevance=entry.get("relevance"), answer=entry.get("answer"))
        except (AttributeError, ValidationError) as error:
            raise ConfigError(
                f"{path}: the entry {fingerprint!r} must hold relevance and answer, numbers from 0 to 1 or nothing",
                hint=f"delete the entry, or the file, and run local-rag calibrate again ({type(error).__name__})",
            ) from error
    return thresholds


def keep(settings: Settings, fingerprint: str, thresholds: Thresholds, about: dict[str, Any]) -> Path:
    """Store the thresholds of one fingerprint and the data they were found on; return the path of the file."""
    if UNKNOWN in fingerprint:
        raise EngineError(
            "the server does not say which version of the model it runs, so thresholds cannot be stored for it",
            hint="ollama list shows its models; then the same command again",
        )
    entry = {"relevance": thresholds.relevance, "answer": thresholds.answer} | about
    return _keep(settings, FILE, _HEAD, fingerprint, entry)


def _keep(settings: Settings, file: str, head: str, key: str, entry: Mapping[str, Any]) -> Path:
    path = settings.config_folder / file
    make_folder(path.parent)
    with exclusive(path.with_name(f".{file}.lock"), WAIT):
        entries = _entries(settings, file)
        entries.pop(key, None)  # so that the latest comes last
        entries[key] = dict(entry)
        text = head + yaml.safe_dump(entries, sort_keys=False, allow_unicode=True, width=1000)
        replace_file(path, text.encode())
    return path
