"""From what the evaluator reads to the probability that a passage holds the answer: a fitted logistic function."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter

FILE = "calibration.json"
_LEAST = 1e-6
"""Probabilities are kept this far from 0 and 1, so that their log odds are finite."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """ln(p / (1 - p)) = bias + span · (logit of the best span) + present · (log odds of class 2).

    Platt, "Probabilistic outputs for support vector machines" (1999). `fitted_on` says on what.
    """

    bias: float = 0.0
    span: float = 0.25
    present: float = 1.0
    fitted_on: str = "nothing: the score of the pilot"

    def answerable(self, span: float, present: float) -> float:
        """The probability in [0, 1] of a passage whose best span has that logit."""
        present = min(max(present, _LEAST), 1 - _LEAST)
        logit = self.bias + self.span * span + self.present * math.log(present / (1 - present))
        return 1 / (1 + math.exp(-max(-50.0, min(50.0, logit))))


def read_calibration(folder: Path) -> Calibration:
    """That of the weights in a folder. Raises OSError, and ValueError for other contents."""
    return TypeAdapter(Calibration).validate_json((folder / FILE).read_bytes())
