"""Where passages are embedded: on the processor, or on an accelerator that gives the same vectors and is faster.

Each accelerator is tried once, by the vectors of packaged passages, and the result is remembered per model, device and
version of its driver. Questions are always embedded on the processor: one takes less time there than loading another
library.
"""

from __future__ import annotations

import json
import platform
import re
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from local_rag.core.errors import ConfigError
from local_rag.core.private_files import replace_file
from local_rag.index.embed import encoders
from local_rag.text.display import joined, printable, shorten

if TYPE_CHECKING:
    from local_rag.index.embed.encoders import Encoder

NEAR = 0.999
"""The least agreement (cosine) of an accelerator with float32 on the processor, on any of the passages."""

FASTER = 1.1
"""How many times the passages per second of the processor an accelerator must make to be chosen by `device: auto`."""

PASSAGES = Path(__file__).with_name("calibration.txt")
"""Passages of documents of our own, short and long, between empty lines; a few in other languages."""

NAMES: Mapping[str, str] = {
    "gpu": "an Intel GPU with its driver, which OpenVINO finds",
    "npu": "an Intel NPU with its driver, which OpenVINO finds",
    "cuda": "a PyTorch that was built with CUDA, and an NVIDIA GPU",
    "mps": "a Mac with an Apple processor",
}
"""The accelerators by the names of the setting `device`, and what each needs."""

_BATCH = 16


@dataclass(frozen=True)
class Device:
    """An accelerator: `label` names model and driver, `load` makes an encoder that computes there."""

    name: str
    label: str
    load: Callable[[], Encoder]


@dataclass(frozen=True)
class Trial:
    """What came of trying a device: cosine and speed against the processor, or `why` it cannot be loaded."""

    cosine: float = 0.0
    speed: float = 0.0
    why: str = ""

    @property
    def refused(self) -> str:
        """Why its vectors cannot be used; empty if they can."""
        return self.why or ("" if self.cosine >= NEAR else f"its vectors differ (cosine {self.cosine:.4f})")

    @property
    def declined(self) -> str:
        """Why `device: auto` does not take it."""
        slow = f"it makes {self.speed:.2f} times the passages per second of the processor"
        return self.refused or ("" if self.speed >= FASTER else slow)


@dataclass(frozen=True)
class Choice:
    """The device that embeds passages, "cpu" for the processor; `others` are the reasons against the others by name."""

    name: str
    encoder: Encoder | None
    others: Mapping[str, str]

    @property
    def describe(self) -> str:
        """One line for a person."""
        return "; ".join([self.name, *(f"not {name}: {reason}" for name, reason in self.others.items())])


def choose(
    wanted: str,
    devices: Sequence[Device],
    processor: Encoder,
    exact: Callable[[], Encoder],
    passages: Sequence[str],
    memory: Path | None,
) -> Choice:
    """The first of the devices that may be used, else the processor; each is tried if `memory` knows nothing of it.

    `processor` is what would embed otherwise, `exact` loads it in float32. `wanted` is "auto", or the name of a device,
    which is not compared by its speed. Raises ConfigError if that is not there or gives other vectors.
    """
    known, others = _remembered(memory), dict[str, str]()
    for device in devices:
        if wanted not in ("auto", device.name):
            continue
        encoder: Encoder | None = None
        if device.label not in known:
            trial, encoder = _tried(device, processor, exact, passages)
            known[device.label] = trial
            _remember(memory, known)
        trial = known[device.label]
        reason = trial.declined if wanted == "auto" else trial.refused
        if not reason and encoder is None:
            try:
                encoder = device.load()
            except Exception as error:  # any driver, any library
                reason = _reason(error)
        if not reason:
            return Choice(device.name, encoder, others)
        others[device.name] = reason
    if wanted not in ("auto", "cpu"):
        raise unusable(wanted, others.get(wanted, ""), devices)
    return Choice("cpu", None, others)


def unusable(wanted: str, reason: str, devices: Sequence[Device]) -> ConfigError:
    """That a device that was named cannot be used; no reason if it is not there."""
    there = joined(["cpu", *dict.fromkeys(device.name for device in devices)], "and")
    what = f"cannot be used: {reason}" if reason else f"is not there; it needs {NAMES[wanted]}; there is {there}"
    return ConfigError(f"device: {wanted} {what}", hint="LOCAL_RAG_DEVICE=auto local-rag index")


