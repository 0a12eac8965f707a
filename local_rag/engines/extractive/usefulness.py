"""How useful an answer is: a level of 1 to 5, the probability that it is right, and why, in plain words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from local_rag.engines.extractive import questions
from local_rag.engines.extractive.analysis import Analyses, Analysis, probability
from local_rag.engines.extractive.answer_kind import SHORT_ANSWERS, lacks_kind
from local_rag.engines.extractive.answerability import Answerability
from local_rag.engines.extractive.document_answers import SCORE, holds_answer
from local_rag.engines.extractive.quotes import Quote, as_written
from local_rag.index.names import head
from local_rag.text.display import joined, plural
from local_rag.text.marks import marks, without_marks
from local_rag.text.parts import stored
from local_rag.text.sentences import Span
from local_rag.text.words import content_stems, stem, words

if TYPE_CHECKING:
    from langchain_core.documents import Document

USEFUL = (0.1, 0.3, 0.5, 0.9)
"""Probabilities from which an answer has usefulness 2, 3, 4 and 5; what is good enough to be given is useful (4)."""
DOUBTED = 3
"""The most that an answer is worth which may be to another question (SQuAD v2; docs/measurements.md)."""
TELLING = 0.4
"""Share of the question's weight from which a missing word is one that tells; names and numbers always are."""
LEAST_COVERED = {True: 0.5, False: 0.3}
"""Share of the question's weight that the quotes must hold, with title and heading: short answers, others."""


def usefulness(
    analyses: Analyses, answerability: Answerability, question: str, documents: Sequence[Document], generation: str
) -> tuple[int, float, str]:
    """(usefulness, probability of the right answer, why)."""
    if not documents:
        return 1, 0.0, "no passages"
    plain = " ".join(without_marks(generation).split())
    if holds_answer(question, documents, plain):
        return 5, SCORE, "what the document says of itself"
    passages = [part for document in documents for part in stored(document)]
    whole = [Quote(number, 0, Span(0, 0), plain, passage.page_content) for number, passage in enumerate(passages)]
    analysis = Analysis(question, passages, whole, analyses)
    score = _score(analyses.of(question, passages), plain, answerability)
    if score is None:
        score = _best_score(analysis, range(len(analysis.quotes)), answerability)
    level = 1 + sum(probability(max(analysis.answers)) >= least for least in USEFUL)
    doubt = _doubt(analysis, _cited(documents, generation), plain)
    if doubt:
        return min(level, DOUBTED), score, doubt
    return level, score, f"{covered(question, plain)[0]} of the question"


def _score(analysis: Analysis, generation: str, answerability: Answerability) -> float | None:
    """The probability that the best of the quotes in a text is right; None where it holds none."""
    text, wanted = f" {' '.join(words(generation))} ", set(analysis.weights)
    held = [
        number
        for number, quote in enumerate(analysis.quotes)
        if f" {' '.join(words(as_written(quote, wanted)))} " in text
    ]
    return _best_score(analysis, held, answerability) if held else None


def _best_score(analysis: Analysis, numbers: Sequence[int], answerability: Answerability) -> float:
    best = max(numbers, key=lambda number: analysis.answers[number])
    return answerability.judge(analysis, best).score


def _cited(documents: Sequence[Document], generation: str) -> list[Document]:
    """The passages that an answer cites; all of them where it cites none."""
    cited = {number for _, numbers in marks(generation) for number in numbers}
    return [document for number, document in enumerate(documents, start=1) if number in cited] or list(documents)


def _doubt(analysis: Analysis, cited: Sequence[Document], quoted: str) -> str:
    """Why an answer may be to another question, in plain words; empty where nothing says so."""
    if lacks_kind(analysis.kind, analysis.question, quoted):
        return f"the question asks for a {analysis.kind}, and no quoted sentence holds one"
    heads = " ".join(map(head, cited))
    texts = " ".join(document.page_content for document in cited)
    missing = analysis.telling_words(f"{quoted} {heads} {texts}", TELLING)
    if missing:
        return f"neither the quotes nor their passages hold {joined(map(repr, missing), 'or')}"
    if analysis.covered(f"{quoted} {heads}") < LEAST_COVERED[analysis.kind in SHORT_ANSWERS]:
        return f"the quotes hold little of the question: {covered(analysis.question, quoted)[0]}"
    return ""


def covered(question: str, passage: str) -> tuple[str, list[str]]:
    """How many of the question's words a passage holds, in plain words, and which it lacks."""
    subject = questions.subject_words(question)
    held = set(content_stems(passage))
    missing = [word for word in subject if stem(word) not in held]
    return f"covers {len(subject) - len(missing)} of {plural(len(subject), 'word')}", missing
