"""Read passages for a question, and check whether they support a statement, with one small model: TrainedEvaluator."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import astuple, dataclass, replace
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from local_rag.config.models import EvaluatorSpec, Models
from local_rag.core import cancel
from local_rag.core.errors import EngineError, ModelChanged, ModelMissing, mistake_of, reason_of
from local_rag.core.private_files import make_folder
from local_rag.core.readings import NOTHING, Calibration, Reading
from local_rag.engines.evaluator.inputs import Inputs, Window, best_spans, without_overlap
from local_rag.index.embed import encoders, weights
from local_rag.text.markup import View, plain, view_of
from local_rag.text.names import header_of

if TYPE_CHECKING:
    from langchain_core.documents import Document

MODEL, TOKENIZER, CONFIG, CALIBRATION = "evaluator.onnx", "tokenizer.json", "config.json", "calibration.json"
FOLDER = "evaluators"
"""The folder of the cache for evaluators that OpenVINO compiled for this processor."""
READS = 2
"""The version of the model's input, increased when another part of a text is read: 2 since markup is left out."""
BATCH = 4
"""The windows that are computed at once; more have more padding and are no faster on a processor."""
DOCTOR = "local-rag doctor says what is amiss"
_POLL = 0.1
"""Seconds between two checks for a stop, while another thread loads the model."""

Compute = Callable[[Mapping[str, Any]], Sequence[Any]]
"""A function from inputs by name to the logits of span (n, tokens, 2), relevance (n, 3) and support (n, 2); one thread
at a time may call it.
"""


class Config(BaseModel):
    """Hold config.json: `sha256` is that of the model, `window` in tokens, special ones included, `language` the code
    (ISO 639-1) of the language that the model was trained to read.
    """

    format: Literal[2]
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    window: int = Field(ge=64)
    language: str = "en"
    heads: tuple[Literal["span"], Literal["relevance"], Literal["support"]]


@dataclass(frozen=True)
class Files:
    """Hold the folder of an evaluator and the contents of its files."""

    folder: Path
    config: Config
    calibration: Calibration
    fingerprint: str
    """16 hex digits of the model, its tokenizer and its calibration, on which the scores depend."""


def find(name: str, models: Models, memory: Path | None) -> Files:
    """Find the evaluator of this name and check that every file is there with the right SHA-256; load nothing.

    `memory` remembers the SHA-256 of files that did not change. Raises ModelMissing, ModelChanged, ConfigError.
    """
    spec = models.evaluator(name)
    folder = weights.named_folder(spec)
    if folder is None or not (folder / MODEL).is_file():
        where = f"no {MODEL} in {folder or spec.package}"
        raise ModelMissing(
            f"the weights of the evaluator '{name}' are not on this machine: {where}", hint=_bring(spec, folder)
        )
    try:
        files = read(folder)
        actual = weights.remembered_sha256(folder / MODEL, memory)
    except (OSError, ValueError) as error:
        raise ModelChanged(
            f"the evaluator '{name}' cannot be read: {_reason(error)} (in {folder})", hint=_bring(spec, folder)
        ) from error
    if actual != files.config.sha256:
        raise ModelChanged(
            f"the weights of the evaluator '{name}' are damaged or others: SHA-256 {files.config.sha256[:12]}… "
            f"expected, {actual[:12]}… in {folder / MODEL}",
            hint=_bring(spec, folder),
        )
    return files


def read(folder: Path) -> Files:
    """Read the files beside the model in a folder. Raises OSError, and ValueError for other contents."""
    config = Config.model_validate_json((folder / CONFIG).read_bytes())
    calibration = TypeAdapter(Calibration).validate_json((folder / CALIBRATION).read_bytes())
    parts = [config.sha256, config.window, *astuple(replace(calibration, fitted_on=""))]
    whole = hashlib.sha256((folder / TOKENIZER).read_bytes()).hexdigest() + json.dumps([*parts, READS])
    return Files(folder, config, calibration, hashlib.sha256(whole.encode()).hexdigest()[:16])


