"""The graders of passages and of answers: verdicts in JSON, and scores where the model shows how sure it was.

What does not fit one call is asked in several, the most wanted passages first: a small window costs calls, and no
passage.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Generic

from local_rag.config.values import Grading
from local_rag.core import cancel
from local_rag.core.critique import answered
from local_rag.core.errors import EngineError
from local_rag.core.verdicts import Check, Grade, Relevance, RelevanceLabel
from local_rag.engines.evaluator.verdicts import evaluated
from local_rag.engines.language_model import schemas
from local_rag.engines.language_model.answer_grader import USELESS, check_at_once, check_one_by_one
from local_rag.engines.language_model.context_window import DoesNotFit, Message
from local_rag.engines.language_model.parsed_verdict import ParsedVerdict
from local_rag.engines.language_model.prompt_layout import Layout, layouts
from local_rag.engines.language_model.prompts import Prompts
from local_rag.engines.language_model.schemas import R
from local_rag.engines.language_model.task import Reasons, Task
from local_rag.text.display import plural

if TYPE_CHECKING:
    from langchain_core.documents import Document

    from local_rag.core.protocols import Evaluator

HIGHEST_LEVEL = 3
"""The highest level of the scale by which passages are graded where no probabilities came."""
SHARE = 0.5
"""The part of the time that is left which further calls about passages may take; the answer needs the rest."""
_LABELS: dict[str, RelevanceLabel] = {"yes": "relevant", "no": "irrelevant"}


class Grader:
    """Asks for verdicts by lists, or with the tutorials' calls (`each`); passages may be the evaluator's instead."""

    def __init__(
        self, task: Callable[[], Task], prompts: Prompts, grading: Grading, evaluator: Evaluator | None
    ) -> None:
        self._task = task
        self._prompts = prompts
        self._grading = grading
        self._evaluator = evaluator

    def relevance(self, question: str, documents: Sequence[Document], scored: bool) -> list[Relevance]:
        """A verdict for each passage.

        `scored`: where a score is not known it is the evaluator's; without one a further call asks for a scale.
        """
        if self._grading == "evaluator":
            return self._evaluated(question, documents)
        graded: Sequence[int] = range(len(documents))
        if self._grading == "each":
            verdicts = [self._relevance_of_one(question, document) for document in documents]
        else:
            verdicts, graded = self._relevance_of_all(question, documents)
        missing = [n for n in graded if verdicts[n].label != "unparsed" and verdicts[n].score is None]
        if not (scored and missing):
            return verdicts
        if self._evaluator is not None:
            known = evaluated(self._evaluator, question, [documents[number] for number in missing])
            for number, verdict in zip(missing, known, strict=True):
                before = verdicts[number]
                verdicts[number] = replace(before, score=verdict.score, usage=before.usage + verdict.usage)
            return verdicts
        task = self._task()
        levels = self._levels(task, question, documents, graded)
        for number in missing:
            verdicts[number] = replace(verdicts[number], score=levels.get(number))
        return [replace(verdicts[0], usage=verdicts[0].usage + task.usage()), *verdicts[1:]]

    def _evaluated(self, question: str, documents: Sequence[Document]) -> list[Relevance]:
        if self._evaluator is None:
            raise EngineError(
                "passages are to be graded by the evaluator (grading: evaluator), and this engine has none",
                hint="local-rag doctor says what is missing; or let the model grade: grading: list",
            )
        return evaluated(self._evaluator, question, documents)

    def _relevance_of_all(self, question: str, documents: Sequence[Document]) -> tuple[list[Relevance], list[int]]:
        """The verdicts, and the numbers of the passages that a call has shown, the most wanted first.

        The prompts that follow can be laid out as the first call was.
        """
        prompts, task, graded = self._prompts, self._task(), list[int]()
        label, schema = "retrieval_grader", schemas.DocumentGrades
        grading = _ListGrading(task, prompts, question, documents, label, prompts.grade_task, schema)
        verdicts = [Relevance("unparsed")] * len(documents)
        for verdict in grading.in_calls(Layout.plain(documents).order, scored=True, reasons="each"):
            for position, number in enumerate(verdict.kept):
                verdicts[number] = _relevance(verdict, position)
            if not graded:
                rejected = [n for n, number in enumerate(verdict.kept) if verdicts[number].label == "irrelevant"]
                layouts().graded(question, [documents[number] for number in verdict.kept], rejected)
            graded += verdict.kept
        for number, why in grading.left_out.items():
            verdicts[number] = Relevance("unparsed", why=f"not graded: {why}")
        return [replace(verdicts[0], usage=task.usage()), *verdicts[1:]], graded

    def _relevance_of_one(self, question: str, document: Document) -> Relevance:
        task, messages = self._task(), self._prompts.retrieval_each(question, document)
        label, texts = "retrieval_grader", ["retrieval_grader_each"]
        verdict = task.single(
            "grader", label, messages, schemas.GradeDocuments, scored=True, reasons="one", texts=texts
        )
        if verdict.reply is None:
            return Relevance("unparsed", why=verdict.error, usage=task.usage())
        return Relevance(_LABELS[verdict.reply.binary_score], verdict.yes("r"), verdict.why, task.usage())

    def _levels(
        self, task: Task, question: str, documents: Sequence[Document], order: Sequence[int]
    ) -> Mapping[int, float]:
        """Scores of these passages by a scale of few steps; those of which nothing could be read are not there."""
        prompts, label, schema = self._prompts, "relevance_scale", schemas.DocumentLevels
        grading = _ListGrading(task, prompts, question, documents, label, prompts.levels_task, schema)
        return {
            number: level / HIGHEST_LEVEL
            for verdict in grading.in_calls(order)
            for number, level in zip(verdict.kept, verdict.reply.levels if verdict.reply else (), strict=False)
        }

    def grade(self, question: str, documents: Sequence[Document], generation: str, check: Check) -> Grade:
        """Support and usefulness: one call, or the tutorials' two; or one of the two."""
        task = self._task()
        if not documents:
            return Grade("no", USELESS, why="there are no passages to support it", usage=task.usage(), score=0.0)
        checked = check_one_by_one if self._grading == "each" else check_at_once
        grade = checked(task, self._prompts, question, documents, generation, check)
        return replace(grade, usage=task.usage(), score=answered(grade))


