"""Give the retrieval grader's verdicts by the trained evaluator (CRAG, section 4.2), without a language model."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from local_rag.core.readings import Reading
from local_rag.core.verdicts import Relevance, RelevanceLabel, Usage
from local_rag.text.answer_language import OF_QUESTION, texts_for
from local_rag.text.answer_texts import AnswerTexts
from local_rag.text.display import shorten
from local_rag.text.document_questions import question_to_read

if TYPE_CHECKING:
    from langchain_core.documents import Document

    from local_rag.core.protocols import Evaluator

CALLED_ANSWER = 0.5
"""The probability of a passage from which its short answer is called an answer."""
LONGEST_SPAN = 60
"""The most characters of a short answer in a verdict."""


def evaluated(evaluator: Evaluator, question: str, documents: Sequence[Document]) -> list[Relevance]:
    """Return a verdict for each passage: its calibrated score, and why.

    A passage is relevant if its score reaches `calibration.reads`. The first verdict carries the seconds of all. Raises
    the errors of `Evaluator.read`.
    """
    started, least = time.perf_counter(), evaluator.calibration.reads
    readings = evaluator.read(question_to_read(question, documents), documents)
    texts = texts_for(OF_QUESTION, question)
    verdicts = [_verdict(reading, least, texts) for reading in readings]
    usage = Usage(seconds=time.perf_counter() - started)
    return [replace(verdicts[0], usage=usage), *verdicts[1:]] if verdicts else []


def _verdict(reading: Reading, least: float, texts: AnswerTexts) -> Relevance:
    label: RelevanceLabel = "relevant" if reading.answerable >= least else "irrelevant"
    return Relevance(label, reading.answerable, explained(reading, texts))


def explained(reading: Reading, texts: AnswerTexts) -> str:
    """Describe the evaluator's reading of a passage in words.

    A short answer below a probability of one half is described as unsure, because the passage may be shown beside a
    refusal.
    """
    if reading.spans and reading.present >= max(reading.about, reading.other):
        text = texts.may_answer if reading.answerable >= CALLED_ANSWER else texts.unsure
        return text.format(span=shorten(reading.spans[0].text, LONGEST_SPAN))
    return texts.about_the_matter if reading.about >= reading.other else texts.about_something_else
