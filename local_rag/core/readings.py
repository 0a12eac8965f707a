"""What an evaluator reads in a passage: its relevance to a question, and the short answers that stand in it."""

from __future__ import annotations

import math
from dataclasses import dataclass

_LEAST = 1e-6
"""Probabilities are kept this far from 0 and 1, so that their log odds are finite."""


@dataclass(frozen=True)
class ReadSpan:
    """A short answer in a passage: code points [start, end) of its `page_content`, which read `text`.

    `logit` is that of the span's start plus that of its end, minus the same for "no answer": the larger, the likelier.
    """

    start: int
    end: int
    text: str
    logit: float


@dataclass(frozen=True)
class Reading:
    """What one passage holds for a question.

    `other`, `about` and `present` are the probabilities of CRAG's three classes (arXiv 2401.15884, section 4.2); their
    sum is 1: the passage is about something else; about the right matter, without the answer; it holds the answer.
    `spans` are the best short answers, best first, at most five, none overlapping another; none in an empty passage.
    `answerable` is the calibrated probability in [0, 1] that the passage holds the answer.
    """

    other: float
    about: float
    present: float
    spans: tuple[ReadSpan, ...]
    answerable: float


NOTHING = Reading(1.0, 0.0, 0.0, (), 0.0)
"""What is read in an empty passage."""


@dataclass(frozen=True)
class Calibration:
    """How the logits of an evaluator become probabilities, and from which probability on it is believed.

    Of a passage: ln(p / (1 - p)) = bias + span · (logit of the best span) + present · (log odds of class 2); of a
    question over all its passages: ln(p / (1 - p)) = question_bias + question · (log odds of the best passage). Platt,
    "Probabilistic outputs for support vector machines" (1999).

    `relevant` is the least probability of a passage that is relevant, `reads` that of one that a language model is
    given to read, `answers` that of a question that is answered; `supports` that of a statement that a passage supports
    in full. `fitted_on` says on what all of it was fitted.
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
        """The probability in [0, 1] that a passage holds the answer, by the logit of its best span and by class 2."""
        return probability(self.bias + self.span * span + self.present * log_odds(present))

    def of_best(self, answerable: float) -> float:
        """The probability in [0, 1] that the answer to a question stands in its passages, by that of the best passage:
        what the others hold tells nothing more on SQuAD v2 dev.
        """
        return probability(self.question_bias + self.question * log_odds(answerable))


def log_odds(probability: float) -> float:
    """ln(p / (1 - p)), finite."""
    kept = min(max(probability, _LEAST), 1.0 - _LEAST)
    return math.log(kept / (1.0 - kept))


def probability(logit: float) -> float:
    """1 / (1 + exp(-logit)), the inverse of `log_odds`."""
    return 1.0 / (1.0 + math.exp(-max(-50.0, min(50.0, logit))))
