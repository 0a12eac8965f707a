"""The graders of passages and of answers: verdicts in JSON, and scores where the model shows how sure it was."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from local_rag.core.critique import answered, overall
from local_rag.core.verdicts import Check, Grade, Relevance, RelevanceLabel, Support
from local_rag.engines.ollama import prompts, schemas, tutorial_prompts
from local_rag.engines.ollama.context_window import Message
from local_rag.engines.ollama.parsed_verdict import support_score, usefulness_score
from local_rag.engines.ollama.prompt_layout import Layout, layouts
from local_rag.engines.ollama.task import Task
from local_rag.text.marks import claims, marks

if TYPE_CHECKING:
    from langchain_core.documents import Document

USEFUL, USELESS = 5, 1
"""What the tutorials' yes and no of the answer grader are on the scale of 1 to 5."""
SUPPORTS = ("fully", "partially", "no")
LEVELS = ("1", "2", "3", "4", "5")
HIGHEST_LEVEL = 3
"""The highest level of the scale by which passages are graded where no probabilities came."""
_LABELS: dict[str, RelevanceLabel] = {"yes": "relevant", "no": "irrelevant"}


class Grader:
    """Asks for verdicts by lists, or with the tutorials' calls (`each`)."""

    def __init__(self, task: Callable[[], Task], each: bool) -> None:
        self._task = task
        self._each = each

    # --- passages -------------------------------------------------------------------------------------------------

    def relevance(self, question: str, documents: Sequence[Document], scored: bool) -> list[Relevance]:
        """A verdict for each passage. `scored`: where a score is not known, one more call asks for a scale."""
        shown: Sequence[int] = range(len(documents))
        if self._each:
            verdicts = [self._relevance_of_one(question, document) for document in documents]
        else:
            verdicts, shown = self._relevance_of_all(question, documents)
        missing = [n for n, known in enumerate(verdicts) if known.label != "unparsed" and known.score is None]
        if not (scored and missing):
            return verdicts
        task = self._task()
        levels = _levels(task, question, documents, shown)
        for number in missing:
            verdicts[number] = replace(verdicts[number], score=levels.get(number))
        return [replace(verdicts[0], usage=verdicts[0].usage + task.usage()), *verdicts[1:]]

    def _relevance_of_all(self, question: str, documents: Sequence[Document]) -> tuple[list[Relevance], Sequence[int]]:
        """The verdicts, and the numbers of the passages that fitted the window."""

        def prompt(numbers: Sequence[int]) -> list[Message]:
            return prompts.chat(prompts.grade_task(len(numbers)), question, documents, numbers)

        def schema(count: int) -> type[schemas.DocumentGrades]:
            return schemas.of_length(schemas.DocumentGrades, count)

        task, order = self._task(), _plain(documents).order
        verdict = task.verdict("grader", "retrieval_grader", prompt, order, schema, scored=True, reasons="each")
        left_out = Relevance("unparsed", why=verdict.error or "left out: the prompt did not fit the window")
        verdicts = [left_out] * len(documents)
        if verdict.reply:
            for position, (number, word) in enumerate(zip(verdict.kept, verdict.reply.binary_scores, strict=True)):
                verdicts[number] = Relevance(_LABELS[word], verdict.yes("r", position), verdict.reason(position))
        shown = sorted(verdict.kept)
        rejected = [position for position, number in enumerate(shown) if verdicts[number].label == "irrelevant"]
        layouts().graded(question, [documents[number] for number in shown], rejected)
        return [replace(verdicts[0], usage=task.usage()), *verdicts[1:]], verdict.kept

    def _relevance_of_one(self, question: str, document: Document) -> Relevance:
        task, messages = self._task(), tutorial_prompts.retrieval(question, document)
        verdict = task.single(
            "grader", "retrieval_grader", messages, schemas.GradeDocuments, scored=True, reasons="one"
        )
        if verdict.reply is None:
            return Relevance("unparsed", why=verdict.error, usage=task.usage())
        return Relevance(_LABELS[verdict.reply.binary_score], verdict.yes("r"), verdict.why, task.usage())

    # --- answers --------------------------------------------------------------------------------------------------

    def grade(self, question: str, documents: Sequence[Document], generation: str, check: Check) -> Grade:
        """Support and usefulness: one call, or the tutorials' two; or one of the two."""
        task = self._task()
        if not documents:
            return Grade("no", USELESS, why="there are no passages to support it", usage=task.usage(), score=0.0)
        grade = (_check_one_by_one if self._each else _check_at_once)(task, question, documents, generation, check)
        return replace(grade, usage=task.usage(), score=answered(grade))