def _bring(spec: EvaluatorSpec, folder: Path | None) -> str:
    """Return the command, or the advice, that restores the files."""
    if spec.package != "local_rag" or folder is None:
        return f"put the folder there again, or set evaluators.{spec.name}.path in models.yaml"
    return "pip install --force-reinstall --no-deps local-rag"


def _reason(error: OSError | ValueError) -> str:
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        return f"{'.'.join(map(str, first['loc'])) or f'{error.title.lower()}.json'}: {mistake_of(first)}"
    if isinstance(error, OSError) and error.filename:
        return f"{Path(error.filename).name}: {reason_of(error)}"
    return reason_of(error)


def runtime() -> str:
    """Return the installed library that computes the model, with its version; empty if there is none."""
    for package, name in (("openvino", "OpenVINO"), ("onnxruntime", "ONNX Runtime")):
        with suppress(PackageNotFoundError):
            return f"{name} {version(package)}"
    return ""


class TrainedEvaluator:
    """Run an evaluator of models.yaml. The constructor reads nothing; the model loads with the first text, once for all
    threads.

    `cache` is the folder for files that can be made again.
    """

    def __init__(self, name: str, files: Files, cache: Path) -> None:
        self.name, self.files = name, files
        self.fingerprint, self.calibration, self.language = files.fingerprint, files.calibration, files.config.language
        self._cache = cache
        self._loading, self._computing = threading.Lock(), threading.Lock()

    def prepare(self) -> None:
        """Load the model in the background and return at once; an error is raised by the first reading."""
        if "_loaded" not in self.__dict__:
            threading.Thread(target=self._try_to_load, name="local-rag-evaluator", daemon=True).start()

    def _try_to_load(self) -> None:
        with suppress(Exception):
            _ = self.loaded

    def read(self, question: str, documents: Sequence[Document]) -> list[Reading]:
        """Return one reading per document, in their order, of its text without markup.

        Raises ModelChanged if the model cannot be loaded, EngineError if it cannot compute, Stopped between two
        batches.
        """
        known: dict[tuple[str, str, str], Reading] = cancel.current().memory.setdefault((self, "readings"), {})
        views = [view_of(document.page_content) for document in documents]
        keys = [(question, header_of(document), view.text) for document, view in zip(documents, views, strict=True)]
        new = [key for key in dict.fromkeys(keys) if key not in known]
        for key, read in zip(new, self._outputs(new), strict=True):
            known[key] = self._reading(key[2], read)
        return [_placed(known[key], view) for key, view in zip(keys, views, strict=True)]

    def supports(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """Return for each (statement, text) the probability that the text supports all of it; raises the errors of
        `read`.
        """
        known: dict[tuple[str, str], float] = cancel.current().memory.setdefault((self, "supports"), {})
        new = [pair for pair in dict.fromkeys(pairs) if pair not in known]
        outputs = self._outputs([(statement, "", plain(text)) for statement, text in new])
        for pair, read in zip(new, outputs, strict=True):
            known[pair] = max((float(_softmax(support)[1]) for _, (_, _, support) in read), default=0.0)
        return [known[pair] for pair in pairs]

    def knows(self, word: str) -> bool:
        """Return whether the vocabulary holds a word as one token."""
        return self.loaded[0].knows(word)

    def close(self) -> None:
        """Free the model; a later reading loads it again."""
        with self._loading:
            self.__dict__.pop("_loaded", None)

    def _reading(self, text: str, read: Sequence[tuple[Window, Any]]) -> Reading:
        """Combine the windows of a passage: an answer counts as present, and the subject as right, if one window has
        it.
        """
        if not read:
            return NOTHING
        spans = without_overlap(span for window, (logits, _, _) in read for span in best_spans(window, logits, text))
        classes = [_softmax(relevance) for _, (_, relevance, _) in read]
        present, other = max(float(chances[2]) for chances in classes), min(float(chances[0]) for chances in classes)
        answerable = self.calibration.answerable(spans[0].logit if spans else -50.0, present)
        return Reading(other, max(0.0, 1.0 - other - present), present, spans, answerable)

    def _outputs(self, texts: Sequence[tuple[str, str, str]]) -> list[list[tuple[Window, Any]]]:
        """Return for each (question, header, text) its windows, with the logits of the three heads."""
        if not texts:
            return []
        inputs, _ = self.loaded
        windows = [inputs.windows(*text) for text in texts]
        outputs = iter(self.compute([window for of_text in windows for window in of_text]))
        return [[(window, next(outputs)) for window in of_text] for of_text in windows]

    def compute(self, windows: Sequence[Window]) -> list[Any]:
        """Return per window the logits of span (tokens, 2), relevance (3,) and support (2,), in the windows' order."""
        import numpy as np

        inputs, compute = self.loaded
        order = sorted(range(len(windows)), key=lambda number: len(windows[number].ids))
        outputs: dict[int, Any] = {}
        for first in range(0, len(order), BATCH):
            cancel.check()
            numbers = order[first : first + BATCH]
            try:
                with self._computing:
                    computed = [np.array(part) for part in compute(inputs.batch([windows[n] for n in numbers]))]
            except Exception as error:  # whatever a library raises, too little memory for one
                raise EngineError(f"the evaluator '{self.name}' cannot compute: {error}", hint=DOCTOR) from error
            if not all(np.isfinite(part).all() for part in computed):
                raise EngineError(f"the evaluator '{self.name}' computes what is no number", hint=DOCTOR)
            outputs |= zip(numbers, zip(*computed, strict=True), strict=True)
        return [outputs[number] for number in range(len(windows))]

    @property
    def loaded(self) -> tuple[Inputs, Compute]:
        """The loaded model; waiting for it does not count as time of the answer.

        Raises ModelChanged, and Stopped while another thread loads it.
        """
        while not self._loading.acquire(timeout=_POLL):
            cancel.current().extend(_POLL)
            cancel.check()
        began = time.monotonic()
        try:
            return self._loaded
        finally:
            self._loading.release()
            cancel.current().extend(time.monotonic() - began)

    @cached_property
    def _loaded(self) -> tuple[Inputs, Compute]:
        folder = self.files.folder
        try:
            tokenizer = encoders.tokenizer(folder / TOKENIZER, "evaluator")
            kept = self._cache / FOLDER / self.files.config.sha256[:16]
            return Inputs(tokenizer, self.files.config.window), open_model(folder / MODEL, kept)
        except Exception as error:  # whatever a file or a library is the cause of
            why = f"{type(error).__name__}: {error}"
            raise ModelChanged(f"the evaluator '{self.name}' cannot be loaded: {why}", hint=DOCTOR) from error


def open_model(model: Path, kept: Path) -> Compute:
    """Load the model with the installed library; `kept` is the folder for files that OpenVINO compiles."""
    if not runtime().startswith("OpenVINO"):  # it has no wheel for Windows on ARM
        import onnxruntime

        onnxruntime.disable_telemetry_events()
        session = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
        return lambda inputs: session.run(None, dict(inputs))
    with suppress(OSError):  # without the folder it is compiled each time
        make_folder(kept)
    request = encoders.compiled(model, "f32", kept).create_infer_request()
    return lambda inputs: request.infer(dict(inputs)).to_tuple()


def _softmax(logits: Any) -> Any:
    import numpy as np

    powers = np.exp(logits.astype(np.float64) - logits.max())
    return powers / powers.sum()


def _placed(reading: Reading, view: View) -> Reading:
    """Move the spans of a reading from the plain view of a text to their positions in the text."""
    places = ((span, *view.place(span.start, span.end)) for span in reading.spans)
    return replace(reading, spans=tuple(replace(span, start=start, end=end) for span, start, end in places))
