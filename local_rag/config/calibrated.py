"""Calibrated thresholds: what `calibrate` found, kept beside config.yaml with the fingerprint that they hold for.

A file of its own, because a person's config.yaml has comments that writing it anew would lose, and because thresholds
of several engines can be kept at once.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from pydantic import ValidationError

from local_rag.config.settings import Settings, Thresholds
from local_rag.config.yaml_file import read_yaml
from local_rag.core.errors import ConfigError, EngineError
from local_rag.core.private_files import make_folder

if TYPE_CHECKING:
    from local_rag.core.protocols import Embedder, Engine

FILE = "calibration.yaml"
_HEAD = """\
# Thresholds that `local-rag calibrate` found. Each holds for one fingerprint: an engine with its models, and the
# embedder. thresholds.relevance and thresholds.answer in config.yaml are stronger; delete an entry to forget it.
"""


UNKNOWN = "@?"
"""In a fingerprint: a model whose digest the server did not tell, which may be any."""


def fingerprint_of(engine: Engine, embedder: Embedder | None) -> str:
    """What thresholds hold for: an engine with its models, and the embedder that brings it its passages."""
    if embedder is None or embedder.fingerprint in engine.fingerprint:
        return engine.fingerprint
    return f"{engine.fingerprint}; {embedder.fingerprint}"


def thresholds_for(settings: Settings, fingerprint: str) -> Thresholds:
    """The thresholds in force for an engine: those of the settings, else what was calibrated for this fingerprint.

    Raises ConfigError for a file that cannot be read.
    """
    own = settings.values.thresholds
    kept = calibrated(settings).get(fingerprint)
    if kept is None or UNKNOWN in fingerprint:
        return own
    return kept.model_copy(update=own.model_dump(exclude_none=True))


def calibrated(settings: Settings) -> dict[str, Thresholds]:
    """Everything that was calibrated, by fingerprint."""
    path = settings.config_folder / FILE
    if not path.exists():
        return {}
    thresholds: dict[str, Thresholds] = {}
    for fingerprint, entry in read_yaml(path).items():
        try:
            thresholds[fingerprint] = Thresholds(relevance=entry.get("relevance"), answer=entry.get("answer"))
        except (AttributeError, ValidationError) as error:
            raise ConfigError(
                f"{path}: the entry {fingerprint!r} must hold relevance and answer, numbers from 0 to 1 or nothing",
                hint=f"delete the entry, or the file, and run local-rag calibrate again ({type(error).__name__})",
            ) from error
    return thresholds


def calibrated_with_other_prompts(settings: Settings, fingerprint: str) -> bool:
    """Whether thresholds were calibrated for such an engine, and none of them with the prompts that it is told now.

    `fingerprint` is that of an engine on a language model, `ollama PROMPTS; models; manner`, with its prompts first;
    without what follows the first semicolon it means whatever models there are.
    """
    prompts, _, rest = fingerprint.partition("; ")
    name = prompts.split(" ")[0]
    parts = [kept.partition("; ")[::2] for kept in calibrated(settings)]
    alike = {
        before
        for before, after in parts
        if before.split(" ")[0] == name and (not rest or f"{after}; ".startswith(f"{rest}; "))
    }
    return bool(alike) and prompts not in alike


def keep(settings: Settings, fingerprint: str, thresholds: Thresholds, about: dict[str, Any]) -> Path:
    """Write the thresholds of one fingerprint, with what they were found on; the others stay. The file written."""
    if UNKNOWN in fingerprint:
        raise EngineError(
            "the server does not say which version of the model it runs, so thresholds cannot be stored for it",
            hint="ollama list shows its models; then the same command again",
        )
    path = settings.config_folder / FILE
    entries = read_yaml(path) if path.exists() else {}
    entries[fingerprint] = {"relevance": thresholds.relevance, "answer": thresholds.answer} | about
    make_folder(path.parent)
    text = _HEAD + yaml.safe_dump(entries, sort_keys=False, allow_unicode=True, width=1000)
    handle, new = tempfile.mkstemp(dir=path.parent, prefix=".calibration-")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
    Path(new).replace(path)
    return path
