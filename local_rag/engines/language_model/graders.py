"""The graders of passages and of answers: verdicts in JSON, passages packed into calls that fit the window."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from local_rag.core import cancel
from local_rag.core.critique import overall
from local_rag.core.verdicts import Check, Grade, Relevance, RelevanceLabel, Support
from local_rag.engines.language_model import passages, schemas
from local_rag.engines.language_model.passages import Passages
from local_rag.engines.language_model.task import Task
from local_rag.engines.language_model.window import DoesNotFit, Message
from local_rag.text.display import plural
from local_rag.text.marks import claims

if TYPE_CHECKING:
    from langchain_core.documents import Document

SHARE = 0.5
"""The part of the time that is left which further calls about passages may take; the answer needs the rest."""
USELESS = 1
"""The usefulness of an answer that says nothing."""
_LABELS: dict[str, RelevanceLabel] = {"yes": "relevant", "no": "irrelevant"}


def grade_documents(task: Task, question: str, documents: Sequence[Document], most: int) -> list[Relevance]:
    """A verdict for each document, the most wanted first in calls about at most `most` of them that fit the window.

    One that no call has shown is `unparsed`, and says why. Raises DoesNotFit where none fits.
    """
    verdicts, graded_any = [Relevance("unparsed")] * len(documents), False
    left, clock = Passages.plain(documents).order, cancel.current()
    had = clock.remaining()

    def leave_out(numbers: Sequence[int], why: str) -> None:
        for number in numbers:
            verdicts[number] = Relevance("unparsed", why=f"not graded: {why}")
        task.note(f"{plural(len(numbers), 'passage')} not graded: {why}")

    while left:
        try:
            shown, graded = _graded(task, question, documents, left[:most])
        except DoesNotFit as error:
            size = len(documents[left[0]].page_content)
            shorter = [number for number in left if len(documents[number].page_content) < size]
            if not (shorter or graded_any):
                raise
            leave_out([number for number in left if number not in shorter], str(error))
            left = shorter
            continue
        graded_any = True
        for number, verdict in zip(shown, graded, strict=True):
            verdicts[number] = verdict
        passages.remember([documents[number] for number in shown])
        left = [number for number in left if number not in shown]
        if left and had and (clock.remaining() or 0.0) < (1 - SHARE) * had:
            leave_out(left, "the time of the question did not allow it")
            left = []
    return verdicts


def _graded(
    task: Task, question: str, documents: Sequence[Document], order: Sequence[int]
) -> tuple[list[int], list[Relevance]]:
    """The positions of those of these documents that one call has shown, and their verdicts."""

    def prompt(positions: Sequence[int]) -> list[Message]:
        shown = [documents[position] for position in positions]
        return task.prompts.chat(task.prompts.grade_task(len(shown)), question, shown, range(len(shown)))

    verdict = task.verdict(
        "grader",
        "retrieval_grader",
        prompt,
        order,
        lambda count: schemas.of_length(schemas.GradeDocuments, count),
        reasons="each",
    )
    if verdict.reply is None:
        return verdict.kept, [Relevance("unparsed", why=verdict.error)] * len(verdict.kept)
    words = verdict.reply.binary_scores
    return verdict.kept, [Relevance(_LABELS[word], why=verdict.reason(at)) for at, word in enumerate(words)]


_CHECKS: dict[Check, tuple[type[schemas.Reply], str, Sequence[str]]] = {
    "both": (schemas.GradeGeneration, "generation_grader", ("hallucination_grader", "answer_grader")),
    "support": (schemas.GradeHallucinations, "hallucination_grader", ()),
    "usefulness": (schemas.GradeAnswer, "answer_grader", ()),
}
"""The schema of a check, the name of its call, and the texts of its prompt unless it is one of that name."""


def grade_generation(task: Task, question: str, documents: Sequence[Document], generation: str, check: Check) -> Grade:
    """Support sentence by sentence and usefulness in one call, or one of the two.

    The call must show all that the generation cites: what does not fit the window stays `unparsed`, and says so.
    """
    sentences = claims(generation)
    if not sentences:
        return Grade("no", 0 if check == "support" else USELESS, why="it states nothing")
    base, label, texts = _CHECKS[check]
    schema = base if check == "usefulness" else schemas.of_length(base, len(sentences))
    shown = Passages.of(documents)
    cited = {number - 1 for claim in sentences for number in shown.shown_numbers(claim.numbers)}
    order = sorted(shown.order, key=lambda position: position not in cited)

    def prompt(positions: Sequence[int]) -> list[Message]:
        wanted = task.prompts.check_task(generation, shown, check, shown.counting(positions))
        return task.prompts.chat(wanted, question, shown.shown, positions)

    needed = 0 if check == "usefulness" else max(1, len(cited))
    try:
        verdict = task.verdict(
            "grader", label, prompt, order, lambda _: schema, needed=needed, reasons="one", texts=texts
        )
    except DoesNotFit as error:
        unread: list[Support] = ["unparsed"] * len(sentences)
        return Grade("unparsed", 0, tuple(unread), str(error))
    level = getattr(verdict.reply, "usefulness", 0)
    if not isinstance(verdict.reply, schemas.GradeHallucinations):
        return Grade("unparsed", level, why=verdict.why)
    supports: tuple[Support, ...] = tuple(verdict.reply.support)
    return Grade(overall(supports), level, supports, verdict.why)
