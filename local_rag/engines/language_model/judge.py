"""What evaluation asks a language model: is an answer right, given reference answers; a question for a test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from local_rag.core import cancel
from local_rag.core.usage import Usage
from local_rag.engines.language_model import schemas
from local_rag.engines.language_model.engine import LanguageModelEngine
from local_rag.engines.language_model.schemas import R
from local_rag.engines.language_model.task import Verdict
from local_rag.text.marks import without_marks

if TYPE_CHECKING:
    from langchain_core.documents import Document

REFERENCES = 10
"""How many reference answers the judge is shown; sets made by several people repeat themselves."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """Whether an answer is right; `why` says what was wrong with the reply where it stayed unusable."""

    verdict: Literal["right", "wrong", "unparsed"]
    why: str = ""
    usage: Usage = field(default_factory=Usage)


class Judge:
    """Compares answers with known ones, by the engine's grader model. Raises EngineError where the server fails."""

    def __init__(self, engine: LanguageModelEngine) -> None:
        self.engine = engine

    @property
    def model(self) -> str:
        """The model that judges."""
        return self.engine.setups["grader"].model

    def judge(self, question: str, references: Sequence[str], answer: str) -> Judgement:
        """Is the answer right, given reference answers of which each is right on its own?

        The judge sees no passage, no mark [n] and nothing of who answered. Raises ValueError without a reference.
        """
        known = list(dict.fromkeys(reference.strip() for reference in references if reference.strip()))[:REFERENCES]
        if not known:
            raise ValueError("a judge needs at least one reference answer")
        cancel.check()
        task, prompts = self.engine.task(), self.engine.prompts
        messages = prompts.chat(prompts.judge_task(known, without_marks(answer).strip()), question)
        verdict = task.single("grader", "judge", messages, schemas.JudgeAnswer)
        return Judgement(verdict.reply.verdict if verdict.reply else "unparsed", verdict.error, task.usage())


@dataclass(frozen=True, slots=True)
class ProposedQuestion:
    """A question and the words that are said to answer it; both empty where no reply could be used.

    A question that is to have no answer comes without one. Nothing is checked yet: see `evaluation.making`.
    """

    question: str = ""
    answer: str = ""
    why: str = ""
    usage: Usage = field(default_factory=Usage)


class QuestionProposer:
    """Asks the engine's generator model. Raises EngineError where the server fails."""

    def __init__(self, engine: LanguageModelEngine) -> None:
        self.engine = engine

    def propose(self, document: Document) -> ProposedQuestion:
        """A question that a passage answers, with the words that answer it."""
        verdict, usage = self._ask("propose", document, schemas.ProposeQuestion)
        if verdict.reply is None:
            return ProposedQuestion(why=verdict.error, usage=usage)
        return ProposedQuestion(_one_line(verdict.reply.question), _one_line(verdict.reply.answer), usage=usage)

    def propose_missing(self, document: Document) -> ProposedQuestion:
        """A question about the matter of a passage that the passage does not answer."""
        verdict, usage = self._ask("propose_missing", document, schemas.ProposeMissing)
        question = _one_line(verdict.reply.question) if verdict.reply else ""
        return ProposedQuestion(question, why=verdict.error, usage=usage)

    def _ask(self, label: str, document: Document, schema: type[R]) -> tuple[Verdict[R], Usage]:
        cancel.check()
        task, prompts = self.engine.task(), self.engine.prompts
        messages = prompts.chat(prompts.propose_task(label == "propose"), "", [document], [0])
        verdict = task.single("generator", label, messages, schema)
        return verdict, task.usage()


def _one_line(text: str) -> str:
    return " ".join(text.split())
