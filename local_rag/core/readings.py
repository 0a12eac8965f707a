"""Define what an evaluator finds in a passage: its relevance to a question, and short answers."""

from __future__ import annotations

import math
from dataclasses import dataclass

_MARGIN = 1e-6
"""Probabilities keep this distance from 0 and 1, so that their log odds are finite."""


@dataclass(frozen=True)
class ReadSpan:
    """Hold a short answer in a passage: code points [start, end) of its `page_content`, which read `text`.

    `logit` is the logit of the span's start plus that of its end, minus the same sum for "no answer"; a larger value
    means a likelier answer.
    """

    start: int
    end: int
    text: str
    logit: float


@dataclass(frozen=True)
class Reading:
    """Hold an evaluator's reading of one passage for a question.

    `other`, `about` and `present` are the probabilities of CRAG's three classes (arXiv 2401.15884, section 4.2), with
    sum 1: the passage is about something else; it is on the topic but lacks the answer; it contains the answer. `spans`
    are at most five short answers, best first, which do not overlap; an empty passage has none. `answerable` is the
    calibrated probability in [0, 1] that the passage contains the answer.
    """

    other: float
    about: float
    present: float
    spans: tuple[ReadSpan, ...]
    answerable: float


NOTHING = Reading(1.0, 0.0, 0.0, (), 0.0)
"""The reading of an empty passage."""


@dataclass(frozen=True)
class Calibration:
    """Turn the logits of an evaluator into probabilities, and hold the thresholds for using them.

    Passage: ln(p / (1 - p)) = bias + span · (logit of the best span) + present · (log odds of class 2). Question over
    all its passages: ln(p / (1 - p)) = question_bias + question · (log odds of the best passage). Platt, "Probabilistic
    outputs for support vector machines" (1999).

    The thresholds are minimum probabilities: `relevant` for a passage to be relevant, `reads` for a passage to be given
    to a language model, `answers` for a question to be answered, `supports` for a passage to support a statement in
    full. `fitted_on` names the data on which everything was fitted.
    """

    bias: float = 0.0
    span: float = 0.25
    present: float = 1.0
    question_bias: float = 0.0
    question: float = 1.0
    relevant: float = 0.5
    reads: float = 0.1
    answers: float = 0.5
    supports: float = 0.5
    fitted_on: str = "nothing: the score of the pilot"

    def answerable(self, span: float, present: float) -> float:
        """Return the probability in [0, 1] that a passage contains the answer.

        `span` is the logit of its best span, `present` the probability of CRAG's class 2.
        """
        return probability(self.bias + self.span * span + self.present * log_odds(present))

    def of_best(self, answerable: float) -> float:
        """Return the probability in [0, 1] that the passages answer the question, from the probability of the best one.

        The other passages add no information on SQuAD v2 dev.
        """
        return probability(self.question_bias + self.question * log_odds(answerable))


def log_odds(probability: float) -> float:
    """Return ln(p / (1 - p)), kept finite."""
    kept = min(max(probability, _MARGIN), 1.0 - _MARGIN)
    return math.log(kept / (1.0 - kept))


def probability(logit: float) -> float:
    """Return 1 / (1 + exp(-logit)), the inverse of `log_odds`."""
    return 1.0 / (1.0 + math.exp(-max(-50.0, min(50.0, logit))))
