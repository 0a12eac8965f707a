"""What computes vectors: OpenVINO on the converted model, or sentence-transformers itself."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from local_rag.config.models import EmbedderSpec
from local_rag.index.embed import weights

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from local_rag.core.protocols import Vectors
    from local_rag.index.embed.conversion import Conversion

Precision = Literal["f32", "bf16"]

BLOBS = "compiled"
"""The folder beside a converted model in which OpenVINO keeps it as compiled for this processor: .1 s less to load.

OpenVINO notices one that is cut off or of another processor; it is no more protected than the program itself."""


class Encoder(Protocol):
    """Batches of texts -> (n, d) float32 each, in their order, of any length."""

    def encode(self, batches: Iterable[Sequence[str]]) -> Generator[Vectors, None, None]: ...


class OpenVinoEncoder:
    """A model that `conversion` converted, on the processor. For one thread at a time."""

    def __init__(
        self, conversion: Conversion, tokenizer: Tokenizer, precision: Precision, *, keep: bool = True
    ) -> None:
        """Load it; `tokenizer` is this encoder's own, `keep` as for `compiled`."""
        tokenizer.enable_truncation(conversion.longest)
        tokenizer.enable_padding(pad_id=conversion.pad_id, pad_token=conversion.pad_token)
        self._tokenizer = tokenizer
        model = compiled(conversion.model, precision if conversion.allows(precision) else "f32", keep)
        self._requests = [model.create_infer_request() for _ in range(2)]

    def encode(self, batches: Iterable[Sequence[str]]) -> Generator[Vectors, None, None]:
        """The next batch is tokenized while one is computed."""
        running: Any = None
        try:
            for number, texts in enumerate(batches):
                request = self._requests[number % 2]
                request.start_async(self._inputs(texts))
                if running is not None:
                    yield _rows(running)
                running = request
            if running is not None:
                yield _rows(running)
        finally:  # after a stop both are free for the next caller
            for request in self._requests:
                request.wait()

    def _inputs(self, texts: Sequence[str]) -> dict[str, Any]:
        import numpy as np

        found = self._tokenizer.encode_batch(list(texts))
        return {
            "input_ids": np.array([one.ids for one in found], dtype=np.int64),
            "attention_mask": np.array([one.attention_mask for one in found], dtype=np.int64),
        }


def _rows(request: Any) -> Vectors:
    import numpy as np

    request.wait()
    return np.array(request.get_output_tensor(0).data, dtype=np.float32)


class TorchEncoder:
    """sentence-transformers on the processor, for models that cannot be converted. For one thread at a time."""

    def __init__(self, spec: EmbedderSpec, longest: int) -> None:
        self._model = sentence_transformer(weights.folder(spec), longest)

    def encode(self, batches: Iterable[Sequence[str]]) -> Generator[Vectors, None, None]:
        """Batch by batch."""
        for texts in batches:
            yield self._model.encode(list(texts), batch_size=len(texts), show_progress_bar=False)


def sentence_transformer(folder: Path, longest: int) -> Any:
    """A SentenceTransformer, loaded quietly and from disk alone; `longest` is in tokens, special ones included."""
    weights.offline()
    from sentence_transformers import SentenceTransformer

    with _quiet():
        model = SentenceTransformer(str(folder), device="cpu", local_files_only=True)
    model.default_prompt_name = None
    model.max_seq_length = longest
    return model


def compiled(model: Path, precision: Precision, keep: bool) -> Any:
    """OpenVINO's CompiledModel; `keep` stores what was compiled in float32 for the next time.

    The properties: https://docs.openvino.ai, "CPU Device", supported properties.
    """
    core = openvino().Core()
    wishes = {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": precision}
    blobs = model.parent / BLOBS
    if keep and precision == "f32" and os.access(model.parent, os.W_OK):
        with suppress(RuntimeError):  # a kept one that is damaged, or no room for it
            return core.compile_model(str(model), "CPU", wishes | {"CACHE_DIR": str(blobs)})
    return core.compile_model(str(model), "CPU", wishes)


def has_bfloat16() -> bool:
    """Whether this processor computes in bfloat16."""
    return "BF16" in openvino().Core().get_property("CPU", "OPTIMIZATION_CAPABILITIES")


def openvino() -> Any:
    """The package openvino without its telemetry, which `import openvino` brings along with the converting tools.

    `openvino_telemetry` calls its maker; a name that is None in sys.modules cannot be imported.
    """
    hidden = ["openvino_telemetry", "openvino.tools.ovc"]
    with hiding(hidden):
        import openvino as library

        return library


@contextmanager
def hiding(names: Sequence[str]) -> Iterator[None]:
    """Let imports of these modules fail, as where they are not installed."""
    modules: dict[str, Any] = sys.modules
    new = [name for name in names if name not in modules]
    modules.update(dict.fromkeys(new))
    try:
        yield
    finally:
        for name in new:
            modules.pop(name, None)


@contextmanager
def _quiet() -> Iterator[None]:
    """Loading draws a bar and logs advice; nobody who asks a question can act on either."""
    from transformers.utils import logging as untyped

    logging: Any = untyped

    verbosity = logging.get_verbosity()
    bar = logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if bar:
            logging.enable_progress_bar()
