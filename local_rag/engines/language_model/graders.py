"""Grade passages and answers: verdicts in JSON, with passages packed into calls that fit the window."""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from local_rag.core import cancel
from local_rag.core.readings import log_odds, probability
from local_rag.core.verdicts import Check, Grade, Relevance, RelevanceLabel, Support, Usage, overall
from local_rag.engines.assessment import DOUBTFUL, EVEN, SURELY, USELESS, explained, usefulness_of
from local_rag.engines.language_model import schemas
from local_rag.engines.language_model.passages import Passages
from local_rag.engines.language_model.task import Task
from local_rag.engines.language_model.window import DoesNotFit
from local_rag.text.answer_language import OF_QUESTION, texts_for
from local_rag.text.display import plural, reasons
from local_rag.text.document_questions import question_to_read
from local_rag.text.marks import claims, marks, without_marks
from local_rag.text.numbers import numbers
from local_rag.text.words import content_stems

if TYPE_CHECKING:
    from langchain_core.documents import Document

    from local_rag.core.protocols import Evaluator

SHARE = 0.5
"""The share of the remaining time that further calls about passages may take; the answer needs the rest."""
_YES_NO = re.compile(r"(?:yes|no)\b", re.IGNORECASE)
_LABELS: dict[str, RelevanceLabel] = {"yes": "relevant", "no": "irrelevant"}


def evaluated(evaluator: Evaluator, question: str, documents: Sequence[Document]) -> list[Relevance]:
    """Return a verdict for each passage without a language model (CRAG, section 4.2): its calibrated score, and why.

    A passage is relevant if its score reaches `calibration.reads`. The first verdict carries the seconds of all. Raises
    the errors of `Evaluator.read`.
    """
    started, least = time.perf_counter(), evaluator.calibration.reads
    readings = evaluator.read(question_to_read(question, documents), documents)
    texts = texts_for(OF_QUESTION, question)
    first, *others = (
        Relevance(
            "relevant" if reading.answerable >= least else "irrelevant", reading.answerable, explained(reading, texts)
        )
        for reading in readings
    )
    return [replace(first, usage=Usage(seconds=time.perf_counter() - started)), *others]


def doubted(grade: Grade, question: str, text: str) -> Grade:
    """Raise the evaluator's grade of a fully supported, cited model answer to at least doubtful, so that it is shown:
    the evaluator may simply have missed it. Lower that of one to which code has found no passage, or which only repeats
    the question, so that it is not shown.
    """
    said, is_cited = without_marks(text), any(marks(text))
    adds = set(content_stems(said)) - set(content_stems(question)) or numbers(said) - numbers(question)
    repeats = not adds and not _YES_NO.match(said)
    if grade.usefulness and (repeats or (grade.support == "no" and not is_cited)):
        return replace(grade, usefulness=USELESS)
    doubtful = grade.support == "fully" and is_cited and 0 < grade.usefulness < DOUBTFUL
    return replace(grade, usefulness=DOUBTFUL) if doubtful else grade


def weighed(grade: Grade, models: Grade, accuracy: float) -> Grade:
    """Change the probability of an assessed answer by the verdict of a model whose balanced accuracy is known.

    The verdict counts with the log odds of that accuracy. An answer whose sentences all stand in the passages is at
    least as likely right as not if the model, too, finds it supported and useful.
    """
    if grade.score is None or models.support == "unparsed" or not models.usefulness:
        return grade
    good = models.support == "fully" and models.usefulness > DOUBTFUL
    chance = probability(log_odds(grade.score) + log_odds(accuracy) * (1 if good else -1))
    if good and grade.support == "fully":
        chance = max(chance, EVEN)
    level = max(USELESS, grade.usefulness + usefulness_of(chance) - usefulness_of(grade.score))
    why = grade.why if good else reasons(grade.why, "the model's own check rejects it")
    return replace(grade, score=round(chance, 4), usefulness=min(level, SURELY), why=why)


