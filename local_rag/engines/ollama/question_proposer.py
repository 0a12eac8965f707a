"""Questions for a test, proposed by a model from single passages."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from local_rag.core import cancel
from local_rag.core.usage import Usage
from local_rag.engines.ollama import evaluation_prompts, schemas
from local_rag.engines.ollama.engine import OllamaEngine

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

    def __init__(self, engine: OllamaEngine) -> None:
        self.engine = engine

    def propose(self, document: Document) -> ProposedQuestion:
        """A question that a passage answers, with the words that answer it."""
        cancel.check()
        task, messages = self.engine.task(), evaluation_prompts.propose(document, evaluation_prompts.PROPOSE)
        verdict = task.single("generator", "propose", messages, schemas.ProposeQuestion)
        if verdict.reply is None:
            return ProposedQuestion(why=verdict.error, usage=task.usage())
        return ProposedQuestion(_one_line(verdict.reply.question), _one_line(verdict.reply.answer), usage=task.usage())

    def propose_missing(self, document: Document) -> ProposedQuestion:
        """A question about the matter of a passage that the passage does not answer."""
        cancel.check()
        task, messages = self.engine.task(), evaluation_prompts.propose(document, evaluation_prompts.MISSING)
        verdict = task.single("generator", "propose_missing", messages, schemas.ProposeMissing)
        question = _one_line(verdict.reply.question) if verdict.reply else ""
        return ProposedQuestion(question, why=verdict.error, usage=task.usage())


def _one_line(text: str) -> str:
    return " ".join(text.split())
