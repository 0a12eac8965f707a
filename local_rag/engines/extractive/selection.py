"""Which quotes make the answer, if any is good enough. How the constants were measured: docs/measurements.md."""

from __future__ import annotations

from local_rag.core import cancel
from local_rag.engines.extractive.analysis import Analysis
from local_rag.engines.extractive.answer_kind import SHORT_ANSWERS
from local_rag.engines.extractive.answerability import Answerability, shipped
from local_rag.engines.extractive.quotes import Quote, as_written
from local_rag.text.marks import without_marks
from local_rag.text.words import words

PRESENT = 0.5
"""Probability from which the passages are about the question at all (SQuAD v2, crossed between dev and test)."""
ANSWERS = 0.1
"""Probability of the right answer below which nothing is quoted (SQuAD v2, crossed between dev and test)."""
MAX_SENTENCES = 3
MARGIN = {True: 0.5, False: 1.0}
"""How far (logit) a further sentence may stand behind the best: for short answers, for others (SQuAD v2 dev)."""
KIND = 0.5
"""Logits that a sentence loses which lacks the kind of answer asked for (time, number, …). Not measured alone."""
SAME = 0.9
"""Cosine from which two sentences say the same."""


def choose(
    analysis: Analysis,
    drafts: str,
    answerability: Answerability | None = None,
    answers: float = ANSWERS,
    most: int = MAX_SENTENCES,
) -> list[Quote]:
    """The best quotes, `most` at most, none that a failed draft held; none where the best hardly is the right answer.

    They come in the order of the passages; where a short answer is asked for, the best comes first.
    """
    model = answerability or shipped()
    failed = " ".join(words(without_marks(drafts)))
    wanted = set(analysis.weights)
    ranked = sorted(range(len(analysis.quotes)), key=lambda number: (-analysis.answers[number], number))
    short = analysis.kind in SHORT_ANSWERS
    if short:
        ranked.sort(key=lambda number: (-analysis.answers[number] + KIND * (analysis.quote(number).fits < 0), number))
    chosen: list[int] = []
    for number in ranked:
        cancel.check()
        if len(chosen) == most:
            break
        if chosen and analysis.answers[number] < analysis.answers[chosen[0]] - MARGIN[short]:
            break
        if " ".join(words(as_written(analysis.quotes[number], wanted))) in failed:
            continue
        judged = model.judge(analysis, number)
        if not chosen and (judged.present < PRESENT or judged.score < answers):
            return []
        if judged.present < PRESENT:
            continue
        off_target = short and analysis.quote(number).fits < 0
        if not chosen or not (off_target or any(_same(analysis, number, other) for other in chosen)):
            chosen.append(number)
    return [analysis.quotes[number] for number in (chosen if short else sorted(chosen))]


def _same(analysis: Analysis, number: int, other: int) -> bool:
    """Whether two quotes say the same, or one holds the other."""
    first, second = analysis.quotes[number], analysis.quotes[other]
    if first.document == second.document and first.span.start < second.span.end and second.span.start < first.span.end:
        return True
    return float(analysis.vectors[number] @ analysis.vectors[other]) >= SAME
