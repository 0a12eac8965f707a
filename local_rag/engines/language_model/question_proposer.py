"""Questions for a test, proposed by a model from single passages."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from local_rag.core import cancel
from local_rag.core.usage import Usage
from local_rag.engines.language_model import schemas
from local_rag.engines.language_model.engine import LanguageModelEngine
from local_rag.engines.language_model.schemas import R
from local_rag.engines.language_model.task import Verdict

if TYPE_CHECKING:
    from langchain_core.documents import Document


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
