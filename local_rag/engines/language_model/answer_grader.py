"""The check of an answer: is each sentence supported by its passages, and does the whole answer the question?

Where question, answer and the passages that it cites do not fit one prompt, the answer is checked in pieces.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from local_rag.core.critique import overall
from local_rag.core.verdicts import Check, Grade, Support
from local_rag.engines.language_model import schemas
from local_rag.engines.language_model.answer_pieces import Checked, cited_by, cited_first, in_pieces, unread
from local_rag.engines.language_model.context_window import DoesNotFit, Message
from local_rag.engines.language_model.parsed_verdict import (
    ParsedVerdict,
    Probabilities,
    support_score,
    usefulness_score,
)
from local_rag.engines.language_model.prompt_layout import Layout, layouts
from local_rag.engines.language_model.prompts import Prompts
from local_rag.engines.language_model.task import Task
from local_rag.text.marks import Claim, claims

if TYPE_CHECKING:
    from langchain_core.documents import Document

USEFUL, USELESS = 5, 1
"""What the tutorials' yes and no of the answer grader are on the scale of 1 to 5."""
SUPPORTS = ("fully", "partially", "no")
LEVELS = ("1", "2", "3", "4", "5")


def check_at_once(
    task: Task, prompts: Prompts, question: str, documents: Sequence[Document], generation: str, check: Check
) -> Grade:
    """Support sentence by sentence and usefulness in one call, or one of the two; in pieces where that does not fit."""
    if not claims(generation):
        return Grade("no", 0 if check == "support" else USELESS, why="it states nothing")
    answer = _Answer(task, prompts, question, layouts().of(question, documents), generation)
    try:
        return answer.whole(check)
    except DoesNotFit as error:
        if check == "usefulness":
            return Grade("unparsed", 0, why=str(error))
    grade = in_pieces(answer.cited, answer.layout, answer.support)
    return _with_usefulness(grade, answer) if check == "both" else grade


def _with_usefulness(grade: Grade, answer: _Answer) -> Grade:
    try:
        useful = answer.whole("usefulness")
    except DoesNotFit as error:
        useful = Grade("unparsed", 0, why=str(error))
    why = "; ".join(dict.fromkeys(filter(None, (grade.why, useful.why))))
    return replace(grade, usefulness=useful.usefulness, usefulness_score=useful.usefulness_score, why=why)


class _Answer:
    """An answer, and the passages as its check shows them."""

    def __init__(self, task: Task, prompts: Prompts, question: str, layout: Layout, generation: str) -> None:
        self.layout = layout
        self._task, self._prompts, self._question = task, prompts, question
        self._text = layout.theirs(generation)
        self._sentences = claims(self._text)
        self.cited = [cited_by(layout, sentence) for sentence in self._sentences]

    def whole(self, check: Check) -> Grade:
        """In one call, which must show all that is cited. Raises DoesNotFit."""
        base, label = _CHECKS[check]
        schema = base if check == "usefulness" else schemas.of_length(base, len(self._sentences))
        cited = set().union(*self.cited)
        needed = 0 if check == "usefulness" else max(1, len(cited))
        verdict = self._ask(check, label, schema, cited_first(self.layout, cited), needed, None)
        level = getattr(verdict.reply, "usefulness", 0)
        useful = usefulness_score(verdict.probabilities(LEVELS, "u")) if level else None
        if not isinstance(verdict.reply, schemas.GradeSupport):
            return Grade("unparsed", level, why=verdict.why, usefulness_score=useful)
        supports: tuple[Support, ...] = tuple(verdict.reply.support)
        supported = support_score(_probabilities(verdict, len(supports)))
        return Grade(overall(supports), level, supports, verdict.why, support_score=supported, usefulness_score=useful)

    def support(self, numbers: Sequence[int], order: Sequence[int], needed: int) -> Checked:
        """Of these sentences alone. Raises DoesNotFit."""
        base, label = _CHECKS["support"]
        schema = schemas.of_length(base, len(numbers))
        verdict = self._ask("support", label, schema, order, needed, [self._sentences[number] for number in numbers])
        if not isinstance(verdict.reply, schemas.GradeSupport):
            return unread(len(numbers), verdict.why)
        known = _probabilities(verdict, len(numbers))
        return Checked(verdict.reply.support, known, verdict.kept, verdict.why)

    def _ask(
        self,
        check: Check,
        label: str,
        schema: type[schemas.R],
        order: Sequence[int],
        needed: int,
        sentences: Sequence[Claim] | None,
    ) -> ParsedVerdict[schemas.R]:
        layout = self.layout

        def prompt(numbers: Sequence[int]) -> list[Message]:
            cited = len(layout.shown)
            wanted = self._prompts.check_task(self._text, cited, check, layout.only(numbers), sentences)
            return self._prompts.chat(wanted, self._question, layout.shown, numbers)

        spare = layout.spare if len(order) == len(layout.shown) else 0
        return self._task.verdict(
            "grader",
            label,
            prompt,
            order,
            lambda _: schema,
            spare=spare,
            needed=needed,
            more=sentences is not None,
            scored=True,
            reasons="one",
            texts=_TEXTS[check],
        )