def _levels(task: Task, question: str, documents: Sequence[Document], numbers: Sequence[int]) -> Mapping[int, float]:
    """Scores of these passages by a scale of few steps; those of which nothing could be read are not there."""

    def prompt(kept: Sequence[int]) -> list[Message]:
        return prompts.chat(prompts.levels_task(len(kept)), question, documents, kept)

    def schema(count: int) -> type[schemas.DocumentLevels]:
        return schemas.of_length(schemas.DocumentLevels, count)

    verdict = task.verdict("grader", "relevance_scale", prompt, numbers, schema)
    levels = verdict.reply.levels if verdict.reply else ()
    return {number: level / HIGHEST_LEVEL for number, level in zip(verdict.kept, levels, strict=False)}


def _check_at_once(task: Task, question: str, documents: Sequence[Document], generation: str, check: Check) -> Grade:
    """Support sentence by sentence and usefulness in one call, or one of the two."""
    sentences = claims(generation)
    if not sentences:
        return Grade("no", 0 if check == "support" else USELESS, why="it states nothing")
    layout = layouts().of(question, documents)
    shown = layout.theirs(generation)

    def prompt(numbers: Sequence[int]) -> list[Message]:
        wanted = prompts.check_task(shown, len(layout.shown), check, layout.only(numbers))
        return prompts.chat(wanted, question, layout.shown, numbers)

    base, label = _CHECKS[check]
    schema = base if check == "usefulness" else schemas.of_length(base, len(sentences))
    order = _cited_first(layout, shown)
    verdict = task.verdict(
        "grader", label, prompt, order, lambda _: schema, spare=layout.spare, scored=True, reasons="one"
    )
    level = getattr(verdict.reply, "usefulness", 0)
    useful = usefulness_score(verdict.probabilities(LEVELS, "u")) if level else None
    if not isinstance(verdict.reply, schemas.GradeSupport):
        return Grade("unparsed", level, why=verdict.why, usefulness_score=useful)
    supports: tuple[Support, ...] = tuple(verdict.reply.support)
    supported = support_score([verdict.probabilities(SUPPORTS, "s", number) for number in range(len(supports))])
    return Grade(overall(supports), level, supports, verdict.why, support_score=supported, usefulness_score=useful)


_CHECKS: dict[Check, tuple[type[schemas.Reply], str]] = {
    "both": (schemas.GradeGeneration, "generation_grader"),
    "support": (schemas.GradeSupport, "hallucination_grader"),
    "usefulness": (schemas.GradeUsefulness, "answer_grader"),
}


def _check_one_by_one(task: Task, question: str, documents: Sequence[Document], generation: str, check: Check) -> Grade:
    """The tutorials' two graders; for both, usefulness is asked for only where the generation is grounded."""
    grade = Grade("unparsed", 0)
    if check != "usefulness":
        grade = _grounded(task, documents, generation)
        if check == "support" or grade.support != "fully":
            return grade
    messages = tutorial_prompts.answer(question, generation)
    useful = task.single("grader", "answer_grader", messages, schemas.GradeAnswer, scored=True, reasons="one")
    if useful.reply is None:
        return replace(grade, support="unparsed", why=useful.error, support_score=None)
    probabilities = useful.probabilities(("yes", "no"), "u")
    return replace(
        grade,
        usefulness=USEFUL if useful.reply.binary_score == "yes" else USELESS,
        why="; ".join(filter(None, (grade.why, useful.why))),
        usefulness_score=probabilities["yes"] - probabilities["no"] if probabilities else None,
    )


def _grounded(task: Task, documents: Sequence[Document], generation: str) -> Grade:
    def prompt(numbers: Sequence[int]) -> list[Message]:
        return tutorial_prompts.hallucination(documents, numbers, generation)

    verdict = task.verdict(
        "grader",
        "hallucination_grader",
        prompt,
        _cited_first(_plain(documents), generation),
        lambda _: schemas.GradeHallucinations,
        scored=True,
        reasons="one",
    )
    if verdict.reply is None:
        return Grade("unparsed", 0, why=verdict.error)
    supported: Support = "fully" if verdict.reply.binary_score == "yes" else "no"
    return Grade(supported, 0, why=verdict.why, support_score=verdict.yes("s"))


def _plain(documents: Sequence[Document]) -> Layout:
    return Layout(tuple(documents), tuple(range(len(documents))))


def _cited_first(layout: Layout, generation: str) -> list[int]:
    """The positions of the passages in the order in which a check wants them: what the answer cites comes first."""
    cited = {number - 1 for _, numbers in marks(generation) for number in numbers} & set(layout.used)
    return sorted(layout.order, key=lambda position: position not in cited)
