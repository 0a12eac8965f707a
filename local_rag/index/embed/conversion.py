"""Models converted once for OpenVINO, so that a question need not wait for PyTorch: found, verified, made.

A conversion is a folder of the cache, named by what it was made of: OpenVINO's model.xml and model.bin, and record.json
with their SHA-256 and the figures of the check against the original. A model that cannot be converted has a record of
why, and is not tried again before another version of OpenVINO is installed; what failed only this time (a stop, no
room, no time) is tried again.
"""

from __future__ import annotations

import errno
import importlib.util
import json
import os
import shutil
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from local_rag.config.settings import CACHE_DIR
from local_rag.core import child_process, process
from local_rag.core.private_files import make_folder, replace_file
from local_rag.core.reasons import reason_of
from local_rag.index.embed import weights
from local_rag.index.embed.room import free_bytes, take_room
from local_rag.text.display import format_bytes

Precision = Literal["f32", "bf16", "int8"]
"""bf16 and int8 are for passages only."""

RECORD = "record.json"
FORMAT = 2
SAME = 0.9999
"""The least agreement (cosine) of a converted model in float32 with the original, on any text."""
NEAR = 0.999
"""The same for bfloat16."""
NEAR_INT8 = 0.99
"""The same for eight bits, on passages that the ranges were not observed on."""
FASTER = 1.3
"""How many times the passages of float32 eight bits must make per second of the processor."""
INT8 = "int8.xml"
SECONDS = 600.0
_NO_ROOM = (errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC))
_LEAST = 10_000_000
"""Bytes for the structure of a model and what else comes with it."""
_INSTALLED = "openvino-*.dist-info"
_OLD = 86_400.0
"""Seconds after which a draft is nobody's any more."""


@dataclass(frozen=True, slots=True)
class Conversion:
    """A converted model that is whole, or `why` there is none.

    `cosine` and `cosine_bf16` are the least of the check's texts against the original; None for bfloat16 where the
    processor has none. `difference` is the largest in any logit of an evaluator. `cosine_int8` and `speed_int8` (times
    the passages per second of float32) are None where bfloat16 is near enough, or the model has no linear layers.
    `longest` is in tokens, special ones included. `passing`: the next load tries again.
    """

    folder: Path
    openvino: str = ""
    cosine: float = 0.0
    difference: float | None = None
    cosine_bf16: float | None = None
    cosine_int8: float | None = None
    speed_int8: float | None = None
    longest: int = 0
    pad_id: int = 0
    pad_token: str = ""
    why: str = ""
    passing: bool = False

    def model(self, precision: Precision = "f32") -> Path:
        """The file that OpenVINO loads."""
        return self.folder / (INT8 if precision == "int8" else "model.xml")

    @property
    def for_passages(self) -> Precision:
        """The quickest precision that is near enough: bfloat16 where the processor has it."""
        if (self.cosine_bf16 or 0.0) >= NEAR:
            return "bf16"
        return "int8" if (self.cosine_int8 or 0.0) >= NEAR_INT8 and (self.speed_int8 or 0.0) >= FASTER else "f32"

    @property
    def describe(self) -> str:
        """What computes this model, and how near it is."""
        if self.why:
            how = "was not converted this time" if self.passing else "cannot be converted"
            return f"sentence-transformers; it {how}: {self.why}"
        precision = self.for_passages
        cosine = self.cosine_bf16 if precision == "bf16" else self.cosine_int8
        passages = "" if precision == "f32" else f"; passages in {precision}, cosine {cosine:.4f}"
        return f"OpenVINO {self.openvino}, cosine {self.cosine:.6f} to sentence-transformers{passages}"


def find(folder: Path) -> Conversion | None:
    """The conversion in a folder; None for nothing, or for what is not whole or of another version."""
    try:
        record = json.loads((folder / RECORD).read_text(encoding="utf-8"))
        if (record.pop("format"), record.get("openvino")) != (FORMAT, version()):
            return None
        hashes = record.pop("sha256")
        if record.get("why") and not record.pop("lasting", False):  # an earlier version took a full disk for a reason
            return None
        if not record.get("why"):
            if not (record["longest"] > 0 and record["pad_id"] >= 0 and record["pad_token"]):
                return None
            for name, digest in hashes.items():
                if weights.remembered_sha256(folder / name, folder / "seen.json") != digest:
                    return None
        return Conversion(folder, **record)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def convert(folder: Path, converter: str, model: Path, longest: int, base: Path | None = None) -> Conversion:
    """Convert the model in folder `model` into `folder`, in a process of its own: PyTorch is never loaded here.

    The process is `python -m CONVERTER MODEL LONGEST DRAFT`, and then `base` where that holds a part of the model; see
    `converter.run`. The result is put in place in one step, so that a stop leaves nothing half done. Where it cannot
    be, `why` says so. Raises Stopped.
    """
    if not version():
        return Conversion(folder, why="OpenVINO is not installed")
    draft: Path | None = None
    size = needed(model, *([base] if base else []))
    try:
        make_folder(folder.parent)
        _delete_old_drafts(folder.parent)
        draft = Path(tempfile.mkdtemp(prefix=f"{folder.name}.", dir=folder.parent))
        take_room(draft, size)
        reply = _run(converter, [str(model), str(longest), str(draft), *([str(base)] if base else [])])
        if reply.get("why"):  # libraries name other reasons for a file that was cut off
            for file in draft.iterdir():
                file.unlink()
            take_room(draft, size)
        return _adopted(draft, folder, reply)
    except OSError as error:
        why = f"{folder.parent} cannot be written ({reason_of(error)})"
        if error.errno in _NO_ROOM:
            why = f"{folder.parent} has no room for it ({format_bytes(size)} are needed)"
        return Conversion(folder, why=why, passing=True)
    finally:
        if draft:
            shutil.rmtree(draft, ignore_errors=True)


