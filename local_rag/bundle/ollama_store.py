"""Read models from the files of the local Ollama's store: each name has a manifest that lists its blobs by SHA-256."""

from __future__ import annotations

import json
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path

from local_rag.core.errors import LocalRagError, ModelMissing, UsageError, reason_of

REGISTRY, LIBRARY, TAG = "registry.ollama.ai", "library", "latest"
"""The parts that a short name leaves out."""

_PART = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


def folder() -> Path:
    """Return the store of Ollama: OLLAMA_MODELS, else the person's own store, else that of the Linux service.

    https://docs.ollama.com/faq, "Where are models stored?"
    """
    if os.environ.get("OLLAMA_MODELS"):
        return Path(os.environ["OLLAMA_MODELS"]).expanduser().absolute()
    own, service = Path.home() / ".ollama/models", Path("/usr/share/ollama/.ollama/models")
    return service if sys.platform == "linux" and service.is_dir() and not own.is_dir() else own


@dataclass(frozen=True)
class StoredModel:
    """Describe a model of a store: the paths of its files in the store, blobs first, and their bytes."""

    name: str
    store: Path
    files: tuple[str, ...]
    size: int


def stored(name: str, store: Path) -> StoredModel:
    """Return a model of a store after checking that its blobs exist with their sizes, but not their contents.

    Raise ModelMissing with the command that downloads it, UsageError for an invalid name.
    """
    manifest = "/".join(("manifests", *_parts(name)))
    pull = f"ollama pull {name}"
    try:
        data = json.loads((store / manifest).read_text(encoding="utf-8"))
        blobs = {str(part["digest"]): int(part["size"]) for part in [data["config"], *data["layers"]]}
    except FileNotFoundError as error:
        raise ModelMissing(f"Ollama has no model {name} in {store}", hint=pull) from error
    except OSError as error:
        hint = "sudo -E local-rag bundle create …, or OLLAMA_MODELS=FOLDER"
        raise LocalRagError(f"{store / manifest} cannot be read: {reason_of(error)}", hint=hint) from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ModelMissing(f"{store / manifest} is not a valid Ollama manifest", hint=pull) from error
    files = {digest: f"blobs/{digest.replace(':', '-')}" for digest in blobs}
    for digest, length in blobs.items():
        blob = store / files[digest]
        if not _DIGEST.fullmatch(digest) or not blob.is_file() or blob.stat().st_size != length:
            wanted = f"no blob {digest} of {length:,} bytes"
            raise ModelMissing(f"the model {name} in {store} is incomplete: {wanted}", hint=pull)
    return StoredModel(name, store, (*files.values(), manifest), sum(blobs.values()))


def _parts(name: str) -> tuple[str, ...]:
    """Return host, namespace, model and tag of [host/][namespace/]model[:tag]; raise UsageError for an invalid name."""
    path, colon, tag = name.rpartition(":")
    if not colon or "/" in tag:
        path, tag = name, TAG
    parts = path.split("/")
    if len(parts) < 3:
        parts = [REGISTRY, *([LIBRARY] if len(parts) == 1 else []), *parts]
    if len(parts) != 3 or not all(map(_PART.fullmatch, (*parts, tag))):
        raise UsageError(f"a bundle cannot hold the Ollama model {name!r}", hint="… --ollama-model llama3.2:3b")
    return (*parts, tag)


def name_of(manifest: str) -> str:
    """Return the name of the model whose manifest has this path in a store."""
    _, host, space, model, tag = manifest.split("/")
    return f"{model}:{tag}" if (host, space) == (REGISTRY, LIBRARY) else f"{host}/{space}/{model}:{tag}"