def grade_documents(task: Task, question: str, documents: Sequence[Document], most: int) -> list[Relevance]:
    """Return a verdict for each document, grading the most wanted first in calls of at most `most` that fit the window.

    A document that no call has shown is `unparsed`, with the reason. Raises DoesNotFit if none fits.
    """
    verdicts: dict[int, Relevance] = {}
    left, clock = Passages.plain(documents).order, cancel.current()
    had = clock.remaining()

    def leave_out(numbers: Sequence[int], why: str) -> None:
        verdicts.update(dict.fromkeys(numbers, Relevance("unparsed", why=f"not graded: {why}")))
        task.note(f"{plural(len(numbers), 'passage')} not graded: {why}")

    too_long: DoesNotFit | None = None
    shown: Collection[int] = ()
    while left:
        try:
            new = _graded(task, question, documents, sorted(left[:most]))
        except DoesNotFit as error:
            too_long = error
            size = len(documents[left[0]].page_content)
            as_long = [number for number in left if len(documents[number].page_content) >= size]
            leave_out(as_long, str(error))
            left = [number for number in left if number not in as_long]
            continue
        verdicts |= new
        shown = new
        left = [number for number in left if number not in new]
        if left and had and (clock.remaining() or 0.0) < (1 - SHARE) * had:
            leave_out(left, "the time of the question did not allow it")
            break
    if too_long and not shown:
        raise too_long
    return [replace(verdicts[number], shown=number in shown) for number in range(len(documents))]


def _graded(task: Task, question: str, documents: Sequence[Document], numbers: Sequence[int]) -> dict[int, Relevance]:
    """Grade the documents of these numbers in one call; return the verdicts on those that it has shown."""
    passages = Passages.plain([documents[number] for number in numbers])
    prompt = task.prompts.about(passages, question, lambda positions: task.prompts.grade_task(len(positions)))
    verdict = task.verdict("grader", "retrieval_grader", prompt, schemas.GradeDocuments, passages.order, each=True)

    def relevance(at: int) -> Relevance:
        if verdict.reply is None:
            return Relevance("unparsed", why=verdict.error)
        return Relevance(_LABELS[verdict.reply.binary_scores[at]], why=verdict.reason(at))

    return {numbers[position]: relevance(at) for at, position in enumerate(verdict.kept)}


_CHECKS: dict[Check, tuple[type[schemas.Reply], str]] = {
    "both": (schemas.GradeGeneration, "hallucination_grader+answer_grader"),
    "support": (schemas.GradeHallucinations, "hallucination_grader"),
    "usefulness": (schemas.GradeAnswer, "answer_grader"),
}
"""The schema of a check, and the texts of its prompt."""


def grade_generation(task: Task, question: str, passages: Passages, generation: str, check: Check) -> Grade:
    """Grade support sentence by sentence, usefulness, or both in one call.

    The call must show every passage that the generation cites; if these do not fit the window, the grade is `unparsed`,
    with the reason.
    """
    sentences = claims(generation)
    if not sentences:
        return Grade("no", 0 if check == "support" else USELESS, why="it states nothing")
    base, name = _CHECKS[check]
    schema = base if check == "usefulness" else schemas.of_length(base, len(sentences))
    cited = {number - 1 for claim in sentences for number in passages.numbers_of(claim.numbers)}
    order = sorted(passages.order, key=lambda position: position not in cited)
    needed = 0 if check == "usefulness" else max(1, len(cited))

    def wanted(positions: Sequence[int]) -> str:
        return task.prompts.check_task(generation, passages, check, passages.counting(positions))

    try:
        verdict = task.verdict(
            "grader", name, task.prompts.about(passages, question, wanted), schema, order, needed=needed
        )
    except DoesNotFit as error:
        unread: list[Support] = ["unparsed"] * len(sentences)
        return Grade("unparsed", 0, tuple(unread), str(error))
    level = getattr(verdict.reply, "usefulness", 0)
    if not isinstance(verdict.reply, schemas.GradeHallucinations):
        return Grade("unparsed", level, why=verdict.why)
    supports: tuple[Support, ...] = tuple(verdict.reply.support)
    return Grade(overall(supports), level, supports, verdict.why)
