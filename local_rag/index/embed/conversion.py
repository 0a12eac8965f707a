"""Models converted once for OpenVINO, so that a question need not wait for PyTorch: found, verified, made.

A conversion is a folder of the cache, named by what it was made of: OpenVINO's model.xml and model.bin, for an embedder
its tokenizer, and record.json with their SHA-256 and the check against the original. Of a model that cannot be
converted it holds a record of why, and a day later, or with another version of OpenVINO, it is tried again.
"""

from __future__ import annotations

import importlib.metadata
import json
import shutil
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from local_rag.core import child_process
from local_rag.core.errors import reason_of
from local_rag.core.private_files import make_folder, replace_file
from local_rag.index.embed import weights
from local_rag.index.embed.encoders import BLOBS
from local_rag.text.display import format_bytes

Precision = Literal["f32", "bf16", "int8"]
"""The precision of a converted model; bf16 and int8 are for passages only."""

RECORD = "record.json"
FORMAT = 3
CONVERSION_SECONDS = 600.0
ROOM = 4
"""Free space that a conversion needs on the disk, as a multiple of a model's weights: two precisions, and the compiled
model.
"""
_RETRY_SECONDS = 86_400.0
"""Seconds after which a draft is taken for abandoned, and a model that could not be converted is tried again."""


@dataclass(frozen=True, slots=True)
class Conversion:
    """A converted model that is whole, or the reason `why` there is none.

    `near` says how near it is to the original, `passages` is the quickest precision that is near enough.
    """

    folder: Path
    near: str = ""
    passages: Precision = "f32"
    why: str = ""

    def model(self, precision: Precision) -> Path:
        """Return the file that OpenVINO loads."""
        return self.folder / ("int8.xml" if precision == "int8" else "model.xml")


def find(folder: Path) -> Conversion | None:
    """Return the conversion in a folder; None for nothing, or for what is not whole or of another version."""
    try:
        record = json.loads((folder / RECORD).read_text(encoding="utf-8"))
        late = record.get("why") and time.time() - (folder / RECORD).stat().st_mtime > _RETRY_SECONDS
        if late or (record.pop("format"), record.pop("openvino")) != (FORMAT, version()):
            return None
        for name, digest in record.pop("sha256").items():
            if weights.remembered_sha256(folder / name, folder / "seen.json") != digest:
                return None
        return Conversion(folder, **record)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def convert(folder: Path, converter: str, model: Path, window: int) -> Conversion:
    """Convert the model in folder `model` into `folder`, in a process of its own: PyTorch is never loaded here.

    The process is `python -m CONVERTER MODEL WINDOW DRAFT`; see `converter.run`. The result is put in place in one
    step, so that a stop leaves nothing half done. Where it cannot be, `why` says so. Raises Stopped.
    """
    if not version():
        return Conversion(folder, why="OpenVINO is not installed")
    try:
        make_folder(folder.parent)
        size = ROOM * sum(file.stat().st_size for file in model.glob("*.safetensors"))
        if shutil.disk_usage(folder.parent).free < size:  # no reason to remember
            return Conversion(folder, why=f"it needs {format_bytes(size)} in {folder.parent}")
        for left in folder.parent.glob("*.*"):  # by a process that was killed
            if time.time() - left.stat().st_mtime > _RETRY_SECONDS:
                shutil.rmtree(left, ignore_errors=True)
        with tempfile.TemporaryDirectory(prefix=f"{folder.name}.", dir=folder.parent, ignore_cleanup_errors=True) as to:
            draft = Path(to)
            # a session of its own: a Ctrl-C is for the question that waits, and it comes again
            command = child_process.command(converter, str(model), str(window), to)
            done = child_process.run(command, b"", CONVERSION_SECONDS, child_process.environment(), own_session=True)
            try:
                reply: dict[str, Any] = json.loads(done.output.splitlines()[-1])
            except (ValueError, IndexError):
                late = f"it took longer than {CONVERSION_SECONDS:.0f} s"
                reply = {"why": late if done.code is None else f"the converter ended with exit code {done.code}"}
            shutil.rmtree(draft / BLOBS, ignore_errors=True)  # OpenVINO finds them in their first place only
            files = {file.name: weights.sha256(file) for file in draft.iterdir()}
            record = {"format": FORMAT, "openvino": version(), "sha256": files, **reply}
            replace_file(draft / RECORD, json.dumps(record, indent=1).encode())
            if find(folder) is None:  # otherwise another process was quicker
                shutil.rmtree(folder, ignore_errors=True)
                draft.replace(folder)
        return find(folder) or Conversion(folder, why="what was written could not be read again")
    except OSError as error:
        return Conversion(folder, why=f"{folder.parent} cannot be written ({reason_of(error)})")


def served_by(known: Conversion | None) -> tuple[str, str]:
    """Return what computes an embedder here, or will compute it, and why; and what to do about it, if anything."""
    library = "sentence-transformers"
    if known and not known.why:
        return f"OpenVINO {version()}, {known.near}", ""
    if known:
        return f"{library}; it cannot be converted: {known.why}", f"delete {known.folder} to try again before tomorrow"
    if not version():
        return f"{library}; OpenVINO is not installed", ""
    return "the next question or index converts the embedder for OpenVINO", ""


def version() -> str:
    """Return the version of OpenVINO, "" if it is not installed."""
    try:
        return importlib.metadata.version("openvino")
    except importlib.metadata.PackageNotFoundError:
        return ""
