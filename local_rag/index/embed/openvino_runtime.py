"""OpenVINO without its telemetry: the package itself, and models compiled for this processor."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from local_rag.core import process

Precision = Literal["f32", "bf16"]

BLOBS = "compiled"
"""The folder beside a converted model in which OpenVINO keeps it as compiled for this processor: .1 s less to load.

OpenVINO notices one that is cut off or of another processor; it is no more protected than the program itself."""


def import_openvino() -> Any:
    """The package openvino, which must not report to its maker while it is imported."""
    with process.hidden(process.TELEMETRY):
        import openvino
    return openvino


def compiled(model: Path, precision: Precision, keep: bool) -> Any:
    """OpenVINO's CompiledModel; `keep` stores what was compiled in float32 for the next time.

    The properties: https://docs.openvino.ai, "CPU Device", supported properties.
    """
    core = import_openvino().Core()
    properties = {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": precision}
    if keep and precision == "f32" and os.access(model.parent, os.W_OK):
        with suppress(RuntimeError):  # a kept one that is damaged, or no room for it
            return core.compile_model(str(model), "CPU", properties | {"CACHE_DIR": str(model.parent / BLOBS)})
    return core.compile_model(str(model), "CPU", properties)


def has_bfloat16() -> bool:
    """Whether this processor computes in bfloat16."""
    return "BF16" in import_openvino().Core().get_property("CPU", "OPTIMIZATION_CAPABILITIES")
