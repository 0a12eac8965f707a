"""OpenVINO without its telemetry: the package itself, and models compiled for this processor."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Literal

Precision = Literal["f32", "bf16"]

BLOBS = "compiled"
"""The folder beside a converted model in which OpenVINO keeps it as compiled for this processor: .1 s less to load.

OpenVINO notices one that is cut off or of another processor; it is no more protected than the program itself."""


def openvino() -> Any:
    """The package openvino without its telemetry, which `import openvino` brings along with the converting tools.

    `openvino_telemetry` calls its maker.
    """
    with hiding(["openvino_telemetry", "openvino.tools.ovc"]):
        import openvino as library

        return library


@contextmanager
def hiding(names: Sequence[str]) -> Iterator[None]:
    """Let imports of these modules fail, as where they are not installed: None in sys.modules cannot be imported."""
    modules: dict[str, Any] = sys.modules
    new = [name for name in names if name not in modules]
    modules.update(dict.fromkeys(new))
    try:
        yield
    finally:
        for name in new:
            modules.pop(name, None)


def compiled(model: Path, precision: Precision, keep: bool) -> Any:
    """OpenVINO's CompiledModel; `keep` stores what was compiled in float32 for the next time.

    The properties: https://docs.openvino.ai, "CPU Device", supported properties.
    """
    core = openvino().Core()
    properties = {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": precision}
    if keep and precision == "f32" and os.access(model.parent, os.W_OK):
        with suppress(RuntimeError):  # a kept one that is damaged, or no room for it
            return core.compile_model(str(model), "CPU", properties | {"CACHE_DIR": str(model.parent / BLOBS)})
    return core.compile_model(str(model), "CPU", properties)


def has_bfloat16() -> bool:
    """Whether this processor computes in bfloat16."""
    return "BF16" in openvino().Core().get_property("CPU", "OPTIMIZATION_CAPABILITIES")
