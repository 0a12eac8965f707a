"""The short answers that an evaluator read: how well they answer, and where the best of them stands in a text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from local_rag.core.answer import Conflict, Highlight
from local_rag.core.readings import Reading, ReadSpan, log_odds
from local_rag.text.marks import without_marks
from local_rag.text.words import words

SPAN = 0.5
"""Log odds that a span loses per logit behind the best of its passage (SQuAD v2 dev)."""
CONTEXT = 8
"""Words on each side by which one of several equal phrases is recognised."""


class RankedSpan(NamedTuple):
    """A span of the `passage`-th passage (from 0), and the log odds that it is the answer."""

    passage: int
    span: ReadSpan
    logit: float


def ranked(readings: Sequence[Reading]) -> list[RankedSpan]:
    """The spans of all passages, best first; passages compare by their calibrated probability, never by a softmax."""
    every = [
        RankedSpan(number, span, log_odds(reading.answerable) + SPAN * (span.logit - reading.spans[0].logit))
        for number, reading in enumerate(readings)
        for span in reading.spans
    ]
    return sorted(every, key=lambda answer: (-answer.logit, answer.passage, answer.span.start))


def highlights(text: str, passages: Sequence[str], readings: Sequence[Reading]) -> tuple[Highlight, ...]:
    """Where the best short answer that a text holds stands in it; empty where it holds none."""
    places = (place_of(answer.span, passages[answer.passage], text) for answer in ranked(readings))
    return next(((place,) for place in places if place), ())


def highlights_of(text: str, conflicts: Sequence[Conflict]) -> tuple[Highlight, ...]:
    """Where the answers of all sides of a disagreement stand in a text that holds them, the newest first.

    Of a text that holds only the older side that one is highlighted: highlights say what a text answers, conflicts what
    else the files hold.
    """
    places = []
    for position in (position for conflict in conflicts for position in conflict.positions):
        quote = position.citations[0].quote
        start = max(0, quote.find(position.text))
        places.append(place_of(ReadSpan(start, start + len(position.text), position.text, 0.0), quote, text))
    return tuple(dict.fromkeys(place for place in places if place))


def place_of(span: ReadSpan, passage: str, text: str) -> Highlight | None:
    """Where the words of a span stand in a text: of several places that with most of the words around the span."""
    written = without_marks(span.text).split()
    if not written:
        return None
    phrase = re.compile(r"(?<![\w\[])" + r"\s+".join(map(re.escape, written)) + r"(?![\w\]])", re.IGNORECASE)
    around = _around(passage, span.start, span.end)
    places = [match.span() for match in phrase.finditer(text)]
    best = max(places, key=lambda place: (around & _around(text, *place)).total(), default=None)
    return Highlight(*best) if best else None


def _around(text: str, start: int, end: int) -> Counter[str]:
    """The words before and behind a place."""
    return Counter(words(text[:start])[-CONTEXT:] + words(text[end:])[:CONTEXT])
