"""Cases made of feedback: an answer that a person judged becomes a question whose right answer is known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from local_rag.evaluation.cases import Case, Target
from local_rag.evaluation.making.case_file import CaseFile
from local_rag.evaluation.making.from_run import Labels, cited_targets, files_of, holding
from local_rag.evaluation.making.proposals import named
from local_rag.runtime.history import History
from local_rag.runtime.kept import Judgement
from local_rag.runtime.written import enter

if TYPE_CHECKING:
    from pathlib import Path

    from local_rag.config.settings import Settings

AskLabels = Callable[[Judgement, Sequence[Target]], Labels | None]
"""Says what is right, told where the answer's citations stand; None where nobody can."""


@dataclass(frozen=True)
class FeedbackCases:
    """What came of the feedback on answers from one index.

    `known` counts the questions that the file had already, `unlabelled` the answers of which nobody said what is
    right, `elsewhere` those from other indexes.
    """

    file: CaseFile
    kept: tuple[Case, ...]
    known: int
    unlabelled: int
    elsewhere: int


def keep_feedback(settings: Settings, path: Path, ask: AskLabels = lambda feedback, cited: None) -> FeedbackCases:
    """Append a case for each feedback on answers from the index of the settings, the first one first.

    `ask` is called where the feedback itself does not say what is right. Raises as `CaseFile` does.
    """
    file, index = CaseFile(path), str(settings.index_path.resolve())
    with History.open(settings.data_folder) as history:
        everything = history.judgements()[::-1]
    ours = [feedback for feedback in everything if feedback.folder == index]
    files = files_of(index)
    kept: list[Case] = []
    known = unlabelled = 0
    for feedback in ours:
        if file.has(feedback.question):
            known += 1
        elif case := case_of_feedback(feedback, files, ask):
            file.append(case)
            if not kept:
                enter(settings.data_folder, "cases", file.path, index=settings.index_path)
            kept.append(case)
        else:
            unlabelled += 1
    return FeedbackCases(file, tuple(kept), known, unlabelled, len(everything) - len(ours))


def case_of_feedback(
    feedback: Judgement, files: Sequence[str], ask: AskLabels = lambda feedback, cited: None
) -> Case | None:
    """The case of a feedback; None where nobody says what is right. `files` are those of the index.

    Of a good answer the verified citations are relevant, and a good abstention means that the files do not answer. Of
    a bad answer only those are relevant that hold the expected one; of a bad abstention is known that the files answer.
    """
    abstained = feedback.answer.status == "abstained"
    cited = cited_targets(feedback.answer.citations, feedback.answer.status, files)
    answers, relevant, unanswerable = _labels(feedback, cited)
    if not (answers or relevant or unanswerable or abstained):
        asked = ask(feedback, cited)
        if asked is None:
            return None
        answers, relevant, unanswerable = asked
        relevant = holding(answers, relevant) if answers else relevant
    return Case(
        id=named(feedback.question),
        question=feedback.question,
        answers=tuple(answers),
        answerable=not unanswerable,
        relevant=tuple(relevant),
        note=f"feedback on the run {feedback.run}" + (f": {feedback.note}" if feedback.note else ""),
    )


def _labels(feedback: Judgement, cited: Sequence[Target]) -> Labels:
    """What the feedback itself says of a right answer."""
    if feedback.unanswerable or (feedback.good and feedback.answer.status == "abstained" and not feedback.expected):
        return (), (), True
    answers = (feedback.expected,) if feedback.expected else ()
    if feedback.good:
        return answers, cited, False
    return answers, holding(answers, cited), False
