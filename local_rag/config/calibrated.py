"""Calibrated thresholds: what `calibrate` found, kept beside config.yaml with the fingerprint that they hold for.

A file of its own, because a person's config.yaml has comments that writing it anew would lose, and because thresholds
of several engines can be kept at once.
"""

from __future__ import annotations

import os
import shlex
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from pydantic import ValidationError

from local_rag.config.settings import Settings
from local_rag.config.values import Thresholds
from local_rag.config.yaml_file import read_yaml
from local_rag.core.errors import ConfigError, EngineError
from local_rag.core.private_files import make_folder
from local_rag.text.display import joined

if TYPE_CHECKING:
    from local_rag.core.protocols import Embedder, Engine, Reranker

FILE = "calibration.yaml"
_HEAD = """\
# Thresholds that `local-rag calibrate` found. Each holds for one fingerprint: an engine with its models, and the
# embedder. thresholds.relevance and thresholds.answer in config.yaml are stronger; delete an entry to forget it.
"""


UNKNOWN = "@?"
"""In a fingerprint: a model whose digest the server did not tell, which may be any."""


_EVALUATOR = "evaluator "
"""What the part of a fingerprint begins with that says which evaluator reads, where the engine's scores follow one."""

_PLACEHOLDER = "CASES"


@dataclass(frozen=True, slots=True)
class VoidCalibration:
    """Thresholds that were calibrated, and do not hold for what is asked now: what for, and the command for new ones.

    `made_for` follows "they hold for"; `named` is the name of the cases, where the command cannot give their files.
    """

    made_for: str
    command: str
    named: str = ""

    @property
    def reason(self) -> str:
        cases = f", fitted to the cases {self.named}" if self.named else ""
        return f"calibrated thresholds are not used, they hold for {self.made_for}{cases}"

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
    """The thresholds that come nearest to a fingerprint, where none of its own are kept; None where nothing is void.

    Nothing is where both thresholds are set by hand. Raises ConfigError for a file that cannot be read.
    """
    own = settings.values.thresholds
    kept = calibrated(settings)
    if not kept or None not in (own.relevance, own.answer) or (fingerprint in kept and UNKNOWN not in fingerprint):
        return None
    now = fingerprint.split("; ")
    # the last of those that are equally near: it was calibrated last
    nearest = max(reversed(kept), key=lambda each: (_engine(each) == _engine(fingerprint), _common(each, now)))
    if UNKNOWN in fingerprint:
        made_for = "models of known versions, and the server does not say which it runs"
    else:
        made_for = _made_for(nearest.split("; "), now)
    entry = _entries(settings)[nearest]
    command, has_files = _command(settings, entry)
    return VoidCalibration(made_for, command, "" if has_files else str(entry.get("from", "")))


def _engine(fingerprint: str) -> str:
    return fingerprint.split(" ", 1)[0]


def _common(fingerprint: str, parts: Sequence[str]) -> int:
    return len({*fingerprint.split("; ")} & {*parts})


def _part(parts: Sequence[str], beginning: str) -> str:
    """The part of a fingerprint that begins so; empty where there is none."""
    return "".join(part for part in parts if part.startswith(beginning))


def _made_for(kept: Sequence[str], now: Sequence[str]) -> str:
    """What thresholds of the fingerprint with the parts `kept` hold for and one with the parts `now` is not."""
    if _engine(kept[0]) != _engine(now[0]):
        return f"another engine ({_engine(kept[0])})"
    different = []
    evaluator_kept, evaluator_now = (_part(parts, _EVALUATOR) for parts in (kept, now))
    if evaluator_kept != evaluator_now:
        both = evaluator_kept and evaluator_now
        which = (
            "other weights or another calibration of"
            if both
            else f"an engine {'with' if evaluator_kept else 'without'}"
        )
        different.append(f"{which} the evaluator")
    if kept[0] != now[0]:
        prompts = any(" with " in part for part in (kept[0], now[0]))
        different.append("other prompts" if prompts else f"an earlier version of the engine {_engine(now[0])}")
    known = {evaluator_kept, evaluator_now}
    if {*kept[1:]} - known != {*now[1:]} - known:
        different.append("another model, embedder or reranker")
    return joined(different)


def _command(settings: Settings, entry: dict[str, Any]) -> tuple[str, bool]:
    """The command that calibrates again for what is asked now, and whether it names the files of the cases."""
    files = [str(path) for path in entry.get("files") or () if Path(path).exists()]
    options = [str(option) for option in entry.get("options") or ()]
    for name in ("index", "engine", "model", "profile", "embedder"):
        if settings.origin[name] == "flag" and not (name == "index" and "--corpus" in options):
            options += [f"--{name}", str(settings.get(name))]
    return shlex.join(["local-rag", "calibrate", *(files or [_PLACEHOLDER]), *options]), bool(files)


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
    entries = _entries(settings)
    entries.pop(fingerprint, None)  # the latest is the last
    entries[fingerprint] = {"relevance": thresholds.relevance, "answer": thresholds.answer} | about
    make_folder(path.parent)
    text = _HEAD + yaml.safe_dump(entries, sort_keys=False, allow_unicode=True, width=1000)
    handle, new = tempfile.mkstemp(dir=path.parent, prefix=".calibration-")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
    Path(new).replace(path)
    return path