_TEXTS: dict[Check, tuple[str, ...]] = {
    "both": ("hallucination_grader", "answer_grader"),
    "support": ("hallucination_grader",),
    "usefulness": ("answer_grader",),
}
_CHECKS: dict[Check, tuple[type[schemas.Reply], str]] = {
    "both": (schemas.GradeGeneration, "generation_grader"),
    "support": (schemas.GradeSupport, "hallucination_grader"),
    "usefulness": (schemas.GradeUsefulness, "answer_grader"),
}


def _probabilities(verdict: ParsedVerdict[schemas.Reply], count: int) -> list[Probabilities]:
    return [verdict.probabilities(SUPPORTS, "s", number) for number in range(count)]


# --- the tutorials' two graders ---------------------------------------------------------------------------------------


def check_one_by_one(
    task: Task, prompts: Prompts, question: str, documents: Sequence[Document], generation: str, check: Check
) -> Grade:
    """For both, usefulness is asked for only where the generation is grounded."""
    grade = Grade("unparsed", 0)
    if check != "usefulness":
        grade = _grounded(task, prompts, documents, generation)
        if check == "support" or grade.support != "fully":
            return grade
    messages, texts = prompts.answer_each(question, generation), ["answer_grader_each"]
    try:
        useful = task.single(
            "grader", "answer_grader", messages, schemas.GradeAnswer, scored=True, reasons="one", texts=texts
        )
    except DoesNotFit as error:
        return replace(grade, why=str(error))
    if useful.reply is None:
        return replace(grade, support="unparsed", why=useful.error, support_score=None)
    probabilities = useful.probabilities(("yes", "no"), "u")
    return replace(
        grade,
        usefulness=USEFUL if useful.reply.binary_score == "yes" else USELESS,
        why="; ".join(filter(None, (grade.why, useful.why))),
        usefulness_score=probabilities["yes"] - probabilities["no"] if probabilities else None,
    )


def _grounded(task: Task, prompts: Prompts, documents: Sequence[Document], generation: str) -> Grade:
    """The hallucination grader: on the whole generation, or sentence by sentence where that does not fit."""
    layout, sentences = Layout.plain(documents), claims(generation)
    cited = [cited_by(layout, sentence) for sentence in sentences]

    def ask(text: str, order: Sequence[int], needed: int, more: bool) -> ParsedVerdict[schemas.GradeHallucinations]:
        return task.verdict(
            "grader",
            "hallucination_grader",
            lambda numbers: prompts.hallucination_each(documents, numbers, text),
            order,
            lambda _: schemas.GradeHallucinations,
            needed=needed,
            more=more,
            scored=True,
            reasons="one",
            texts=["hallucination_grader_each"],
        )

    def piece(numbers: Sequence[int], order: Sequence[int], needed: int) -> Checked:
        text = "\n".join(sentences[number].span.of(generation) for number in numbers)
        verdict = ask(text, order, needed, more=True)
        if verdict.reply is None:
            return unread(len(numbers), verdict.error)
        supported = _of_yes_no(verdict)
        return Checked([supported] * len(numbers), [None] * len(numbers), verdict.kept, verdict.why)

    everything: set[int] = set().union(*cited)
    try:
        verdict = ask(generation, cited_first(layout, everything), max(1, len(everything)), more=False)
    except DoesNotFit as error:
        return in_pieces(cited, layout, piece) if sentences else Grade("unparsed", 0, why=str(error))
    if verdict.reply is None:
        return Grade("unparsed", 0, why=verdict.error)
    return Grade(_of_yes_no(verdict), 0, why=verdict.why, support_score=verdict.yes("s"))


def _of_yes_no(verdict: ParsedVerdict[schemas.GradeHallucinations]) -> Support:
    return "fully" if verdict.reply and verdict.reply.binary_score == "yes" else "no"
