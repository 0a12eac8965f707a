"""What computes a model of sentence-transformers: OpenVINO where it was converted, else the library itself."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Protocol
from weakref import WeakValueDictionary

from local_rag.core import process
from local_rag.text.display import shorten

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from local_rag.core.protocols import Vectors
    from local_rag.index.embed.conversion import Conversion, Precision

Batch = Sequence[str] | Sequence[tuple[str, str]]
"""Texts for an embedder, pairs of them for a cross-encoder."""

_INPUTS = {"input_ids": "ids", "attention_mask": "attention_mask", "token_type_ids": "type_ids"}
"""The inputs that a converted model may have, and what a tokenizer calls them."""

_LOADING = Lock()
"""OpenVINO sets the locale of the process to "C" while it loads a model, and back to what it was: two threads at once
would leave it there, and every file that is then opened without an encoding would be read as ASCII.
"""

_COMPILED: WeakValueDictionary[tuple[Any, ...], Any] = WeakValueDictionary()
"""The models that something in this process computes with: a second index or Rag shares them, and their memory."""

BLOBS = "compiled"
"""The folder beside a converted model in which OpenVINO keeps it as compiled for this processor: .1 s less to load.

OpenVINO notices one that is cut off or of another processor; it is no more protected than the program itself."""


class Encoder(Protocol):
    """Batches -> (n, d) float32 each, in their order, of any length. For one thread at a time."""

    def encode(self, batches: Iterable[Batch]) -> Generator[Vectors, None, None]: ...


def load(
    conversion: Conversion | None, tokenizer: Tokenizer, precision: Precision, fallback: Callable[[], Encoder]
) -> tuple[Encoder, Conversion | None]:
    """The converted model, else what `fallback` loads; and the conversion, with `why` OpenVINO does not load it."""
    if conversion is not None and not conversion.why:
        try:
            return OpenVinoEncoder(conversion, tokenizer, precision), conversion
        except RuntimeError as error:  # a library that is not there any more, a processor that it does not know
            conversion = replace(conversion, why=f"OpenVINO cannot load it here ({shorten(str(error), 100)})")
    return fallback(), conversion


class OpenVinoEncoder:
    """A converted model, usually on the processor."""

    def __init__(
        self,
        conversion: Conversion,
        tokenizer: Tokenizer,
        precision: Precision,
        *,
        keep: bool = True,
        device: str = "CPU",
    ) -> None:
        """Load it; `tokenizer` is for this conversion alone, `keep` and `device` as for `compiled`."""
        tokenizer.enable_truncation(conversion.longest)
        tokenizer.enable_padding(pad_id=conversion.pad_id, pad_token=conversion.pad_token)
        self._tokenizer = tokenizer
        self._model = compiled(conversion.model(precision), precision, keep, device)
        self._inputs = {port.any_name: _INPUTS[port.any_name] for port in self._model.inputs}
        self._requests = [self._model.create_infer_request() for _ in range(2)]

    def encode(self, batches: Iterable[Batch]) -> Generator[Vectors, None, None]:
        """The next batch is tokenized while one is computed."""
        running: Any = None
        try:
            for number, batch in enumerate(batches):
                request = self._requests[number % 2]
                request.start_async(self.tokens(batch))
                if running is not None:
                    yield _output(running)
                running = request
            if running is not None:
                yield _output(running)
        finally:  # after a stop both are free for the next caller
            for request in self._requests:
                request.wait()

    def tokens(self, batch: Batch) -> dict[str, Any]:
        """The inputs of the model by name: (n, tokens) each."""
        import numpy as np

        encodings = self._tokenizer.encode_batch(list(batch))
        return {
            name: np.array([getattr(encoding, field) for encoding in encodings], dtype=np.int64)
            for name, field in self._inputs.items()
        }


class OpenVinoModel:
    """A converted model of any number of outputs, on the processor. For one thread at a time."""

    def __init__(self, conversion: Conversion, precision: Precision = "f32", *, keep: bool = True) -> None:
        """Load it; `keep` as for `compiled`."""
        self._model = compiled(conversion.model(precision), precision, keep)
        self._request = self._model.create_infer_request()

    def compute(self, inputs: Mapping[str, Any]) -> tuple[Any, ...]:
        """The outputs of the model, in their order, as arrays of their own."""
        import numpy as np

        return tuple(np.array(values) for values in self._request.infer(dict(inputs)).to_tuple())


def _output(request: Any) -> Vectors:
    import numpy as np

    request.wait()
    return np.array(request.get_output_tensor(0).data, dtype=np.float32)


def import_openvino() -> Any:
    """The package openvino, which must not report to its maker while it is imported."""
    with process.hidden(process.TELEMETRY):
        import openvino
    return openvino


def compiled(model: Path, precision: Precision, keep: bool, device: str = "CPU") -> Any:
    """OpenVINO's CompiledModel, which all who compute with it share.

    `keep` stores what was compiled in float32 for the next time.

    An accelerator ("GPU") computes in the precision that it is made for; see `devices` for how near that is.

    The properties: https://docs.openvino.ai, "CPU Device", supported properties.
    """
    status = model.stat()
    key = (str(model), status.st_size, status.st_mtime_ns, precision, device)
    with _LOADING:
        shared = _COMPILED.get(key)
        if shared is None:
            shared = _COMPILED[key] = _compiled(model, precision, keep, device)
        return shared


def _compiled(model: Path, precision: Precision, keep: bool, device: str) -> Any:
    core = import_openvino().Core()
    hint = "bf16" if precision == "bf16" else "f32"  # what is not in eight bits is float32
    properties = {"PERFORMANCE_HINT": "LATENCY"} | ({"INFERENCE_PRECISION_HINT": hint} if device == "CPU" else {})
    if keep and precision == "f32" and os.access(model.parent, os.W_OK):
        with suppress(RuntimeError):  # a kept one that is damaged, or no room for it
            return core.compile_model(str(model), device, properties | {"CACHE_DIR": str(model.parent / BLOBS)})
    return core.compile_model(str(model), device, properties)


def tokenizer(file: Path, use: str) -> Tokenizer:
    """The tokenizer of a file, read once in a process for all who set its options alike, which `use` names.

    Reading one takes .05 s. It may be used by any thread. Raises what the library raises for a file that is none.
    """
    status = file.stat()
    return _read_tokenizer(str(file), (status.st_size, status.st_mtime_ns), use)


@lru_cache(maxsize=8)
def _read_tokenizer(file: str, version: tuple[int, int], use: str) -> Tokenizer:
    from tokenizers import Tokenizer

    return Tokenizer.from_file(file)


def has_bfloat16() -> bool:
    """Whether this processor computes in bfloat16."""
    return "BF16" in import_openvino().Core().get_property("CPU", "OPTIMIZATION_CAPABILITIES")


class TorchEncoder:
    """sentence-transformers, for embedders that cannot be converted and for accelerators of PyTorch."""

    def __init__(self, folder: Path, longest: int, device: str = "cpu") -> None:
        self._model = sentence_transformer(folder, longest, device)

    def encode(self, batches: Iterable[Batch]) -> Generator[Vectors, None, None]:
        """Batch by batch."""
        for texts in batches:
            yield self._model.encode(list(texts), batch_size=len(texts), show_progress_bar=False)


def sentence_transformer(folder: Path, longest: int, device: str = "cpu") -> Any:
    """A SentenceTransformer, loaded quietly and from disk alone; `longest` is in tokens, special ones included."""
    from sentence_transformers import SentenceTransformer

    with _quiet():
        model = SentenceTransformer(str(folder), device=device, local_files_only=True)
    model.default_prompt_name = None
    model.max_seq_length = longest
    return model


@contextmanager
def _quiet() -> Iterator[None]:
    """Loading draws a bar and logs advice; nobody who asks a question can act on either."""
    from transformers.utils import logging as untyped

    logging: Any = untyped
    verbosity, bar = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if bar:
            logging.enable_progress_bar()
