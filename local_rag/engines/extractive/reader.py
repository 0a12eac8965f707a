"""Use an evaluator's readings for the extractive engine: relevance, the quotes that answer, and their usefulness.

What a reading says of a short answer is joined with the place of its passage and the words of its line (`placed`): the
best answer is right for 241 of 318 questions about six folders and to SQuAD v2 dev, without these for 226. Cosines of
lines add nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

from local_rag.core import cancel
from local_rag.core.protocols import Shape
from local_rag.core.readings import NOTHING, log_odds, probability
from local_rag.core.verdicts import Relevance
from local_rag.engines.assessment import explained, line_of, of_another, placed
from local_rag.engines.extractive.lines import ITEM
from local_rag.engines.extractive.quotes import (
    MAX_LIST_WORDS,
    Quote,
    as_written,
    is_dateline,
    is_row,
    items_around,
    quotes,
    spoken,
)
from local_rag.text.answer_language import OF_QUESTION, texts_for
from local_rag.text.answer_values import RankedSpan, ranked
from local_rag.text.document_questions import question_to_read
from local_rag.text.questions import asked, in_other_words, kind_of, stem_weights
from local_rag.text.sentences import Span
from local_rag.text.words import content_stems, fold

if TYPE_CHECKING:
    from langchain_core.documents import Document

    from local_rag.core.protocols import Corpus, Evaluator
    from local_rag.core.readings import Reading
    from local_rag.core.verdicts import RelevanceLabel

PASSAGE_MARGIN = 1.0
"""The most log odds between a relevant passage and the best: grading accuracy rises from .85 to .88 on SQuAD v2 dev."""
QUOTE_MARGIN = 2.0
"""The most log odds between a further quote and the best: F1 on ClapNQ dev is .524 with 1, .535 with 2, .538 with 3."""


class ExtractiveReader:
    """Read with one evaluator and its thresholds; `relevant` and `answers` replace those of its calibration."""

    def __init__(
        self,
        evaluator: Evaluator,
        corpus: Corpus | None = None,
        relevant: float | None = None,
        answers: float | None = None,
    ) -> None:
        self.evaluator, self._corpus = evaluator, corpus
        self._calibration = evaluator.calibration
        self._relevant = self._calibration.relevant if relevant is None else relevant
        self._answers = self._calibration.answers if answers is None else answers

    def relevance(self, question: str, documents: Sequence[Document]) -> list[Relevance]:
        """Return for each document the probability that it holds the answer, and why, in the question's language."""
        texts, each = texts_for(OF_QUESTION, question), list[list[Relevance]]()
        for text in asked(question):
            readings = self.read(text, documents, stem_weights(text, self._corpus))
            each.append(
                [
                    Relevance(label, round(reading.answerable, 4), explained(reading, texts))
                    for label, reading in zip(labels(text, readings, self._relevant), readings, strict=True)
                ]
            )
        return [max(of, key=lambda one: (one.label == "relevant", one.score)) for of in zip(*each, strict=True)]

    def chosen(
        self, question: str, passages: Sequence[Document], failed: str, most: int, *, several: bool = False
    ) -> list[tuple[str, int]]:
        """Return the sentences around the best short answers as they are written, with the numbers of their passages
        (from 0).

        For a person, a time, a number or a place it is one sentence, unless the user wants `several`. For a list it is
        the items, each beginning with `ITEM`: all of them, or `most` if the user has set a number. For a summary it is
        the best quote and those after it. Otherwise it is up to `most` sentences, those of the passage with the best
        answer first. Sentences of a failed draft are left out, and there are none if the answer is unlikely to stand
        in these passages.
        """
        drafts = spoken(failed)
        kind = kind_of(question)
        if not several and kind == "fact":
            most = 1
        wanted, every = set(content_stems(question)), quotes(passages)
        who = fold(question).lstrip().startswith(("who ", "whose "))
        chosen: dict[str, Quote] = {}
        least = 0.0
        for answer in ranked(self.read(question, passages, stem_weights(question, self._corpus))):
            cancel.check()
            unlikely = self._calibration.of_best(probability(answer.logit)) < self._answers
            if len(chosen) == most or (chosen and answer.logit < least) or unlikely:
                break
            passage = passages[answer.passage].page_content
            if of_another(question, line_of(answer, passages), answer.span.text):
                continue
            quote = _around(answer, every, passage)
            text = as_written(quote, wanted, answer.span.text) if quote else ""
            items = items_around(passage, answer.span.start) if kind == "items" and not chosen else []
            new = [f"{ITEM}{item}" for item in items if spoken(item) not in drafts]
            if len(new) > text.count("\n") and not _are_headings(items, passages):
                return [(item, answer.passage) for item in (new if most == Shape().sentences else new[:most])]
            if (
                not quote
                or (who and is_dateline(text))
                or spoken(text) in drafts
                or (chosen and quote.listed and is_row(text))  # a table beside a sentence that answers
                or any(map(quote.overlaps, chosen.values()))
            ):
                continue
            if not chosen:
                least = answer.logit - QUOTE_MARGIN
            chosen.setdefault(text, quote)
        best_first = list(dict.fromkeys(quote.document for quote in chosen.values()))
        ordered = sorted(chosen.items(), key=lambda pair: (best_first.index(pair[1].document), pair[1].span.start))
        if kind == "whole" and chosen and asked(question) == [question]:
            best = next(iter(chosen.values()))
            return [(as_written(quote, wanted), quote.document) for quote in _stretch(best, every)]
        return [(text, quote.document) for text, quote in ordered]

    def supports(self, sentence: str, passages: Sequence[str]) -> bool:
        """Return whether one of these passages supports all of a sentence."""
        chances = self.evaluator.supports([(sentence, passage) for passage in passages])
        return max(chances, default=0.0) >= self._calibration.supports

    def read(self, question: str, passages: Sequence[Document], weights: dict[str, float]) -> list[Reading]:
        """Return the evaluator's best reading of each passage, for the question in its own words and in those of
        documents; small talk is not read.
        """
        if not passages or kind_of(question) == "small talk":
            return [NOTHING] * len(passages)
        ways = [question_to_read(text, passages) for text in (question, *in_other_words(question))]
        each = [self.evaluator.read(way, passages) for way in ways]
        best = [max(readings, key=lambda reading: reading.answerable) for readings in zip(*each, strict=True)]
        return placed(best, passages, weights)


