"""An embedder converted once, so that a question need not wait for PyTorch: where it lies, and whether it is whole.

A conversion is a folder of the cache, named by the embedder's fingerprint: OpenVINO's model.xml and model.bin, and
record.json with their SHA-256 and the figures of the check against sentence-transformers. A model that cannot be
converted has a record of why, and is not tried again before another version of OpenVINO is installed; what only went
wrong this time (a stop, no room, no time) is tried again.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from local_rag.index.embed import weights
from local_rag.index.embed.encoders import Precision
from local_rag.index.parse.parser import import_path

FOLDER = "embedders"
RECORD = "record.json"
SAME = 0.9999
"""The least cosine between a converted model's vector in float32 and that of sentence-transformers, of any text."""
NEAR = 0.999
"""The same for bfloat16, which is for passages only."""
SECONDS = 600.0
_OLD = 86_400.0
"""Seconds after which a draft is nobody's any more."""
FORMAT = 1


@dataclass(frozen=True, slots=True)
class Conversion:
    """A converted model that is whole, or `why` there is none.

    `cosine` and `cosine_bf16` are the least of the check's texts against sentence-transformers; None for bfloat16 where
    the processor has none. `longest` is in tokens, special ones included.
    """

    folder: Path
    openvino: str = ""
    cosine: float = 0.0
    cosine_bf16: float | None = None
    longest: int = 0
    pad_id: int = 0
    pad_token: str = ""
    why: str = ""

    @property
    def model(self) -> Path:
        return self.folder / "model.xml"

    def allows(self, precision: Precision) -> bool:
        """Whether vectors of this precision are near enough."""
        return precision == "f32" or (self.cosine_bf16 or 0.0) >= NEAR

    @property
    def describe(self) -> str:
        """What serves this embedder, and how near it is."""
        if self.why:
            return f"sentence-transformers; it cannot be converted: {self.why}"
        return f"OpenVINO {self.openvino}, cosine {self.cosine:.6f} to sentence-transformers"


def find(cache: Path, fingerprint: str) -> Conversion | None:
    """What the cache has of an embedder; None for nothing, or for what is not whole or of another version."""
    folder = cache / FOLDER / fingerprint
    try:
        record = json.loads((folder / RECORD).read_text(encoding="utf-8"))
        if (record.pop("format"), record.get("openvino")) != (FORMAT, version()):
            return None
        hashes = record.pop("sha256")
        if not record.get("why") and not (record["longest"] > 0 and record["pad_id"] >= 0 and record["pad_token"]):
            return None
        if not record.get("why"):
            memory = folder / "seen.json"
            for name, digest in hashes.items():
                if weights.remembered_sha256(folder / name, memory) != digest:
                    return None
        return Conversion(folder, **record)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def convert(cache: Path, fingerprint: str, model: Path, longest: int) -> Conversion:
    """Convert the model of sentence-transformers in a folder, in a process of its own: PyTorch is never loaded here.

    The result takes its place in one step, so that a stop leaves nothing half done. Where it cannot be, `why` says so.
    """
    place = cache / FOLDER
    if not version():
        return Conversion(place / fingerprint, why="OpenVINO is not installed")
    try:
        place.mkdir(parents=True, exist_ok=True, mode=0o700)
        _sweep(place)
        draft = Path(tempfile.mkdtemp(prefix=f"{fingerprint}.", dir=place))
    except OSError as error:
        return Conversion(place / fingerprint, why=f"{place} cannot be written ({error.strerror or error})")
    try:
        return _adopted(draft, place / fingerprint, _run(model, longest, draft))
    except OSError as error:
        return Conversion(place / fingerprint, why=f"{place} cannot be written ({error.strerror or error})")
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def prospect(cache: Path | None) -> str:
    """What will compute where nothing was converted yet."""
    if not version():
        return "sentence-transformers; OpenVINO is not installed"
    above = next((place for place in (cache, *cache.parents) if place.exists()), None) if cache else None
    if above is None or not os.access(above, os.W_OK):
        return f"sentence-transformers; the cache at {cache} cannot be written"
    return "the next question or index converts the embedder for OpenVINO"


def version() -> str:
    """The version of OpenVINO, empty if it is not installed."""
    if importlib.util.find_spec("openvino") is None:
        return ""
    try:
        return importlib.metadata.version("openvino")
    except importlib.metadata.PackageNotFoundError:
        return ""


def _sweep(place: Path) -> None:
    """Delete drafts that a killed process left behind."""
    for draft in place.glob("*.*"):
        with suppress(OSError):
            if time.time() - draft.stat().st_mtime > _OLD:
                shutil.rmtree(draft)


def _run(model: Path, longest: int, draft: Path) -> dict[str, object]:
    """What the converter said."""
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-m", "local_rag.index.embed.converter", str(model), str(longest), str(draft)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=SECONDS,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(import_path())},
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
            start_new_session=True,  # a Ctrl-C is for the question that waits, and it comes again
        )
        found = json.loads(done.stdout.splitlines()[-1])
        return found if isinstance(found, dict) else {"passing": "the converter said nothing"}
    except subprocess.TimeoutExpired:
        return {"passing": f"it took longer than {SECONDS:.0f} s"}
    except (ValueError, IndexError):
        return {"passing": f"the converter ended with exit code {done.returncode}"}


def _adopted(draft: Path, folder: Path, said: dict[str, object]) -> Conversion:
    if said.get("passing"):
        return Conversion(folder, why=str(said["passing"]))
    names = [] if said.get("why") else ["model.xml", "model.bin"]
    record = {"format": FORMAT, "openvino": version(), **said}
    record["sha256"] = {name: weights.sha256(draft / name) for name in names}
    (draft / RECORD).write_text(json.dumps(record, indent=1), encoding="utf-8")
    cache = folder.parent.parent
    found = find(cache, folder.name)
    if found is None:  # otherwise another process was quicker
        with suppress(OSError):
            shutil.rmtree(folder)
        with suppress(OSError):
            draft.replace(folder)
        found = find(cache, folder.name)
    return found or Conversion(folder, why="what was written could not be read again")