def report(wanted: str, devices: Sequence[Device], memory: Path | None) -> Choice:
    """What `choose` would take, as far as `memory` knows, without loading anything."""
    known, others = _remembered(memory), dict[str, str]()
    for device in devices:
        trial = known.get(device.label)
        if wanted not in ("auto", device.name):
            reason = f"device: {wanted}"
        elif trial is None:
            reason = "the next local-rag index tries it"
        else:
            reason = trial.declined if wanted == "auto" else trial.refused
        if not reason:
            return Choice(device.name, None, others)
        others[device.name] = reason
    return Choice("cpu", None, others)


def listed(openvino: Callable[[str], Encoder], torch: Callable[[str], Encoder]) -> list[Device]:
    """The accelerators of this machine; `openvino` and `torch` load the model on the device of that name.

    PyTorch is imported only if it was built for one.
    """
    accelerators: list[Device] = []
    if find_spec("openvino") is not None:
        core = encoders.import_openvino().Core()
        for name in core.available_devices:  # "GPU", or "GPU.0" and "GPU.1"
            kind = name.partition(".")[0].lower()
            if kind in ("gpu", "npu"):
                label = f"{core.get_property(name, 'FULL_DEVICE_NAME')}, {core.get_versions(name)[name].build_number}"
                accelerators.append(Device(kind, label, lambda name=name: openvino(name)))  # type: ignore[misc]
    kind = torch_accelerator()
    if kind:
        import torch as library

        version = f"PyTorch {library.__version__}"
        if kind == "cuda" and library.cuda.is_available():
            accelerators.append(Device(kind, f"{library.cuda.get_device_name()}, {version}", lambda: torch("cuda")))
        elif kind == "mps" and library.backends.mps.is_available():
            accelerators.append(Device(kind, f"Apple {platform.mac_ver()[0]}, {version}", lambda: torch("mps")))
    return accelerators


def torch_accelerator() -> str:
    """What the installed PyTorch was built for: "cuda", "mps" or nothing. It is not imported: that takes seconds."""
    spec = find_spec("torch")
    if spec is None or not spec.origin:
        return ""
    if sys.platform == "darwin":
        return "mps" if platform.machine() == "arm64" else ""
    with suppress(OSError):
        text = Path(spec.origin).with_name("version.py").read_text(encoding="utf-8")
        if re.search(r"""^cuda\b[^=\n]*=\s*["']""", text, re.MULTILINE):
            return "cuda"
    return ""


def _tried(
    device: Device, processor: Encoder, exact: Callable[[], Encoder], passages: Sequence[str]
) -> tuple[Trial, Encoder | None]:
    import numpy as np

    batches = [passages[first : first + _BATCH] for first in range(0, len(passages), _BATCH)]
    try:
        encoder = device.load()
        list(encoder.encode(batches))  # kernels are compiled at the first
        began = time.perf_counter()
        rows = np.concatenate(list(encoder.encode(batches)))
        took = time.perf_counter() - began
    except Exception as error:  # any driver, any library
        return Trial(why=_reason(error)), None
    began = time.perf_counter()
    list(processor.encode(batches))
    speed = (time.perf_counter() - began) / max(took, 1e-6)
    same = np.concatenate(list(exact().encode(batches)))
    if rows.shape != same.shape:
        return Trial(why=f"it gives {rows.shape[1]} dimensions"), None
    norms = np.linalg.norm(rows, axis=1) * np.linalg.norm(same, axis=1)
    cosines = (rows * same).sum(axis=1) / np.maximum(norms, 1e-12)
    return Trial(float(np.nan_to_num(cosines, nan=0.0).min()), round(speed, 2)), encoder


def _reason(error: Exception) -> str:
    return shorten(printable(f"it cannot be loaded ({type(error).__name__}: {error})"), 160)


def _remembered(memory: Path | None) -> dict[str, Trial]:
    if memory is None:
        return {}
    try:
        known = json.loads(memory.read_text(encoding="utf-8"))
        return {str(label): Trial(**trial) for label, trial in known.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def _remember(memory: Path | None, known: Mapping[str, Trial]) -> None:
    if memory is not None:
        with suppress(OSError):  # then it is tried again
            replace_file(memory, json.dumps({label: asdict(trial) for label, trial in known.items()}).encode())
