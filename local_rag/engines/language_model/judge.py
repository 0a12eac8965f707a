"""The judge of an evaluation: is an answer right, given reference answers?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from local_rag.core import cancel
from local_rag.core.usage import Usage
from local_rag.engines.language_model import schemas
from local_rag.engines.language_model.engine import LanguageModelEngine
from local_rag.text.marks import without_marks

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
