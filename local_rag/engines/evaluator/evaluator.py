"""TrainedEvaluator: what a passage holds for a question, and whether it supports a statement, by one small model."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Sequence
from dataclasses import astuple, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from local_rag.core import cancel, question_memory
from local_rag.core.readings import NOTHING, Calibration, Reading, ReadSpan
from local_rag.engines.evaluator.inputs import Window, header_of
from local_rag.engines.evaluator.loading import Loaded, load
from local_rag.engines.evaluator.spans import apart, best_spans

if TYPE_CHECKING:
    from langchain_core.documents import Document

    from local_rag.engines.evaluator.files import Files
    from local_rag.index.embed.conversion import Conversion

BATCH = 4
"""Windows that are computed at once; more has more padding and is no faster on a processor."""

_FULLY = 1
"""The class of `support` that says: fully."""


class TrainedEvaluator:
    """An evaluator of models.yaml. Making one reads nothing; weights load on the first text, once for all threads.

    `cache` is the folder for what can be made again; `on_load` is called before a load.
    """

    def __init__(
        self, name: str, files: Files, cache: Path | None = None, on_load: Callable[[], None] | None = None
    ) -> None:
        self.name = name
        self.files = files
        self._cache = cache
        self._on_load = on_load
        self._loading, self._computing = threading.Lock(), threading.Lock()

    @cached_property
    def fingerprint(self) -> str:
        """16 hex digits of the model and its calibration."""
        parts = [self.files.fingerprint, *astuple(replace(self.calibration, fitted_on=""))]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]

    @cached_property
    def calibration(self) -> Calibration:
        """How its logits become probabilities. Raises OSError, ValueError."""
        return self.files.calibration

    @property
    def ready(self) -> bool:
        """Whether the model is loaded."""
        return "_loaded" in self.__dict__

    @property
    def conversion(self) -> Conversion | None:
        """How it was converted, None before that."""
        from local_rag.engines.evaluator.loading import conversion_of

        return conversion_of(self.files, self._cache)

    def load(self) -> None:
        """Load the model now, converting it first if nobody has. Raises LocalRagError where it cannot be loaded."""
        _ = self._model

    def read(self, question: str, documents: Sequence[Document]) -> list[Reading]:
        """One reading per document, in their order. Raises as `load` does, and Stopped between two batches."""
        known: dict[tuple[str, str, str], Reading] = question_memory.current().get((self, "readings"), dict)
        keys = [(question, header_of(document), document.page_content) for document in documents]
        new = [key for key in dict.fromkeys(keys) if key not in known]
        windows = {key: self._model.inputs.windows(*key) for key in new}
        outputs = iter(self._compute([window for key in new for window in windows[key]]))
        for key in new:
            known[key] = self._reading(key[2], [(window, next(outputs)) for window in windows[key]])
        return [known[key] for key in keys]

    def supports(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """For each (statement, text) the probability that the text supports all of it; errors as of `read`."""
        known: dict[tuple[str, str], float] = question_memory.current().get((self, "supports"), dict)
        new = [pair for pair in dict.fromkeys(pairs) if pair not in known]
        windows = {pair: self._model.inputs.windows(pair[0], "", pair[1]) for pair in new}
        outputs = iter(self._compute([window for pair in new for window in windows[pair]]))
        for pair in new:
            chances = [float(_softmax(next(outputs)[2])[_FULLY]) for _ in windows[pair]]
            known[pair] = max(chances, default=0.0)
        return [known[pair] for pair in pairs]

    def close(self) -> None:
        """Forget the model; a later reading loads it again."""
        with self._loading:
            self.__dict__.pop("_loaded", None)

    def _reading(self, text: str, read: Sequence[tuple[Window, tuple[Any, Any, Any]]]) -> Reading:
        """Of several windows the answer is present if it is in one, and the matter right if it is in one."""
        if not read:
            return NOTHING
        spans: list[ReadSpan] = []
        classes = []
        for window, (span_logits, relevance_logits, _) in read:
            spans += best_spans(window, span_logits, text)
            classes.append(_softmax(relevance_logits))
        present = max(float(chances[2]) for chances in classes)
        other = min(float(chances[0]) for chances in classes)
        best = apart(spans)
        logit = best[0].logit if best else -50.0
        answerable = self.calibration.answerable(logit, present)
        return Reading(other, max(0.0, 1.0 - other - present), present, best, answerable)

    def _compute(self, windows: Sequence[Window]) -> list[tuple[Any, Any, Any]]:
        """Per window the logits of span (tokens, 2), relevance (3,) and support (2,), in their order."""
        order = sorted(range(len(windows)), key=lambda number: len(windows[number].ids))
        outputs: list[tuple[Any, Any, Any] | None] = [None] * len(windows)
        for first in range(0, len(order), BATCH):
            cancel.check()
            numbers = order[first : first + BATCH]
            inputs = self._model.inputs.batch([windows[number] for number in numbers])
            with self._computing:
                computed = self._model.model.compute(inputs)
            for number, *rows in zip(numbers, *computed, strict=True):
                outputs[number] = (rows[0], rows[1], rows[2])
        return [output for output in outputs if output is not None]

    @property
    def _model(self) -> Loaded:
        with self._loading:
            return self._loaded

    @cached_property
    def _loaded(self) -> Loaded:
        return load(self.name, self.files, self._cache, self._on_load)


def _softmax(logits: Any) -> Any:
    import numpy as np

    powers = np.exp(logits.astype(np.float64) - logits.max())
    return powers / powers.sum()
