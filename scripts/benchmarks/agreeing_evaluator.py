"""The packaged evaluator with the verdicts of a benchmark's case: it reads every passage, and costs what that costs."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from langchain_core.documents import Document

    from local_rag.core.protocols import Evaluator
    from local_rag.core.readings import Calibration, Reading


class Agreeing:
    """Finds those passages irrelevant that hold one of the words of `rejected`, and all others relevant."""

    def __init__(self, evaluator: Evaluator, rejected: Sequence[str]) -> None:
        self._evaluator, self._rejected = evaluator, rejected
        self._seconds = self._busy = 0.0

    @property
    def fingerprint(self) -> str:
        return self._evaluator.fingerprint

    @property
    def calibration(self) -> Calibration:
        return self._evaluator.calibration

    @property
    def language(self) -> str:
        return self._evaluator.language

    def read(self, question: str, documents: Sequence[Document]) -> list[Reading]:
        began, busy = time.perf_counter(), time.process_time()
        readings = self._evaluator.read(question, documents)
        self._seconds += time.perf_counter() - began
        self._busy += time.process_time() - busy
        return [
            replace(reading, answerable=float(not any(word in document.page_content for word in self._rejected)))
            for reading, document in zip(readings, documents, strict=True)
        ]

    def supports(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        return self._evaluator.supports(pairs)

    def close(self) -> None:
        self._evaluator.close()

    def spent(self) -> tuple[float, float]:
        """Seconds, and processor seconds, of what it has read since the last call of this."""
        spent, self._seconds, self._busy = (self._seconds, self._busy), 0.0, 0.0
        return spent
