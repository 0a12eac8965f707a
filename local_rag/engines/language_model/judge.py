"""Ask a language model for evaluation: whether an answer is right, given reference answers, and for test questions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from local_rag.core.verdicts import Usage
from local_rag.engines.language_model import schemas
from local_rag.engines.language_model.engine import LanguageModelEngine
from local_rag.engines.language_model.schemas import R
from local_rag.text.marks import without_marks
from local_rag.text.words import collapsed

if TYPE_CHECKING:
    from langchain_core.documents import Document

REFERENCES = 10
"""The most reference answers that the judge is shown; sets made by several people repeat themselves."""


class JudgeVerdict(NamedTuple):
    """Hold whether an answer is right; `why` gives the error of a reply that stayed unusable."""

    verdict: Literal["right", "wrong", "unparsed"]
    why: str = ""
    usage: Usage = Usage()


@dataclass(frozen=True)
class Judge:
    """Compare answers with known ones, by the engine's grader model. Raises EngineError if the server fails."""

    engine: LanguageModelEngine

    def judge(self, question: str, references: Sequence[str], answer: str) -> JudgeVerdict:
        """Judge whether an answer is right, given reference answers each of which is right on its own.

        The judge sees no passage, no mark [n] and not who answered. Raises ValueError without a reference.
        """
        known = list(dict.fromkeys(reference.strip() for reference in references if reference.strip()))[:REFERENCES]
        if not known:
            raise ValueError("a judge needs at least one reference answer")
        task = self.engine.task()
        messages = task.prompts.chat(task.prompts.judge_task(known, without_marks(answer).strip()), question)
        verdict = task.verdict("grader", "judge", lambda _: messages, schemas.JudgeAnswer)
        return JudgeVerdict(verdict.reply.verdict if verdict.reply else "unparsed", verdict.error, task.usage())


@dataclass(frozen=True)
class QuestionProposer:
    """Ask the engine's generator model for questions; they are checked in `evaluation.making`, not here.

    All texts are empty if no reply could be used. Raises EngineError if the server fails.
    """

    engine: LanguageModelEngine

    def propose(self, document: Document) -> tuple[str, str]:
        """Return a question that a passage answers, and the words that answer it."""
        reply = self._asked("propose", document, schemas.ProposeQuestion)
        return (collapsed(reply.question), collapsed(reply.answer)) if reply else ("", "")

    def propose_missing(self, document: Document) -> str:
        """Return a question about the subject of a passage that the passage does not answer."""
        reply = self._asked("propose_missing", document, schemas.ProposeMissing)
        return collapsed(reply.question) if reply else ""

    def _asked(self, name: str, document: Document, schema: type[R]) -> R | None:
        task = self.engine.task()
        messages = task.prompts.chat(task.prompts.propose_task(name == "propose"), "", [document], [0])
        return task.verdict("generator", name, lambda _: messages, schema).reply
