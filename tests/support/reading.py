"""An evaluator that obeys a script: what it reads in a passage stands in a table."""

from __future__ import annotations

from dataclasses import dataclass, field

from local_rag.core.readings import NOTHING, Calibration, Reading, ReadSpan


@dataclass
class ScriptedEvaluator:
    """Reads in a passage the first of `answers` that it holds, with that probability; supports only what a passage says
    word for word.
    """

    answers: dict[str, float] = field(default_factory=dict)
    error: Exception | None = None
    fingerprint: str = "scripted reader 1"
    calibration: Calibration = field(default_factory=Calibration)
    name: str = "scripted"
    language: str = "en"

    def __post_init__(self):
        self.questions = []

    def read(self, question, documents):
        if self.error:
            raise self.error
        self.questions.append((question, tuple(document.page_content for document in documents)))
        return [self._reading(document.page_content) for document in documents]

    def _reading(self, text):
        for answer, chance in self.answers.items():
            if (start := text.find(answer)) >= 0:
                span = ReadSpan(start, start + len(answer), answer, 8.0)
                return Reading(0.01, 0.99 - chance, chance, (span,), chance)
        return NOTHING

    def supports(self, pairs):
        return [float(statement.rpartition("? ")[2] in text) for statement, text in pairs]

    def prepare(self):
        pass

    def close(self):
        pass
