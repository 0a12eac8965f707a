"""Calls that only evaluation makes: judge an answer against known ones, and propose questions for a test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from local_rag.core import cancel
from local_rag.core.usage import Usage
from local_rag.engines.ollama import prompts, schemas
from local_rag.engines.ollama.engine import OllamaEngine
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


@dataclass(frozen=True, slots=True)
class Proposed:
    """A question and the words that are said to answer it; both empty where no reply could be used.

    A question that is to have no answer comes without one. Nothing is checked yet: see `evaluation.proposing`.
    """

    question: str = ""
    answer: str = ""
    why: str = ""
    usage: Usage = field(default_factory=Usage)


class Examiner:
    """An OllamaEngine that is asked what no graph asks. Raises EngineError where the server fails."""

    def __init__(self, engine: OllamaEngine) -> None:
        self.engine = engine

    @property
    def model(self) -> str:
        """The model that judges."""
        return self.engine.uses["grader"].model

    def judge(self, question: str, references: Sequence[str], answer: str) -> Judgement:
        """Is the answer right, given reference answers of which each is right on its own?

        The judge sees no passage, no mark [n] and nothing of who answered. Raises ValueError without a reference.
        """
        known = list(dict.fromkeys(one.strip() for one in references if one.strip()))[:REFERENCES]
        if not known:
            raise ValueError("a judge needs at least one reference answer")
        cancel.check()
        task = self.engine.task()
        messages = prompts.chat(prompts.judge_task(known, without_marks(answer).strip()), question)
        verdict = task.single("grader", "judge", messages, schemas.JudgeAnswer)
        return Judgement(verdict.found.verdict if verdict.found else "unparsed", verdict.wrong, task.usage())

    def propose(self, document: Document) -> Proposed:
        """A question that a passage answers, with the words that answer it."""
        cancel.check()
        task, messages = self.engine.task(), prompts.propose(document, prompts.PROPOSE)
        verdict = task.single("generator", "propose", messages, schemas.ProposeQuestion)
        if verdict.found is None:
            return Proposed(why=verdict.wrong, usage=task.usage())
        return Proposed(_line(verdict.found.question), _line(verdict.found.answer), usage=task.usage())

    def propose_missing(self, document: Document) -> Proposed:
        """A question about the matter of a passage that the passage does not answer."""
        cancel.check()
        task, messages = self.engine.task(), prompts.propose(document, prompts.MISSING)
        verdict = task.single("generator", "propose_missing", messages, schemas.ProposeMissing)
        question = _line(verdict.found.question) if verdict.found else ""
        return Proposed(question, why=verdict.wrong, usage=task.usage())


def _line(text: str) -> str:
    return " ".join(text.split())
