"""The calibration that lies beside the weights of an evaluator; `scripts/fit_evaluator.py` writes it."""

from __future__ import annotations

from pathlib import Path

from pydantic import TypeAdapter

from local_rag.core.readings import Calibration

FILE = "calibration.json"


def read_calibration(folder: Path) -> Calibration:
    """That of the weights in a folder. Raises OSError, and ValueError for other contents."""
    return TypeAdapter(Calibration).validate_json((folder / FILE).read_bytes())
