"""The retrieval grader's verdicts by the trained evaluator (CRAG, section 4.2): no language model reads for them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from local_rag.core.readings import Reading
from local_rag.core.verdicts import Relevance, RelevanceLabel, Usage
from local_rag.text.answer_texts import OF_QUESTION, AnswerTexts, texts_for
from local_rag.text.display import shorten
from local_rag.text.document_questions import question_to_read

if TYPE_CHECKING:
    from langchain_core.documents import Document

    from local_rag.core.protocols import Evaluator

SURE = 0.5
"""Probability of a passage from which its short answer is called one."""
SHORTEST = 60
"""Characters of a short answer in a verdict."""


def evaluated(evaluator: Evaluator, question: str, documents: Sequence[Document]) -> list[Relevance]:
    """A verdict for each passage: its calibrated score, and why.

    Relevant is what reaches `calibration.reads`. The first carries the seconds of all. Raises what `read` does.
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
    """What the evaluator takes a passage for, in words. Below one half its short answer is no answer, and not shown as
    one: the passage may be named beside a refusal.
    """
    if reading.spans and reading.present >= max(reading.about, reading.other):
        text = texts.may_answer if reading.answerable >= SURE else texts.unsure
        return text.format(span=shorten(reading.spans[0].text, SHORTEST))
    return texts.about_the_matter if reading.about >= reading.other else texts.about_something_else