def _relevance(verdict: ParsedVerdict[schemas.DocumentGrades], position: int) -> Relevance:
    if verdict.reply is None:
        return Relevance("unparsed", why=verdict.error)
    word = verdict.reply.binary_scores[position]
    return Relevance(_LABELS[word], verdict.yes("r", position), verdict.reason(position))


@dataclass
class _ListGrading(Generic[R]):
    """What is asked about passages: a task for so many of them, and the schema of its reply.

    `left_out` says why no call has shown a passage: it does not fit, or the time did not allow it.
    """

    task: Task
    prompts: Prompts
    question: str
    documents: Sequence[Document]
    label: str
    wanted: Callable[[int], str]
    schema: type[R]
    left_out: dict[int, str] = field(default_factory=dict)

    def in_calls(
        self, order: Sequence[int], *, scored: bool = False, reasons: Reasons | None = None
    ) -> Iterator[ParsedVerdict[R]]:
        """The verdicts, in as many calls as the window takes. Raises DoesNotFit where no passage fits."""
        left, clock, answered = list(order), cancel.current(), False
        had = clock.remaining()
        while left:
            try:
                verdict = self.task.verdict(
                    "grader", self.label, self._prompt, left, self._shape, more=True, scored=scored, reasons=reasons
                )
            except DoesNotFit as error:
                left = self._without_the_longest(left, error, answered)
                continue
            yield verdict
            answered = True
            left = [number for number in left if number not in verdict.kept]
            if left and had and (clock.remaining() or 0.0) < (1 - SHARE) * had:
                self._leave_out(left, "the time of the question did not allow it")
                left = []

    def _prompt(self, numbers: Sequence[int]) -> list[Message]:
        shown = [self.documents[number] for number in numbers]
        return self.prompts.chat(self.wanted(len(shown)), self.question, shown, range(len(shown)))

    def _shape(self, count: int) -> type[R]:
        return schemas.of_length(self.schema, count)

    def _without_the_longest(self, left: Sequence[int], error: DoesNotFit, answered: bool) -> list[int]:
        """Those that are shorter than the first, which does not fit; raises the error where none ever fits."""
        sizes = {number: len(self.documents[number].page_content) for number in left}
        shorter = [number for number in left if sizes[number] < sizes[left[0]]]
        if not (shorter or answered):
            raise error
        self._leave_out([number for number in left if number not in shorter], str(error))
        return shorter

    def _leave_out(self, numbers: Sequence[int], why: str) -> None:
        self.left_out |= dict.fromkeys(numbers, why)
        self.task.note(f"{plural(len(numbers), 'passage')} not graded: {why}")