def _are_headings(items: Sequence[str], passages: Sequence[Document]) -> bool:
    """Return whether a list is a table of contents: two of its items are headings of these passages."""
    headings = {part for document in passages for part in str(document.metadata.get("heading") or "").split(" > ")}
    return len(headings.intersection(items)) > 1


def labels(question: str, readings: Sequence[Reading], relevant: float) -> list[RelevanceLabel]:
    """Label passages as relevant or not; if the question has a single answer, passages far behind the best are
    irrelevant.
    """
    best = max((reading.answerable for reading in readings), default=0.0)
    behind = math.inf if kind_of(question) in ("items", "steps", "several") else PASSAGE_MARGIN
    least = max(relevant, probability(log_odds(best) - behind))
    return ["relevant" if reading.answerable >= least else "irrelevant" for reading in readings]


def _stretch(first: Quote, every: Sequence[Quote]) -> list[Quote]:
    """Return a quote with the following ones in its passage, together at most `MAX_LIST_WORDS` words."""
    following = [quote for quote in every if quote.document == first.document and quote.span.start >= first.span.start]
    counts = accumulate(len(quote.text.split()) for quote in following)
    return [quote for quote, count in zip(following, counts, strict=True) if quote is first or count <= MAX_LIST_WORDS]


def _around(answer: RankedSpan, every: Sequence[Quote], passage: str) -> Quote | None:
    """Return the shortest quote that holds a short answer.

    If the answer extends beyond a sentence, so does the quote. Return None if the answer begins in text that cannot be
    quoted.
    """
    span = answer.span
    near = [quote for quote in every if quote.document == answer.passage and quote.span.end > span.start]
    holding = [quote for quote in near if quote.span.start <= span.start]
    first = min(holding, key=lambda quote: (quote.span.end < span.end, len(quote.text)), default=None)
    if first is None or span.end <= first.span.end:
        return first
    parts = [first, *(quote for quote in near if first.span.end <= quote.span.start < span.end)]
    whole = Span(first.span.start, max(span.end, *(quote.span.end for quote in parts)))
    return first._replace(span=whole, text=whole.of(passage), listed=any(quote.listed for quote in parts))
