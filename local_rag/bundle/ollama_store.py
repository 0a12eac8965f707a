"""Models in the store of the local Ollama, as files: a manifest per name, which lists its blobs by their SHA-256."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

from local_rag.bundle.copying import Say, copy
from local_rag.bundle.large_files import Progress
from local_rag.bundle.machine import ollama_store
from local_rag.core.errors import LocalRagError, ModelMissing, UsageError, reason_of
from local_rag.text.display import format_bytes

REGISTRY, LIBRARY, TAG = "registry.ollama.ai", "library", "latest"
"""What a name leaves out."""

_PART = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


@dataclass(frozen=True)
class StoredModel:
    """A model of the store: its manifest and its blobs, (SHA-256 in hex, bytes) each."""

    name: str
    store: Path
    parts: tuple[str, str, str, str]
    blobs: tuple[tuple[str, int], ...]

    @property
    def manifest(self) -> str:
        """The path of its manifest in a store."""
        return "/".join(("manifests", *self.parts))

    @property
    def size(self) -> int:
        return sum(size for _, size in self.blobs)


def parts_of(name: str) -> tuple[str, str, str, str]:
    """Host, namespace, model and tag of [host/][namespace/]model[:tag]. Raises UsageError for what is no name."""
    path, colon, tag = name.rpartition(":")
    if not colon or "/" in tag:
        path, tag = name, TAG
    parts = path.split("/")
    whole = [REGISTRY, LIBRARY, *parts][-3:] if len(parts) <= 3 else []
    if len(parts) == 2:
        whole = [REGISTRY, *parts]
    if not whole or not all(_PART.fullmatch(part) for part in (*whole, tag)):
        raise UsageError(f"a bundle cannot contain the Ollama model {name!r}", hint="… --ollama-model llama3.2:3b")
    return whole[0], whole[1], whole[2], tag


def stored(name: str, store: Path | None = None) -> StoredModel:
    """A model as the store has it; its blobs are there with their sizes, their sums are looked at when they are copied.

    Raises ModelMissing with the command that brings it, UsageError.
    """
    store = store or ollama_store()
    parts = parts_of(name)
    file = store.joinpath("manifests", *parts)
    pull = f"ollama pull {name}"
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
        blobs = {str(part["digest"]): int(part["size"]) for part in [data["config"], *data["layers"]]}
    except FileNotFoundError as error:
        raise ModelMissing(f"Ollama has no model {name} in {store}", hint=pull) from error
    except OSError as error:
        raise LocalRagError(
            f"{file} cannot be read: {reason_of(error)}",
            hint="sudo -E local-rag bundle create …, or OLLAMA_MODELS=FOLDER",
        ) from error
    except (ValueError, KeyError, TypeError) as error:
        raise ModelMissing(f"{file} is not a valid Ollama manifest", hint=pull) from error
    for digest, length in blobs.items():
        blob = store / "blobs" / digest.replace(":", "-")
        if not _DIGEST.fullmatch(digest) or not blob.is_file() or blob.stat().st_size != length:
            raise ModelMissing(
                f"the model {name} in {store} is incomplete: no blob {digest} of {length:,} bytes", hint=pull
            )
    return StoredModel(name, store, parts, tuple((digest[7:], length) for digest, length in blobs.items()))


def gather(models: list[StoredModel], into: Path, say: Say) -> None:
    """Copy the files of these models into `into`, a blob that several share once.

    Raises LocalRagError for a blob whose content is not what its name says.
    """
    for model in models:
        say(f"copying {model.name}: {format_bytes(model.size)}")
        progress = Progress("copied", model.size, say)
        for digest, _ in model.blobs:
            source, target = (folder / "blobs" / f"sha256-{digest}" for folder in (model.store, into))
            if copy(source, target, progress, digest) != digest:
                target.unlink()
                raise LocalRagError(
                    f"{source} is damaged: its SHA-256 is not its name",
                    hint=f"rm {source} && ollama pull {model.name}   then the same command",
                )
        copy(model.store / model.manifest, into / model.manifest)
