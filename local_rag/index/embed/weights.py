"""The weights of a model on this machine: where they lie, and whether they are the right ones."""

from __future__ import annotations

import hashlib
import importlib.util
import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from local_rag.config.models import EmbedderSpec, EvaluatorSpec
from local_rag.core import cancel
from local_rag.core.errors import ModelChanged, ModelMissing
from local_rag.core.private_files import make_folder, replace_file

WEIGHTS = "model.safetensors"

SEEN = "weights.json"
"""The file of the cache that remembers the SHA-256 of weights."""

_PART = 1 << 20
"""Bytes that are hashed between two looks for a stop."""


def folder(spec: EmbedderSpec) -> Path:
    """Return the folder of an embedder of models.yaml, looked for on this machine only.

    Raises ModelMissing with the command that installs it.
    """
    path = _in_cache(spec.model) if spec.model else named_folder(spec)
    if path is None or not (path / WEIGHTS).is_file():
        where = spec.model or spec.package or spec.path
        raise ModelMissing(
            f"the weights of the embedder '{spec.name}' are not on this machine: no {WEIGHTS} in {where}",
            hint=spec.install or f"put the model there, or name its folder under embedders.{spec.name} in models.yaml",
        )
    return path


def is_there(spec: EmbedderSpec) -> bool:
    """Return whether the weights are on this machine."""
    try:
        return bool(folder(spec))
    except ModelMissing:
        return False


def verify(spec: EmbedderSpec, digest: Callable[[Path], str]) -> None:
    """Raise ModelMissing, and ModelChanged if models.yaml names another SHA-256 than `digest` gives of the file."""
    file = folder(spec) / WEIGHTS
    if spec.sha256 and (actual := digest(file)) != spec.sha256:
        raise ModelChanged(
            f"the weights of '{spec.name}' are not the ones that models.yaml names: "
            f"SHA-256 {spec.sha256[:12]}… expected, {actual[:12]}… in {file}",
            hint=spec.install or f"if the new ones are right, set embedders.{spec.name}.sha256: {actual}",
        )


def named_folder(spec: EmbedderSpec | EvaluatorSpec) -> Path | None:
    """Return the folder that a package or a path names, whether it exists or not; None for a package that does not."""
    if not spec.package:
        return Path(spec.path)
    try:
        package = importlib.util.find_spec(spec.package)
    except (ImportError, ValueError):
        return None
    if package is None or not package.submodule_search_locations:
        return None
    return Path(next(iter(package.submodule_search_locations))) / spec.path


def _in_cache(name: str) -> Path | None:
    """Return the folder of a model's name in Hugging Face's cache, which has one per commit; `main` says which is in
    force.
    """
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    try:
        file = try_to_load_from_cache(name, WEIGHTS)
    except HFValidationError:
        return None
    return Path(file).parent if isinstance(file, str) else None


def sha256(file: Path) -> str:
    """Return the SHA-256 of a file in hex. Raises OSError, and Stopped between two parts of it."""
    digest = hashlib.sha256()
    with file.open("rb", buffering=0) as stream:
        while part := stream.read(_PART):
            cancel.check()
            digest.update(part)
    return digest.hexdigest()


def remembered_sha256(file: Path, memory: Path | None) -> str:
    """Return the SHA-256 of a file, read from `memory` (a JSON file) while size and time of change stay the same.

    A memory that cannot be read or written only costs time.
    """
    status = file.stat()
    key, state = str(file), [status.st_size, status.st_mtime_ns]
    known: dict[str, Any] = {}
    if memory is not None:
        with suppress(OSError, ValueError, TypeError, KeyError):
            known = dict(json.loads(memory.read_bytes()))
            *seen, digest = known[key]
            if seen == state:
                return str(digest)
    digest = sha256(file)
    if memory is not None:
        with suppress(OSError):
            make_folder(memory.parent)
            replace_file(memory, json.dumps(known | {key: [*state, digest]}).encode())
    return digest


def layout(folder: Path) -> str:
    """Return 8 hex digits of the files beside the weights that decide about vectors: configuration, pooling, tokenizer.

    Further weights (of a Dense module) count by size and time of change.
    """
    digest = hashlib.sha256()
    for file in sorted(folder.rglob("*")):
        if file.suffix == ".json" and file.name != "data_config.json":
            digest.update(file.relative_to(folder).as_posix().encode() + file.read_bytes())
        elif file.suffix in (".safetensors", ".bin") and file.name != WEIGHTS:
            status = file.stat()
            digest.update(f"{file.name} {status.st_size} {status.st_mtime_ns}".encode())
    return digest.hexdigest()[:8]
