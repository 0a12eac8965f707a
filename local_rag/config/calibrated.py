"""Calibrated thresholds: what `calibrate` found, kept beside config.yaml with the fingerprint that they hold for.

A file of its own, because a person's config.yaml has comments that writing it anew would lose, and because thresholds
of several engines can be kept at once.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from pydantic import ValidationError

from local_rag.config.settings import Settings
from local_rag.config.values import Thresholds
from local_rag.config.yaml_file import read_yaml
from local_rag.core.errors import ConfigError, EngineError
from local_rag.core.private_files import exclusive, make_folder, replace_file

if TYPE_CHECKING:
    from local_rag.core.protocols import Embedder, Engine, Reranker

FILE = "calibration.yaml"
WAIT = 10
"""Seconds to wait for another process that writes the file; that takes it milliseconds."""
_HEAD = """\
# Thresholds that `local-rag calibrate` found. Each holds for one fingerprint: an engine with its models, and the
# embedder. thresholds.relevance and thresholds.answer in config.yaml are stronger; delete an entry to forget it.
"""

UNKNOWN = "@?"
"""In a fingerprint: a model whose digest the server did not tell, which may be any."""


@dataclass(frozen=True, slots=True)
class VoidCalibration:
    """Thresholds that were calibrated, and do not hold for what is asked now: why, and the command for new ones."""

    reason: str
    command: str

    @property
    def line(self) -> str:
        """One line with the command at its end."""
        return f"{self.reason}: {self.command}"


def fingerprint_of(engine: Engine, embedder: Embedder | None, reranker: Reranker | None = None) -> str:
    """What thresholds hold for: an engine with its models, the embedder that brings it its passages, and what reranks
    them.
    """
    parts = [engine.fingerprint]
    if embedder is not None and embedder.fingerprint not in engine.fingerprint:
        parts.append(embedder.fingerprint)
    if reranker is not None:
        parts.append(reranker.fingerprint)
    return "; ".join(parts)


def thresholds_for(settings: Settings, fingerprint: str) -> Thresholds:
    """The thresholds in force for an engine: those of the settings, else what was calibrated for this fingerprint.

    Raises ConfigError for a file that cannot be read.
    """
    own = settings.values.thresholds
    kept = calibrated(settings).get(fingerprint)
    if kept is None or UNKNOWN in fingerprint:
        return own
    return kept.model_copy(update=own.model_dump(exclude_none=True))


def void_calibration(settings: Settings, fingerprint: str) -> VoidCalibration | None:
    """The latest thresholds, of the same engine if there are any, where a fingerprint has none of its own; else None.

    Nothing is where both thresholds are set by hand. Raises ConfigError for a file that cannot be read.
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
    """The command that calibrates again for what is asked now, and whether it names the files of the cases."""
    files = [str(path) for path in entry.get("files") or () if Path(path).exists()]
    options = [str(option) for option in entry.get("options") or ()]
    for name in ("index", "engine", "model", "profile", "embedder"):
        if settings.origin[name] == "flag" and not (name == "index" and "--corpus" in options):
            options += [f"--{name}", str(settings.get(name))]
    return shlex.join(["local-rag", "calibrate", *(files or ["CASES"]), *options]), bool(files)


def _entries(settings: Settings) -> dict[str, Any]:
    path = settings.config_folder / FILE
    return read_yaml(path) if path.exists() else {}


def calibrated(settings: Settings) -> dict[str, Thresholds]:
    """Everything that was calibrated, by fingerprint, the latest last."""
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
    """Write the thresholds of one fingerprint, with what they were found on; the others stay. The file written."""
    if UNKNOWN in fingerprint:
        raise EngineError(
            "the server does not say which version of the model it runs, so thresholds cannot be stored for it",
            hint="ollama list shows its models; then the same command again",
        )
    path = settings.config_folder / FILE
    make_folder(path.parent)
    with exclusive(path.with_name(f".{FILE}.lock"), WAIT):
        entries = _entries(settings)
        entries.pop(fingerprint, None)  # the latest is the last
        entries[fingerprint] = {"relevance": thresholds.relevance, "answer": thresholds.answer} | about
        text = _HEAD + yaml.safe_dump(entries, sort_keys=False, allow_unicode=True, width=1000)
        replace_file(path, text.encode())
    return path
