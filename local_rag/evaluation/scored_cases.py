"""Cases whose passages are graded and whose answers are scored, without thresholds: what a calibration is fitted to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from local_rag.core.errors import DeadlineExceeded, EngineError, LocalRagError, Stopped
from local_rag.core.progress import Display
from local_rag.core.protocols import Attempt
from local_rag.core.verdicts import Relevance
from local_rag.evaluation.answer_metrics import containment
from local_rag.evaluation.matching import held
from local_rag.evaluation.threshold_fit import LabelledScore
from local_rag.graphs.nodes.generation import write as write_answer
from local_rag.runtime.rag import Rag
from local_rag.text import citations
from local_rag.text.answer_texts import is_refusal
from local_rag.text.display import plural
from local_rag.text.marks import without_marks

if TYPE_CHECKING:
    from langchain_core.documents import Document

    from local_rag.evaluation.cases import Case

T = TypeVar("T")

FAILURES_IN_A_ROW = 5


@dataclass
class GradedCase:
    """A case with its passages and their verdicts, and later the score of its answer."""

    case: Case
    documents: list[Document]
    verdicts: list[Relevance]
    answer: LabelledScore | None = None

    def passages_above(self, threshold: float | None) -> list[Document]:
        """The passages that a graph would answer from."""
        return [
            document
            for document, verdict in zip(self.documents, self.verdicts, strict=True)
            if (
                verdict.label == "relevant"
                if threshold is None or verdict.score is None
                else verdict.score >= threshold
            )
        ]


@dataclass
class _Failures:
    """Counts questions that failed; so many one after the other end the calibration."""

    count: int = 0
    in_a_row: int = 0

    @contextmanager
    def counted(self) -> Iterator[None]:
        try:
            yield
            self.in_a_row = 0
        except LocalRagError as error:
            if isinstance(error, Stopped) and not isinstance(error, DeadlineExceeded):
                raise
            self.count, self.in_a_row = self.count + 1, self.in_a_row + 1
            if self.in_a_row == FAILURES_IN_A_ROW:
                raise EngineError(
                    f"{FAILURES_IN_A_ROW} questions in a row failed, the last with: {error}",
                    hint="local-rag doctor looks for the reason; nothing was kept",
                ) from error


def graded_cases(rag: Rag, cases: Sequence[Case], display: Display) -> tuple[list[GradedCase], int]:
    """Retrieve and grade every case, and how many failed. Raises EngineError where one failure follows the other."""
    graded: list[GradedCase] = []
    failures = _Failures()
    for case in _shown(cases, "grading passages", display):
        with failures.counted(), rag.context().scope():
            documents = rag.index.search(case.question, rag.settings.values.k)
            verdicts = rag.engine.relevance(case.question, documents) if documents else []
            graded.append(GradedCase(case, documents, verdicts))
    return graded, failures.count


def passage_scores(graded: Sequence[GradedCase]) -> list[LabelledScore]:
    """The scores of passages, where the cases say which ones help and the engine gives scores."""
    return [
        LabelledScore(verdict.score, bool(held(entry.case, document)))
        for entry in graded
        if entry.case.relevant or entry.case.answerable is False
        for document, verdict in zip(entry.documents, entry.verdicts, strict=True)
        if verdict.score is not None
    ]


def score_answers(rag: Rag, graded: Sequence[GradedCase], threshold: float | None, display: Display) -> None:
    """Answer every case from the passages above the threshold, and grade the answer."""
    failures = _Failures()
    for entry in _shown(graded, "answering", display):
        with failures.counted(), rag.context().scope():
            entry.answer = _score(rag, entry.case, entry.passages_above(threshold))


def _score(rag: Rag, case: Case, documents: Sequence[Document]) -> LabelledScore | None:
    """The score of an answer as a graph would check it; None for one that got none from its grader."""
    positive = bool(case.answerable)
    right = False if case.answers else None
    text = ""
    if documents:
        text = write_answer(case.question, documents, Attempt(), rag.context(), lambda event: None)[0]
    generation = citations.check(text, documents).text
    if not generation or is_refusal(generation):
        return LabelledScore(None, positive, right)
    grade = rag.engine.grade(case.question, documents, generation)
    if grade.score is None:
        return None
    if case.answers:
        right = bool(containment(without_marks(generation), case.answers))
    return LabelledScore(grade.score, positive, right)


def _shown(items: Sequence[T], doing: str, display: Display) -> Iterator[T]:
    """The items, with how many are done shown as they are taken."""
    display.say(f"{doing} of {plural(len(items), 'case')}…")
    with display.progress(doing) as show:
        for number, item in enumerate(items):
            show(number / len(items), f"{doing}: {number} of {plural(len(items), 'case')}")
            yield item
