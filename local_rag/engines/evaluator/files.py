"""Where the weights of an evaluator and of its base lie, and whether they are the right ones."""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from local_rag.config.models import EvaluatorSpec, Models, packaged_file
from local_rag.core.errors import ConfigError, ModelChanged, ModelMissing
from local_rag.core.readings import Calibration
from local_rag.core.reasons import mistake_of, reason_of
from local_rag.engines.evaluator import calibration
from local_rag.index.embed import encoders, weights

WEIGHTS = "evaluator.safetensors"
CONFIG = "config.json"
_TOKENIZER = "tokenizer.json"
_SHA256 = r"^[0-9a-f]{64}$"


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class Base(_Part):
    """The embedder that the training began with, whose word embeddings and tokenizer the model takes."""

    package: str = ""
    path: str = ""
    sha256: str = Field(pattern=_SHA256)


class Config(_Part):
    """config.json beside the weights. `encoder`: keys of a BertConfig; without them those of the base hold.

    `sha256` is that of the weights, `window` in tokens, special ones included.
    """

    format: Literal[1]
    sha256: str = Field(pattern=_SHA256)
    window: int = Field(ge=64)
    heads: tuple[Literal["span"], Literal["relevance"], Literal["support"]]
    base: Base | None = None
    encoder: Mapping[str, Any] = {}


@dataclass(frozen=True)
class Files:
    """The folders of an evaluator and of its base, None where it has none, and what its config.json says.

    What is read of them is read once.
    """

    folder: Path
    base: Path | None
    config: Config

    @property
    def weights(self) -> Path:
        return self.folder / WEIGHTS

    @property
    def embeddings(self) -> Path | None:
        """The file with the word embeddings, None where they are among the weights."""
        return self.base / weights.WEIGHTS if self.base else None

    @property
    def tokenizer(self) -> Path:
        """The tokenizer: its own, else that of the base."""
        own = self.folder / _TOKENIZER
        return self.base / _TOKENIZER if self.base and not own.is_file() else own

    @cached_property
    def encoder(self) -> Mapping[str, Any]:
        """The configuration of the encoder. Raises OSError, ValueError."""
        known: Mapping[str, Any] = self.config.encoder
        if not known and self.base:
            known = json.loads((self.base / CONFIG).read_text(encoding="utf-8"))
        return known

    @cached_property
    def calibration(self) -> Calibration:
        """How its scores become probabilities. Raises OSError, ValueError."""
        return calibration.read_calibration(self.folder)

    @cached_property
    def fingerprint(self) -> str:
        """16 hex digits of weights, base, encoder, tokenizer and window: what a conversion is made of.

        Raises OSError.
        """
        parts = [self.config.sha256, self.config.base.sha256 if self.config.base else "", self.config.window]
        layout = [weights.layout(folder) for folder in (self.base,) if folder]
        own = self.tokenizer.parent == self.folder
        tokenizer = hashlib.sha256(self.tokenizer.read_bytes()).hexdigest() if own else ""
        encoder = [dict(self.config.encoder)] if self.config.encoder else []
        whole = json.dumps([*parts, *layout, tokenizer, *encoder], sort_keys=True)
        return hashlib.sha256(whole.encode()).hexdigest()[:16]


def find(name: str, models: Models, memory: Path | None) -> Files:
    """The evaluator of that name, every file in place and of the right SHA-256; nothing is loaded.

    `memory` remembers the SHA-256 of files that did not change. Raises ModelMissing, ModelChanged, ConfigError.
    """
    spec = models.evaluator(name)
    folder = weights.named_folder(spec)
    if folder is None or not (folder / WEIGHTS).is_file():
        raise ModelMissing(
            f"the weights of the evaluator '{spec.name}' are not on this machine: no {WEIGHTS} in "
            f"{folder or spec.package}",
            hint=_bring(spec, folder),
        )
    try:
        files = Files(folder, _base(spec, models), read_config(folder))
        _check(spec, files, models, memory)
        _check_contents(files)
        _ = files.encoder, files.calibration, files.fingerprint
    except (OSError, ValueError) as error:
        raise ModelChanged(
            f"the evaluator '{spec.name}' cannot be read: {_reason(error)} (in {folder})", hint=_bring(spec, folder)
        ) from error
    return files


def read_config(folder: Path) -> Config:
    """What config.json says. Raises OSError, and ValueError for other contents."""
    return Config.model_validate_json((folder / CONFIG).read_bytes())


def _base(spec: EvaluatorSpec, models: Models) -> Path | None:
    return weights.folder(models.embedder(spec.base)) if spec.base else None


def _check(spec: EvaluatorSpec, files: Files, models: Models, memory: Path | None) -> None:
    if (actual := weights.remembered_sha256(files.weights, memory)) != files.config.sha256:
        raise ModelChanged(
            f"the weights of the evaluator '{spec.name}' are damaged or others: SHA-256 {files.config.sha256[:12]}… "
            f"expected, {actual[:12]}… in {files.weights}",
            hint=_bring(spec, files.folder),
        )
    needs = files.config.base
    if bool(needs) != bool(files.base):
        hint = f"name it: evaluators.{spec.name}.base: NAME" if needs else f"leave out evaluators.{spec.name}.base"
        raise ConfigError(f"the evaluator '{spec.name}' {'needs a' if needs else 'has no'} base", hint=hint)
    if needs and files.embeddings and (actual := weights.remembered_sha256(files.embeddings, memory)) != needs.sha256:
        raise ModelChanged(
            f"the evaluator '{spec.name}' was trained with another embedder than '{spec.base}': SHA-256 "
            f"{needs.sha256[:12]}… expected, {actual[:12]}… in {files.embeddings}",
            hint=models.embedder(spec.base).install or f"set evaluators.{spec.name}.base",
        )


def _check_contents(files: Files) -> None:
    """Raises ValueError for weights and a tokenizer that are of another kind, whatever their SHA-256."""
    with files.weights.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if length > files.weights.stat().st_size:
            raise ValueError(f"{WEIGHTS} is no safetensors file")
        tensors = json.loads(file.read(length))
    if not isinstance(tensors, dict):
        raise ValueError(f"{WEIGHTS} is no safetensors file")
    if lacking := [head for head in files.config.heads if f"{head}.weight" not in tensors]:
        raise ValueError(f"{WEIGHTS} has no tensor {lacking[0]}.weight")
    if files.tokenizer.parent == files.folder:
        try:
            encoders.tokenizer(files.tokenizer, "evaluator")
        except Exception as error:  # the library raises no class of its own
            raise ValueError(f"{_TOKENIZER}: {error}") from error


def _bring(spec: EvaluatorSpec, folder: Path | None) -> str:
    """The command that brings the files again."""
    if spec.package != "local_rag" or folder is None:
        return f"put the folder there again, or set evaluators.{spec.name}.path in models.yaml"
    root = packaged_file().parent
    if (root / ".git").exists():
        return f"git -C {shlex.quote(str(root))} checkout -- {folder.relative_to(root).as_posix()}"
    return "pip install --force-reinstall --no-deps local-rag"


def _reason(error: OSError | ValueError) -> str:
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        return f"{'.'.join(map(str, first['loc'])) or CONFIG}: {mistake_of(first)}"
    if isinstance(error, OSError) and error.filename:
        return f"{Path(error.filename).name}: {reason_of(error)}"
    return reason_of(error)