def needed(*folders: Path) -> int:
    """Bytes that a conversion takes: the model in float32, again as OpenVINO keeps it compiled, and in eight bits."""
    with suppress(OSError):
        return 3 * sum(file.stat().st_size for folder in folders for file in folder.glob("*.safetensors")) + _LEAST
    return _LEAST


def prospect(
    cache: Path | None, size: int = 0, model: str = "embedder", library: str = "sentence-transformers"
) -> tuple[str, str]:
    """What will compute where nothing was converted yet; and what to do about it where `size` bytes find no place.

    `library` computes a `model` that is not converted.
    """
    if not version():
        return f"{library}; OpenVINO is not installed", ""
    above = next((path for path in (cache, *cache.parents) if path.exists()), None) if cache else None
    if above is None or not os.access(above, os.W_OK):
        fix = f"make that folder yours, or name another one: export {CACHE_DIR}=FOLDER"
        return f"{library}; the cache at {cache} cannot be written", fix
    free = free_bytes(above)
    if free is not None and free < size:
        found = f"{library}; the cache at {cache} has {format_bytes(free)} free, and {format_bytes(size)}"
        fix = f"free {format_bytes(size - free)} there, or name another folder: export {CACHE_DIR}=FOLDER"
        return f"{found} are needed to convert the {model} for OpenVINO", f"{fix}; the next local-rag ask converts it"
    return f"the next question{' or index' * (model == 'embedder')} converts the {model} for OpenVINO", ""


def version() -> str:
    """The version of OpenVINO, empty if it is not installed.

    It is read off the name of the folder that an installation leaves beside the package: `importlib.metadata` parses
    what lies in there as a mail, with a library that nothing else needs for a search.
    """
    spec = importlib.util.find_spec("openvino")
    if spec is None:
        return ""
    named = [folder for path in spec.submodule_search_locations or () for folder in Path(path).parent.glob(_INSTALLED)]
    if len(named) == 1:
        return named[0].name.removeprefix("openvino-").removesuffix(".dist-info")
    from importlib import metadata

    try:
        return metadata.version("openvino")
    except metadata.PackageNotFoundError:
        return ""


def _delete_old_drafts(folder: Path) -> None:
    """A killed process leaves its draft behind."""
    for draft in folder.glob("*.*"):
        with suppress(OSError):
            if time.time() - draft.stat().st_mtime > _OLD:
                shutil.rmtree(draft)


def _run(converter: str, arguments: Sequence[str]) -> dict[str, object]:
    """The reply of the converter."""
    command = child_process.command(converter, *arguments)
    env = {**child_process.environment(), **process.OFFLINE}
    # a session of its own: a Ctrl-C is for the question that waits, and it comes again
    done = child_process.run(command, b"", SECONDS, env, own_session=True)
    if done.code is None:
        return {"passing": f"it took longer than {SECONDS:.0f} s"}
    try:
        reply = json.loads(done.output.splitlines()[-1])
        return reply if isinstance(reply, dict) else {"passing": "the converter gave no usable reply"}
    except (ValueError, IndexError):
        return {"passing": f"the converter ended with exit code {done.code}"}


def _adopted(draft: Path, folder: Path, reply: dict[str, object]) -> Conversion:
    if reply.get("passing"):
        return Conversion(folder, why=str(reply["passing"]), passing=True)
    names = [] if reply.get("why") else sorted(path.name for path in draft.iterdir() if path.suffix in (".xml", ".bin"))
    record = {"format": FORMAT, "openvino": version(), **reply} | ({"lasting": True} if reply.get("why") else {})
    record["sha256"] = {name: weights.sha256(draft / name) for name in names}
    replace_file(draft / RECORD, json.dumps(record, indent=1).encode())
    conversion = find(folder)
    if conversion is None:  # otherwise another process was quicker
        with suppress(OSError):
            shutil.rmtree(folder)
        with suppress(OSError):
            draft.replace(folder)
        conversion = find(folder)
    return conversion or Conversion(folder, why="what was written could not be read again", passing=True)
