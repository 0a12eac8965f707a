"""An embedder of text: unit vectors with a model of sentence-transformers, from weights that lie on this machine."""

from __future__ import annotations

import hashlib
import json
import re
import threading
from abc import ABC, abstractmethod
from array import array
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from local_rag.config.models import EmbedderSpec, OllamaEmbedderSpec
from local_rag.core import cancel
from local_rag.core.errors import ConfigError, ModelChanged, ModelMissing
from local_rag.index.embed import conversion, encoders, weights
from local_rag.index.embed.conversion import Conversion
from local_rag.text.display import shorten

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from local_rag.config.values import DeviceName
    from local_rag.core.protocols import Vectors

CONVERTER = "local_rag.index.embed.converter"
FOLDER = "embedders"
"""The folder of the cache that holds converted embedders."""

_BATCH = 16
"""Texts of about the same length that are computed at once: more has more padding and is no faster on a processor."""

SLICE = 100_000
"""Code points that are tokenized at once, twice as many where there is no blank to cut at.

A text of 10 MB in one call takes 1.7 GB of memory, and hears no stop for 20 seconds.
"""

_BLANK = re.compile(r"\s")


class PrefixingEmbedder(ABC):
    """Put the prefixes of an entry of models.yaml before passages and questions, and embed them."""

    def __init__(self, spec: EmbedderSpec | OllamaEmbedderSpec) -> None:
        self._prefixes = spec.document_prefix, spec.query_prefix
        self.reads = spec.reads

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of passages, (n, d) float32, unit rows. Raises as `load` does, and Stopped between two
        batches.
        """
        return self._embed([self._prefixes[0] + text for text in texts])

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of queries, (n, d) float32, unit rows, and keep them for the question: several nodes embed
        the same text.
        """
        import numpy as np

        known: dict[str, Vectors] = cancel.current().memory.setdefault((self, "vectors"), {})
        missing = [text for text in dict.fromkeys(texts) if text not in known]
        known |= zip(missing, self._embed([self._prefixes[1] + text for text in missing]), strict=True)
        return np.array([known[text] for text in texts], dtype=np.float32) if texts else self._embed([])

    @abstractmethod
    def _embed(self, texts: Sequence[str]) -> Vectors: ...


