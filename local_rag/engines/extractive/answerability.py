"""Does a quote really answer the question? Two logistic models read the evidence, a third weighs them.

SQuAD 2.0 (arXiv 1806.03822, section 4) asks about things that an article is about and does not say: words and
similarity hardly tell such questions from others, so the models also look for what a quote lacks or turns round. The
coefficients are data, `answerability.json`, made by `scripts/fit_answerability.py`; the file says on what.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from local_rag.engines.extractive.evidence import Evidence, evidence

if TYPE_CHECKING:
    from local_rag.engines.extractive.scoring import Reading

FILE = Path(__file__).with_name("answerability.json")


@dataclass(frozen=True)
class Logistic:
    """ln(p / (1 - p)) = bias + the weighted sum of the features; a feature that is not named weighs nothing."""

    bias: float
    weights: Mapping[str, float]

    def logit(self, features: Mapping[str, float]) -> float:
        return self.bias + sum(weight * features[name] for name, weight in self.weights.items())


@dataclass(frozen=True)
class Answerability:
    """`present`: the passages are about the question at all. `answers`: given that, the quote says what is asked.

    `score` weighs the logits of the two: the probability that the quotes hold the right answer.
    """

    present: Logistic
    answers: Logistic
    score: Logistic

    @property
    def fingerprint(self) -> str:
        """Changes with the coefficients."""
        return hashlib.sha256(repr(self).encode()).hexdigest()[:8]

    def judge(self, reading: Reading, number: int) -> Judged:
        """The verdict on the `number`-th quote of a reading."""
        return self.of(evidence(reading, number), reading.refused)

    def of(self, features: Evidence, refused: float = 0.0) -> Judged:
        """`refused` is added to the logit of `present`: small talk has no answer in any file."""
        values = features._asdict()
        logits = {"present": self.present.logit(values) + refused, "answers": self.answers.logit(values)}
        return Judged(_probability(logits["present"]), _probability(self.score.logit(logits)))


@dataclass(frozen=True)
class Judged:
    """Both in [0, 1]: the passages are about the question; the quotes hold the right answer."""

    present: float
    score: float


@cache
def shipped() -> Answerability:
    """The models that come with the package."""
    return read(json.loads(FILE.read_text(encoding="utf-8")))


def read(data: Mapping[str, Any]) -> Answerability:
    """The models from their coefficients: {"present": {"bias": …, "weights": {…}}, "answers": …, "score": …}."""
    models = {
        name: Logistic(float(data[name]["bias"]), {key: float(value) for key, value in data[name]["weights"].items()})
        for name in ("present", "answers", "score")
    }
    return Answerability(**models)


def _probability(logit: float) -> float:
    return round(1.0 / (1.0 + math.exp(-max(-60.0, min(60.0, logit)))), 4)
