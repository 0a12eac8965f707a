"""What an evaluator reads in a passage: its relevance to a question, and the short answers that stand in it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ReadSpan:
    """A short answer in a passage: code points [start, end) of its `page_content`, which read `text`.

    `logit` is that of the span's start plus that of its end, minus the same for "no answer": the larger, the likelier.
    """

    start: int
    end: int
    text: str
    logit: float


@dataclass(frozen=True, slots=True)
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