class SentenceTransformerEmbedder(PrefixingEmbedder):
    """An embedder of models.yaml. Making one reads nothing; weights load on the first text, once for all threads.

    `cache` is the folder for what can be made again: the SHA-256 of weights, and the model as converted for a runtime
    that loads in a moment (see `conversion`); without it sentence-transformers computes. `on_load` is called before a
    load that takes some seconds. With `quick` it computes passages by the thousand: in the quickest precision that is
    near enough, or on the accelerator that `device` allows. Questions are float32, on the processor.
    """

    def __init__(
        self,
        spec: EmbedderSpec,
        cache: Path | None = None,
        on_load: Callable[[], None] | None = None,
        quick: bool = False,
        device: DeviceName = "cpu",
    ) -> None:
        super().__init__(spec)
        self.spec, self.name, self.dimension = spec, spec.name, spec.dimension
        self._cache, self._on_load, self._quick, self._device = cache, on_load, quick, device
        self._memory = cache / weights.SEEN if cache else None
        self._lock = threading.Lock()

    @cached_property
    def window(self) -> int:
        """Return the longest text in tokens, after the special tokens and the prefix have had their place."""
        return self.spec.window - len(self.token_ends(self.spec.document_prefix))

    @cached_property
    def fingerprint(self) -> str:
        """Return 16 hex digits of weights, dimension, window and prefixes. Raises ModelMissing if it needs the
        weights.
        """
        spec = self.spec
        digest = spec.sha256 or weights.remembered_sha256(weights.folder(spec) / weights.WEIGHTS, self._memory)
        parts = [digest, spec.dimension, spec.window, spec.query_prefix, spec.document_prefix]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]

    @property
    def conversion_folder(self) -> Path | None:
        """Return the folder of the converted model, None without a cache.

        It is named by the fingerprint and a digest of the small files, for pooling and tokenizer are converted, too.
        """
        key = f"{self.fingerprint}-{weights.layout(weights.folder(self.spec))}"
        return self._cache / FOLDER / key if self._cache else None

    @cached_property
    def conversion(self) -> Conversion | None:
        """Return the converted model, or why there can be none; None before the first load. Raises ModelMissing."""
        folder = self.conversion_folder
        return conversion.find(folder) if folder else None

    @property
    def ready(self) -> bool:
        """Return whether the next text is embedded in a moment, or only after some seconds of loading or converting."""
        return "_encoder" in self.__dict__ or bool(self.conversion and not self.conversion.why)

    @property
    def loads_first(self) -> bool:
        """Return whether the next load converts the model, which happens once."""
        return bool(self._cache) and self.conversion is None

    @property
    def served_by(self) -> tuple[str, str]:
        """Return what computes the vectors here, or will compute them, and why; and what to do about it, if anything.

        Raises ModelMissing.
        """
        return conversion.served_by(self.conversion)

    def load(self) -> None:
        """Load the weights now, converting them first if nobody has. Raises ModelMissing, ModelChanged, ConfigError."""
        with self._lock:
            _ = self._encoder

    def verify(self) -> str:
        """Read the weights once, and say that they are right. Raises ModelMissing, and ModelChanged for another
        SHA-256.
        """
        weights.verify(self.spec, weights.sha256)
        return "weights as published"

    def token_ends(self, text: str) -> Sequence[int]:
        """Return the end of each token, in code points, special tokens excluded; the weights are not needed. Raises
        Stopped.

        An array: a list of a book's tokens takes twenty times the memory of the book.
        """
        ends = array("q")
        start = 0
        while start < len(text):
            cancel.check()
            blank = _BLANK.search(text, start + SLICE, start + 2 * SLICE)
            end = blank.start() if blank else start + 2 * SLICE
            tokens = self._tokenizer.encode(text[start:end], add_special_tokens=False)
            ends.extend(start + last for _, last in tokens.offsets)
            start = end
        return ends

    def _embed(self, texts: Sequence[str]) -> Vectors:
        import numpy as np

        if not texts:
            return np.empty((0, self.dimension), dtype=np.float32)
        order = sorted(range(len(texts)), key=lambda position: len(texts[position]))

        def batches() -> Iterator[list[str]]:
            for first in range(0, len(order), _BATCH):
                cancel.check()
                yield [texts[position] for position in order[first : first + _BATCH]]

        with self._lock:
            rows = self._encoder.encode(batches())
        if rows.shape[1] != self.dimension:
            raise ConfigError(
                f"models.yaml says that '{self.name}' has {self.dimension} dimensions, but it gives {rows.shape[1]}",
                hint=f"set embedders.{self.name}.dimension: {rows.shape[1]}",
            )
        return unit_rows(rows)[np.argsort(order)]

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        file = weights.folder(self.spec) / encoders.TOKENIZER
        if not file.is_file():
            raise ModelMissing(
                f"the embedder '{self.name}' has no {file.name} in {file.parent}",
                hint=self.spec.install or "save the model again with a fast tokenizer",
            )
        tokenizer = encoders.tokenizer(file, "whole texts")
        tokenizer.no_truncation()
        tokenizer.no_padding()
        return tokenizer

    @cached_property
    def _encoder(self) -> encoders.OpenVinoEncoder | encoders.TorchEncoder:
        if not self.ready and self._on_load is not None:
            self._on_load()
        weights.verify(self.spec, lambda file: weights.remembered_sha256(file, self._memory))
        model, folder, window = weights.folder(self.spec), self.conversion_folder, self.spec.window
        device = encoders.device(self._device) if self._quick else "cpu"
        if device == "cpu" and folder and self.conversion is None:
            self.conversion = conversion.convert(folder, CONVERTER, model, window)
        known = self.conversion
        if device != "cpu" or known is None or known.why:
            return encoders.TorchEncoder(model, window, device)
        try:
            return encoders.OpenVinoEncoder(known, known.passages if self._quick else "f32")
        except (RuntimeError, ImportError) as error:
            raise ModelChanged(
                f"OpenVINO cannot load the converted embedder '{self.name}': {shorten(str(error), 100)}",
                hint=f"delete {known.folder}, and the next question converts it again",
            ) from error


def unit_rows(rows: Vectors) -> Vectors:
    """Return the rows, each scaled to length 1; a row of zeros stays."""
    import numpy as np

    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), np.float32(1e-12)))
