"""TrainedEvaluator: what a passage holds for a question, and whether it supports a statement, by one small model."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import astuple, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from local_rag.core import cancel, question_memory
from local_rag.core.errors import EngineError
from local_rag.core.readings import NOTHING, Calibration, Reading, ReadSpan
from local_rag.engines.evaluator.inputs import Window, header_of
from local_rag.engines.evaluator.loading import WITHOUT, Loaded, conversion_of, load
from local_rag.engines.evaluator.spans import apart, best_spans

if TYPE_CHECKING:
    from langchain_core.documents import Document

    from local_rag.engines.evaluator.files import Files

BATCH = 4
"""Windows that are computed at once; more has more padding and is no faster on a processor."""

_POLL = 0.1
"""Seconds between two looks for a stop, while another thread loads the model."""

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
        """How its logits become probabilities."""
        return self.files.calibration

    @property
    def ready(self) -> bool:
        """Whether the model is loaded."""
        return "_loaded" in self.__dict__

    @property
    def loads_first(self) -> bool:
        """Whether the next load converts the model, which happens once."""
        return not self.ready and self._cache is not None and conversion_of(self.files, self._cache) is None

    def load(self) -> None:
        """Load the model now, converting it first if nobody has. Raises ModelChanged where it cannot be loaded."""
        _ = self.loaded

    def prepare(self) -> None:
        """Load the model in the background; returns at once, and an error comes with the first reading."""
        if not self.ready:
            threading.Thread(target=self._try_to_load, name="local-rag-evaluator", daemon=True).start()

    def _try_to_load(self) -> None:
        with suppress(Exception):
            self.load()

    def read(self, question: str, documents: Sequence[Document]) -> list[Reading]:
        """One reading per document, in their order.

        Raises as `load` does, EngineError where the model cannot compute, and Stopped between two batches.
        """
        known: dict[tuple[str, str, str], Reading] = question_memory.current().get((self, "readings"), dict)
        keys = [(question, header_of(document), document.page_content) for document in documents]
        new = [key for key in dict.fromkeys(keys) if key not in known]
        windows = {key: self.loaded.inputs.windows(*key) for key in new}
        outputs = iter(self.compute([window for key in new for window in windows[key]]))
        for key in new:
            known[key] = self._reading(key[2], [(window, next(outputs)) for window in windows[key]])
        return [known[key] for key in keys]

    def supports(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """For each (statement, text) the probability that the text supports all of it; errors as of `read`."""
        known: dict[tuple[str, str], float] = question_memory.current().get((self, "supports"), dict)
        new = [pair for pair in dict.fromkeys(pairs) if pair not in known]
        windows = {pair: self.loaded.inputs.windows(pair[0], "", pair[1]) for pair in new}
        outputs = iter(self.compute([window for pair in new for window in windows[pair]]))
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

    def compute(self, windows: Sequence[Window]) -> list[tuple[Any, Any, Any]]:
        """Per window the logits of span (tokens, 2), relevance (3,) and support (2,), in their order."""
        order = sorted(range(len(windows)), key=lambda number: len(windows[number].ids))
        outputs: list[tuple[Any, Any, Any] | None] = [None] * len(windows)
        for first in range(0, len(order), BATCH):
            cancel.check()
            numbers = order[first : first + BATCH]
            inputs = self.loaded.inputs.batch([windows[number] for number in numbers])
            model = self.loaded.model
            try:
                with self._computing:
                    computed = model.compute(inputs)
            except Exception as error:  # whatever a library raises, too little memory for one
                raise EngineError(f"the evaluator '{self.name}' cannot compute: {error}", hint=WITHOUT) from error
            if not all(_finite(logits) for logits in computed):
                raise EngineError(f"the evaluator '{self.name}' computes what is no number", hint=WITHOUT)
            for number, *rows in zip(numbers, *computed, strict=True):
                outputs[number] = (rows[0], rows[1], rows[2])
        return [output for output in outputs if output is not None]

    @property
    def loaded(self) -> Loaded:
        """The model, loaded by now; errors as of `load`, and Stopped while another thread loads it."""
        self._take_turn()
        try:
            return self._loaded
        finally:
            self._loading.release()

    def _take_turn(self) -> None:
        """Wait for the lock of loading; what is waited is no part of answering. Raises Stopped."""
        began = time.monotonic()
        while not self._loading.acquire(timeout=_POLL):
            now = time.monotonic()
            cancel.current().extend(now - began)
            began = now
            cancel.check()

    @cached_property
    def _loaded(self) -> Loaded:
        began = time.monotonic()
        loaded = load(self.name, self.files, self._cache, self._on_load)
        cancel.current().extend(time.monotonic() - began)  # loading is no part of answering
        return loaded


def _finite(logits: Any) -> bool:
    import numpy as np

    return bool(np.isfinite(logits).all())


def _softmax(logits: Any) -> Any:
    import numpy as np

    powers = np.exp(logits.astype(np.float64) - logits.max())
    return powers / powers.sum()
