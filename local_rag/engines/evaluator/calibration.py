"""The calibration that lies beside the weights of an evaluator; `scripts/fit_evaluator.py` writes it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from local_rag.core.readings import Calibration

FILE = "calibration.json"

_Probability = Annotated[float, Field(ge=0, le=1)]


class _Written(BaseModel):
    """The file: every key of `Calibration`, finite, and no other."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    bias: float
    span: float
    present: float
    question_bias: float
    question: float
    relevant: _Probability
    reads: _Probability
    answers: _Probability
    supports: _Probability
    fitted_on: str


def read_calibration(folder: Path) -> Calibration:
    """That of the weights in a folder. Raises OSError, and ValueError for other contents."""
    return Calibration(**_Written.model_validate_json((folder / FILE).read_bytes()).model_dump())
