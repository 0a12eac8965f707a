"""The graders of passages and of answers: verdicts in JSON, and scores where the model shows how sure it was."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from local_rag.core.critique import answered, overall
from local_rag.core.verdicts import Check, Grade, Relevance, RelevanceLabel, Support
from local_rag.engines.ollama import prompts, schemas, scores, tutorial_prompts
from local_rag.engines.ollama.context_window import Message
from local_rag.engines.ollama.parsed_verdict import ParsedVerdict
from local_rag.engines.ollama.prompt_layout import Layout, layouts
from local_rag.engines.ollama.schemas import R
from local_rag.engines.ollama.task import Task
from local_rag.text.marks import claims, marks

if TYPE_CHECKING:
    from langchain_core.documents import Document

USEFUL, USELESS = 5, 1
"""What the tutorials' yes and no of the answer grader are on the scale of 1 to 5."""
YES_NO = ("yes", "no")
SUPPORTS = ("fully", "partially", "no")
LEVELS = ("1", "2", "3", "4", "5")
_LABELS: dict[str, RelevanceLabel] = {"yes": "relevant", "no": "irrelevant"}


class Grader:
    """Asks for verdicts by lists, or with the tutorials' calls (`each`); `explain` asks for their reasons, too."""

    def __init__(self, task: Callable[[], Task], each: bool, explain: bool) -> None:
        self._task = task
        self._each = each
        self._explain = explain

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
        known = self._levels(task, question, documents, shown)
        for number in missing:
            verdicts[number] = replace(verdicts[number], score=known.get(number))
        return [replace(verdicts[0], usage=verdicts[0].usage + task.usage()), *verdicts[1:]]

    def _relevance_of_all(self, question: str, documents: Sequence[Document]) -> tuple[list[Relevance], Sequence[int]]:
        """The verdicts, and the numbers of the passages that fitted the window."""
        task, order = self._task(), _plain(documents).order

        def prompt(numbers: Sequence[int]) -> Sequence[Message]:
            wanted = prompts.chat(prompts.grade_task(len(numbers)), question, documents, numbers)
            return self._with_reasons(wanted, several=True)

        verdict = task.verdict(
            "grader",
            "retrieval_grader",
            prompt,
            order,
            lambda count: self._shape(schemas.grades_of(count), count),
            scored=True,
        )
        verdicts = [
            Relevance("unparsed", why=verdict.error or "left out: the prompt did not fit the window") for _ in documents
        ]
        if verdict.reply:
            for position, (number, word) in enumerate(zip(verdict.kept, verdict.reply.binary_scores, strict=True)):
                score = scores.yes(verdict.probabilities(("r", position), YES_NO))
                verdicts[number] = Relevance(_LABELS[word], score, verdict.reason(position))
        shown = sorted(verdict.kept)
        rejected = [position for position, number in enumerate(shown) if verdicts[number].label == "irrelevant"]
        layouts().graded(question, [documents[number] for number in shown], rejected)
        return [replace(verdicts[0], usage=task.usage()), *verdicts[1:]], verdict.kept

    def _relevance_of_one(self, question: str, document: Document) -> Relevance:
        task, messages = self._task(), self._with_reasons(tutorial_prompts.retrieval(question, document))
        verdict = task.single("grader", "retrieval_grader", messages, self._shape(schemas.GradeDocuments), scored=True)
        if verdict.reply is None:
            return Relevance("unparsed", why=verdict.error, usage=task.usage())
        score = scores.yes(verdict.probabilities(("r",), YES_NO))
        return Relevance(_LABELS[verdict.reply.binary_score], score, verdict.why, task.usage())

    def _levels(
        self, task: Task, question: str, documents: Sequence[Document], numbers: Sequence[int]
    ) -> Mapping[int, float]:
        """Scores of these passages by a scale of few steps; those of which nothing could be read are not there."""

        def prompt(kept: Sequence[int]) -> Sequence[Message]:
            return prompts.chat(prompts.levels_task(len(kept)), question, documents, kept)

        verdict = task.verdict("grader", "relevance_scale", prompt, numbers, schemas.levels_of)
        levels = verdict.reply.levels if verdict.reply else ()
        return {number: level / scores.LEVELS for number, level in zip(verdict.kept, levels, strict=False)}

    # --- answers --------------------------------------------------------------------------------------------------

    def grade(self, question: str, documents: Sequence[Document], generation: str, check: Check) -> Grade:
        """Support and usefulness: one call, or the tutorials' two; or one of the two."""
        task = self._task()
        if not documents:
            return Grade("no", USELESS, why="there are no passages to support it", usage=task.usage(), score=0.0)
        grade = (self._checks if self._each else self._check)(task, question, documents, generation, check)
        return replace(grade, usage=task.usage(), score=answered(grade))

    def _check(self, task: Task, question: str, documents: Sequence[Document], generation: str, check: Check) -> Grade:
        sentences = claims(generation)
        if not sentences:
            return Grade("no", 0 if check == "support" else USELESS, why="it states nothing")

        layout = layouts().of(question, documents)
        shown = layout.theirs(generation)

        def prompt(numbers: Sequence[int]) -> Sequence[Message]:
            wanted = prompts.check_task(shown, len(layout.shown), check, layout.only(numbers))
            return self._with_reasons(prompts.chat(wanted, question, layout.shown, numbers))

        order, spare = _cited_first(layout, shown), layout.spare
        if check == "usefulness":
            useful = self._verdict(task, "answer_grader", prompt, order, lambda _: schemas.GradeUsefulness, spare=spare)
            level = useful.reply.usefulness if useful.reply else 0
            return Grade("unparsed", level, why=useful.why, usefulness_score=_usefulness(useful))
        shape = schemas.support_of if check == "support" else schemas.generation_of
        label = "hallucination_grader" if check == "support" else "generation_grader"
        verdict = self._verdict(task, label, prompt, order, shape, len(sentences), spare)
        if verdict.reply is None:
            return Grade("unparsed", 0, why=verdict.error)
        supports: list[Support] = list(verdict.reply.support)
        level = verdict.reply.usefulness if isinstance(verdict.reply, schemas.GradeGeneration) else 0
        return Grade(
            overall(supports),
            level,
            tuple(supports),
            verdict.why,
            support_score=scores.support([verdict.probabilities(("s", n), SUPPORTS) for n in range(len(supports))]),
            usefulness_score=_usefulness(verdict) if level else None,
        )

    def _checks(self, task: Task, question: str, documents: Sequence[Document], generation: str, check: Check) -> Grade:
        """The tutorials' two graders; for both, usefulness is asked for only where the generation is grounded."""
        grade = Grade("unparsed", 0)
        if check != "usefulness":
            grade = self._grounded(task, documents, generation)
            if check == "support" or grade.support != "fully":
                return grade
        useful = task.single(
            "grader",
            "answer_grader",
            self._with_reasons(tutorial_prompts.answer(question, generation)),
            self._shape(schemas.GradeAnswer),
            scored=True,
        )
        if useful.reply is None:
            return replace(grade, support="unparsed", why=useful.error, support_score=None)
        odds = useful.probabilities(("u",), YES_NO)
        return replace(
            grade,
            usefulness=USEFUL if useful.reply.binary_score == "yes" else USELESS,
            why="; ".join(filter(None, (grade.why, useful.why))),
            usefulness_score=odds["yes"] - odds["no"] if odds else None,
        )

    def _grounded(self, task: Task, documents: Sequence[Document], generation: str) -> Grade:
        def prompt(numbers: Sequence[int]) -> Sequence[Message]:
            return self._with_reasons(tutorial_prompts.hallucination(documents, numbers, generation))

        order = _cited_first(_plain(documents), generation)
        verdict = self._verdict(task, "hallucination_grader", prompt, order, lambda _: schemas.GradeHallucinations)
        if verdict.reply is None:
            return Grade("unparsed", 0, why=verdict.error)
        score = scores.yes(verdict.probabilities(("s",), YES_NO))
        return Grade("fully" if verdict.reply.binary_score == "yes" else "no", 0, why=verdict.why, support_score=score)

    # --- both -----------------------------------------------------------------------------------------------------

    def _verdict(
        self,
        task: Task,
        label: str,
        prompt: Callable[[Sequence[int]], Sequence[Message]],
        order: Sequence[int],
        shape: Callable[[int], type[R]],
        entries: int = 1,
        spare: int = 0,
    ) -> ParsedVerdict[R]:
        """A verdict on a generation, with one reason at most."""
        return task.verdict(
            "grader",
            label,
            prompt,
            order,
            lambda count: self._shape(shape(count)),
            entries=entries,
            spare=spare,
            scored=True,
        )

    def _with_reasons(self, messages: Sequence[Message], several: bool = False) -> Sequence[Message]:
        return prompts.with_reasons(messages, several) if self._explain else messages

    def _shape(self, schema: type[R], count: int = 0) -> type[R]:
        return schemas.with_reasons(schema, count) if self._explain else schema


def _usefulness(verdict: ParsedVerdict[R]) -> float | None:
    return scores.usefulness(verdict.probabilities(("u",), LEVELS))


def _plain(documents: Sequence[Document]) -> Layout:
    return Layout(tuple(documents), tuple(range(len(documents))))


def _cited_first(layout: Layout, generation: str) -> list[int]:
    """The positions of the passages in the order in which a check wants them: what the answer cites comes first."""
    cited = {number - 1 for _, numbers in marks(generation) for number in numbers} & set(layout.used)
    return sorted(layout.order, key=lambda position: position not in cited)
