"""Do the tasks of an engine by language models, with verdicts in JSON: LanguageModelEngine.

Every verdict is strictly parsed. After an unusable reply the model is asked once more, with the error quoted; a second
one becomes the verdict `unparsed`, which is never "yes".
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, TypedDict, Unpack

from local_rag.config.models import Role
from local_rag.config.values import Grading
from local_rag.core import cancel
from local_rag.core.documents import Catalog
from local_rag.core.errors import EngineError
from local_rag.core.protocols import AnswerDelta, Attempt, Rewrite, Shape, Turn
from local_rag.core.verdicts import (
    Check,
    Complexity,
    Grade,
    Need,
    Relevance,
    Route,
    Source,
    Target,
    Thought,
    Usage,
    answered,
)
from local_rag.engines.assessment import USELESS
from local_rag.engines.calls import ChatCalls
from local_rag.engines.language_model import schemas
from local_rag.engines.language_model.graders import doubted, evaluated, grade_documents, grade_generation, weighed
from local_rag.engines.language_model.passages import Passages
from local_rag.engines.language_model.prompt_texts import PromptTexts
from local_rag.engines.language_model.prompts import REWRITERS, Prompts, chat_so_far, files_in_words
from local_rag.engines.language_model.tables import asked_query
from local_rag.engines.language_model.task import Task
from local_rag.engines.language_model.window import Message, ModelSetup
from local_rag.text.answer_language import is_refusal
from local_rag.text.display import reasons, shorten
from local_rag.text.marks import without_marks
from local_rag.text.metadata import is_computed
from local_rag.text.sentences import sentences
from local_rag.text.words import collapsed, query_key

if TYPE_CHECKING:
    from langchain_core.documents import Document

    from local_rag.core.protocols import Evaluator
    from local_rag.engines.extractive.engine import ExtractiveEngine
    from local_rag.index.tables.query import TableQuery
    from local_rag.index.tables.table import Table

THE_ANSWER = "answer is"
"""The words that end a chain of reasoning in IRCoT (arXiv 2212.10509, section 3.1)."""


LONGEST_QUOTE = 200
"""The most characters of the sentence that a rejected answer is compared with."""


class Parts(TypedDict, total=False):
    """Hold the parts of an engine that do not depend on its server; see LanguageModelEngine."""

    explain: bool
    texts: PromptTexts | None
    evaluator: Evaluator | None
    assessor: ExtractiveEngine | None


class LanguageModelEngine(ABC):
    """Do the tasks of an engine by language models; `calls` asks them, `setups` holds the model of each role.

    `grading` chooses the grader and the number of calls, `explain` asks for reasons. `evaluator` grades passages with
    `grading: evaluator`, `assessor` grades passages and answers with `grading: auto`, which is `packed` without one.
    `accuracy` is the measured balanced accuracy of the grader's verdicts on answers, 0 if it is unknown or not good;
    with `grading: auto` only a good grader is asked about an answer, beside the assessor. Several threads may use the
    engine, if `calls` allows that.
    """

    def __init__(
        self,
        calls: ChatCalls,
        setups: Mapping[Role, ModelSetup],
        *,
        grading: Grading = "packed",
        **parts: Unpack[Parts],
    ) -> None:
        assessor = parts.get("assessor")
        self.prompts = Prompts(parts.get("texts") or PromptTexts())
        self.setups = setups
        self.grading: Grading = grading if assessor or grading != "auto" else "packed"
        self.accuracy = 0.0
        self._assessor = assessor
        self._calls = calls
        self._explain = parts.get("explain", False)
        self._evaluator = parts.get("evaluator")

    @property
    @abstractmethod
    def name(self) -> str:
        """The kind of the engine, and the model that answers."""

    @property
    @abstractmethod
    def describe(self) -> str:
        """One line for stderr about the model that answers, and the way it does."""

    @property
    @abstractmethod
    def identity(self) -> str:
        """The version of the prompts and the models of all roles, with digests of their weights where these are
        known.
        """

    @property
    def fingerprint(self) -> str:
        """The identity, the way of grading, and the evaluator."""
        return f"{self.identity}; {self.how_graded}"

    writes = True

    @property
    def grades_by(self) -> Literal["model", "evaluator"]:
        return "evaluator" if self.grading in ("auto", "evaluator") else "model"

    def close(self) -> None:
        """Abort all running calls; no further call begins."""
        self._calls.close()

    @property
    def how_graded(self) -> str:
        """The way in which verdicts and scores are made, for the end of a fingerprint."""
        checks = [f"the model checks answers ({self.accuracy:.2f})"] if self.accuracy else []
        how = ", ".join([self.grading, *checks, *(["explain"] if self._explain else [])])
        if self.grading == "auto" and self._assessor:
            return f"{how}; {self._assessor.fingerprint}"
        return f"{how}; evaluator {self._evaluator.fingerprint}" if self._evaluator else how

    @property
    def by_evaluator(self) -> str:
        """The part of the grading that the evaluator does, for the end of `describe`; empty if the model
        does it all.
        """
        graded = {"auto": "passages and answers", "evaluator": "passages"}.get(self.grading)
        return f"; the evaluator grades {graded}" if graded else ""

    @property
    def models(self) -> list[ModelSetup]:
        """Each model once, in the order of the roles."""
        return list(dict.fromkeys(self.setups.values()))

    def route(self, question: str, catalog: Catalog) -> Route:
        """Ask the router; without a choice nothing is asked. After an unusable reply the first allowed source is taken.

        Several steps are for the files alone.
        """
        cancel.check()
        first = catalog.allowed[0]
        catalog = replace(catalog, multi=catalog.multi and "vectorstore" in catalog.allowed)
        if len(catalog.allowed) == 1 and not catalog.multi:
            return Route(first, "direct" if first == "direct" else "single")
        task = self.task()
        messages = self.prompts.chat(self.prompts.route_task(catalog), question, before=files_in_words(catalog))
        schema = schemas.route_among(catalog.allowed, catalog.multi)
        names = ["router"] * (len(catalog.allowed) > 1) + ["router_steps"] * catalog.multi
        verdict = task.verdict("router", "+".join(names), lambda _: messages, schema)
        source: Source = getattr(verdict.reply, "datasource", first)
        steps: Complexity = getattr(verdict.reply, "complexity", "single") if source == "vectorstore" else "single"
        return Route(source, "direct" if source == "direct" else steps, verdict.why, task.usage())

    def needs_retrieval(
        self,
        question: str,
        catalog: Catalog,
        documents: Sequence[Document] = (),
        written: str = "",
        graded: Sequence[Document] = (),
    ) -> Need:
        """Ask whether to retrieve (Retrieve of Self-RAG), or how an answer goes on of which a part is written. An
        unusable reply means yes, or no if a part is written.
        """
        task = self.task()
        if written:
            passages = Passages.among(graded, documents)
            prompt = self.prompts.about(passages, question, lambda _: self.prompts.next_task(written))
            verdict = task.verdict("grader", "continuation", prompt, schemas.GradeNext, passages.order, needed=0)
            return Need(verdict.reply.needed if verdict.reply else "no", verdict.why, task.usage())
        messages = self.prompts.chat(self.prompts.need_task(), question, before=files_in_words(catalog))
        decision = task.verdict("router", "retrieval_decision", lambda _: messages, schemas.GradeNeed)
        return Need(decision.reply.needed if decision.reply else "yes", decision.why, task.usage())

    def relevance(self, question: str, documents: Sequence[Document]) -> list[Relevance]:
        """Grade passages: packed into calls, in one call for each, or by the evaluator, as `grading` says."""
        cancel.check()
        if not documents:
            return []
        if assessor := self._assesses(question):
            return assessor.relevance(question, documents)
        if self.grading == "evaluator":
            if self._evaluator is None:
                raise EngineError(
                    "passages are to be graded by the evaluator (grading: evaluator), and this engine has none",
                    hint="local-rag doctor says what is missing; or let the model grade: grading: packed",
                )
            return evaluated(self._evaluator, question, documents)
        task, most = self.task(), 1 if self.grading == "each" else len(documents)
        first, *others = grade_documents(task, question, documents, most)
        return [replace(first, usage=task.usage()), *others]

    def _assesses(self, question: str) -> ExtractiveEngine | None:
        """Return the assessor that grades in place of the model, or None if it cannot read the question's language."""
        assessor = self._assessor if self.grading == "auto" else None
        return assessor if assessor and assessor.reads(question) else None

    def answer(self, question: str, documents: Sequence[Document], attempt: Attempt) -> Iterator[AnswerDelta]:
        """Write an answer. The first attempt is at temperature 0; later ones are told why the last one was rejected."""
        if attempt.quotes:
            assessor = self._assesses(question)
            yield from assessor.answer(question, documents, attempt) if assessor else ()
            return
        task = self.task()
        if documents or attempt.direct:
            for bit in self._written(task, question, documents, attempt):
                yield AnswerDelta(bit or "", restart=bit is None)
        else:
            yield AnswerDelta(attempt.shape.refusal)
        yield AnswerDelta("", usage=task.usage())

    def _written(
        self, task: Task, question: str, documents: Sequence[Document], attempt: Attempt
    ) -> Iterator[str | None]:
        passages = Passages.among(attempt.graded, documents)

        def wanted(positions: Sequence[int]) -> str:
            if attempt.direct:
                return self.prompts.direct_task(attempt.shape)
            return self.prompts.answer_task(attempt, passages.counting(positions))

        name = "direct" if attempt.direct else "generator" if attempt.written is None else "generator_part"
        prompt = self.prompts.about(passages, question, wanted)
        return passages.renumbered_stream(task.text(name, prompt, passages.order, len(documents), attempt.number - 1))

    def grade(
        self,
        question: str,
        documents: Sequence[Document],
        generation: str,
        *,
        check: Check = "both",
        graded: Sequence[Document] = (),
    ) -> Grade:
        """Grade support and usefulness in one call, or with `grading: each` in two.

        A part that is not asked for is `unparsed`, or usefulness 0.
        """
        task, passages = self.task(), Passages.among(graded, documents)
        if not documents:
            return Grade("no", USELESS, why="there are no passages to support it", usage=task.usage(), score=0.0)
        if assessor := self._assesses(question):
            grade = assessor.grade(question, documents, generation, check=check, written=True)
            grade = doubted(grade, question, generation)
            if grade.support in ("no", "partially") and (quote := _quoted(assessor, question, documents)):
                grade = replace(grade, why=reasons(grade.why, f"the passages say: {quote!r}"))
            if self.accuracy and check != "support":
                verdict = grade_generation(task, question, passages, generation, "both")
                grade = replace(weighed(grade, verdict, self.accuracy), usage=grade.usage + task.usage())
            return grade
        if check == "both" and self.grading == "each":
            grade = grade_generation(task, question, passages, generation, "support")
            if grade.support == "fully":
                useful = grade_generation(task, question, passages, generation, "usefulness")
                grade = replace(grade, usefulness=useful.usefulness, why=reasons(grade.why, useful.why))
        else:
            grade = grade_generation(task, question, passages, generation, check)
        return replace(grade, usage=task.usage(), score=answered(grade))

    def reason(self, question: str, documents: Sequence[Document], thoughts: Sequence[str]) -> Thought:
        """Write the next sentence of a chain of reasoning. An unusable reply ends the chain, and the
        answer is written.
        """
        task, passages = self.task(), Passages.plain(documents)
        prompt = self.prompts.about(passages, question, lambda _: self.prompts.reason_task(thoughts))
        verdict = task.verdict("generator", "reasoner", prompt, schemas.ReasonStep, range(len(documents)))
        sentence = collapsed(verdict.reply.sentence) if verdict.reply else ""
        first = next((span.of(sentence) for span in sentences(sentence)), "")
        done = not first or verdict.reply is None or verdict.reply.done or THE_ANSWER in first.casefold()
        return Thought(first, done, usage=task.usage())

    def rewrite(self, question: str, tried: Sequence[str], target: Target) -> Rewrite:
        """Write another query without seeing a passage. A query that adds nothing is asked for once more."""
        messages = self.prompts.chat(self.prompts.rewrite_task(tried, target), question)
        known = {query_key(query) for query in tried}
        return self.task().line(REWRITERS[target], lambda _: messages, (), known)

    def standalone(self, question: str, history: Sequence[Turn]) -> Rewrite:
        """Rewrite the question as it would be asked without the chat before it."""
        cancel.check()
        if not history:
            return Rewrite(question)

        def prompt(positions: Sequence[int]) -> Sequence[Message]:
            turns = [history[position] for position in positions]
            return self.prompts.chat(self.prompts.standalone_task(), question, before=chat_so_far(turns))

        standalone = self.task().line("standalone", prompt, range(len(history) - 1, -1, -1), set())
        return standalone if standalone.text else Rewrite(question, standalone.usage)

    def table_query(self, question: str, table: Table, name: str) -> tuple[TableQuery | None, Usage]:
        """Return the question as a query of a table, in JSON mode; None if no reply fits the table and the question."""
        return asked_query(self.task(), question, table, name)

    def task(self) -> Task:
        """Return a new task, also for calls that no graph makes (`judge`, `question_proposer`)."""
        return Task(self._calls, self.setups, self.prompts, explain=self._explain)


def _quoted(assessor: ExtractiveEngine, question: str, documents: Sequence[Document]) -> str:
    """Return the sentence of the passages that answers best, for people who read the reason, or ""."""
    files = [document for document in documents if not is_computed(document)]
    text = "".join(delta.text for delta in assessor.answer(question, files, Attempt(shape=Shape(sentences=1))))
    return "" if is_refusal(text) else shorten(without_marks(text), LONGEST_QUOTE)
