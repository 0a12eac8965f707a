"""Text -> unit vectors with a model of sentence-transformers, from weights that lie on this machine."""

from __future__ import annotations

import hashlib
import json
import re
import threading
from array import array
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from local_rag.config.models import EmbedderSpec
from local_rag.core import cancel
from local_rag.core.errors import ConfigError, ModelMissing
from local_rag.index.embed import conversion, encoders, weights
from local_rag.index.embed.conversion import Conversion

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from local_rag.config.values import DeviceName
    from local_rag.core.protocols import Vectors
    from local_rag.index.embed.devices import Device

CONVERTER = "local_rag.index.embed.converter"
FOLDER = "embedders"
"""The folder of the cache that holds converted embedders."""

_BATCH = 16
"""Texts of about the same length that are computed at once: more has more padding and is no faster on a processor."""

_QUERIES_KEPT = 64
_SLICE = 100_000
"""Code points that are tokenized at once, twice as many where there is no blank to cut at.

A text of 10 MB in one call takes 1.7 GB of memory, and hears no stop for 20 seconds.
"""

_BLANK = re.compile(r"\s")


class SentenceTransformerEmbedder:
    """An embedder of models.yaml. Making one reads nothing; weights load on the first text, once for all threads.

    `cache` is the folder for what can be made again: the SHA-256 of weights, and the model as converted for a runtime
    that loads in a moment (see `conversion`); without it sentence-transformers computes. `on_load` is called before a
    load that takes some seconds. With `quick` it computes in the quickest precision that is near enough: for passages
    by the thousand, and on an accelerator if `device` allows (see `devices`). Questions are float32, on the processor.
    """

    def __init__(
        self,
        spec: EmbedderSpec,
        cache: Path | None = None,
        on_load: Callable[[], None] | None = None,
        quick: bool = False,
        device: DeviceName = "cpu",
    ) -> None:
        self.spec = spec
        self._on_load = on_load
        self._cache = cache
        self._quick, self._device = quick, device
        self._lock = threading.Lock()
        self._queries: OrderedDict[str, Vectors] = OrderedDict()

    @property
    def name(self) -> str:
        return self.spec.name

    @property
    def dimension(self) -> int:
        return self.spec.dimension

    @cached_property
    def window(self) -> int:
        """The longest text in tokens, after the special tokens and the prefix have had their place."""
        return self.spec.window - len(self.token_ends(self.spec.document_prefix))

    @cached_property
    def fingerprint(self) -> str:
        """16 hex digits of weights, dimension, window and prefixes. Raises ModelMissing if it needs the weights."""
        spec = self.spec
        digest = spec.sha256 or weights.remembered_sha256(weights.folder(spec) / weights.WEIGHTS, self._memory)
        parts = [digest, spec.dimension, spec.window, spec.query_prefix, spec.document_prefix]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]

    @property
    def ready(self) -> bool:
        """Whether the next text is embedded in a moment, or only after some seconds of loading or converting."""
        return "_encoder" in self.__dict__ or bool(self.conversion and not self.conversion.why)

    @property
    def loads_first(self) -> bool:
        """Whether the next load converts the model, which happens once."""
        return bool(self.conversion_folder) and self.conversion is None

    @cached_property
    def conversion(self) -> Conversion | None:
        """The converted model, or why there can be none; None before the first load. Raises ModelMissing."""
        folder = self.conversion_folder
        return conversion.find(folder) if folder else None

    @property
    def served_by(self) -> str:
        """What computes the vectors here, or what will, and why. Raises ModelMissing."""
        return self.conversion.describe if self.conversion else self.prospect[0]

    @property
    def prospect(self) -> tuple[str, str]:
        """What will compute where nothing was converted yet, and what to do about it, if anything."""
        return conversion.prospect(self._cache, conversion.needed(weights.folder(self.spec)))

    def forget(self) -> None:
        """Drop the questions that are kept."""
        with self._lock:
            self._queries.clear()

    def load(self) -> None:
        """Load the weights now, converting them first if nobody has. Raises ModelMissing, ModelChanged."""
        with self._lock:
            _ = self._encoder

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """(n, d) float32, unit rows. Raises ModelMissing, ModelChanged, and Stopped between two batches."""
        return self._embed([self.spec.document_prefix + text for text in texts])

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """(n, d) float32, unit rows. The last few are kept: one question is embedded by several nodes."""
        import numpy as np

        with self._lock:
            rows = {text: self._queries[text] for text in texts if text in self._queries}
        missing = [text for text in dict.fromkeys(texts) if text not in rows]
        if missing:
            rows |= zip(missing, self._embed([self.spec.query_prefix + text for text in missing]), strict=True)
        with self._lock:
            self._queries |= rows
            for text in rows:
                self._queries.move_to_end(text)
            while len(self._queries) > _QUERIES_KEPT:
                self._queries.popitem(last=False)
        return np.stack([rows[text] for text in texts]) if texts else self._embed([])

    def token_ends(self, text: str) -> Sequence[int]:
        """Where each token ends, in code points, special tokens excluded; the weights are not needed. Raises Stopped.

        An array: a list of a book's tokens takes twenty times the memory of the book.
        """
        ends = array("q")
        start = 0
        while start < len(text):
            cancel.check()
            blank = _BLANK.search(text, start + _SLICE, start + 2 * _SLICE)
            end = blank.start() if blank else min(len(text), start + 2 * _SLICE)
            tokens = self._tokenizer.encode(text[start:end], add_special_tokens=False)
            ends.extend(start + last for _, last in tokens.offsets)
            start = end
        return ends

    def verify(self) -> None:
        """Read the weights once. Raises ModelMissing, and ModelChanged if models.yaml names another SHA-256."""
        weights.verify(self.spec, weights.sha256)

    def _embed(self, texts: Sequence[str]) -> Vectors:
        import numpy as np

        vectors = np.empty((len(texts), self.dimension), dtype=np.float32)
        if not texts:
            return vectors
        order = sorted(range(len(texts)), key=lambda position: len(texts[position]))
        batches = [order[first : first + _BATCH] for first in range(0, len(order), _BATCH)]

        def texts_of_batches() -> Iterator[list[str]]:
            for positions in batches:
                cancel.check()
                yield [texts[position] for position in positions]

        with self._lock, closing(self._encoder.encode(texts_of_batches())) as encoded:
            for positions, rows in zip(batches, encoded, strict=True):
                vectors[positions] = self._unit(rows)
        return vectors

    def _unit(self, rows: Vectors) -> Vectors:
        import numpy as np

        if rows.shape[1] != self.dimension:
            raise ConfigError(
                f"models.yaml says that '{self.name}' has {self.dimension} dimensions, but it gives {rows.shape[1]}",
                hint=f"set embedders.{self.name}.dimension: {rows.shape[1]}",
            )
        norms: Vectors = np.linalg.norm(rows, axis=1, keepdims=True)
        return np.divide(rows, np.maximum(norms, np.float32(1e-12)))

    @property
    def _memory(self) -> Path | None:
        return self._cache / weights.SEEN if self._cache else None

    @property
    def _longest(self) -> int:
        return self.spec.window + self._tokenizer.num_special_tokens_to_add(is_pair=False)

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        tokenizer = self._tokenizer_for("whole texts")
        tokenizer.no_truncation()
        tokenizer.no_padding()
        return tokenizer

    def _tokenizer_for(self, use: str = "") -> Tokenizer:
        """The tokenizer for this use; without one, for the encoders of the conversion."""
        file = weights.folder(self.spec) / "tokenizer.json"
        if not file.is_file():
            raise ModelMissing(
                f"the embedder '{self.name}' has no {file.name} in {file.parent}",
                hint=self.spec.install or "save the model again with a fast tokenizer",
            )
        return encoders.tokenizer(file, use or str(self.conversion_folder))

    @property
    def conversion_folder(self) -> Path | None:
        """Named by the fingerprint and a digest of the small files: pooling and tokenizer are converted, too."""
        key = f"{self.fingerprint}-{weights.layout(weights.folder(self.spec))}"
        return self._cache / FOLDER / key if self._cache else None

    @cached_property
    def _encoder(self) -> encoders.Encoder:
        if not self.ready and self._on_load is not None:
            self._on_load()
        weights.verify(self.spec, lambda file: weights.remembered_sha256(file, self._memory))
        model, folder = weights.folder(self.spec), self.conversion_folder
        if folder and self.conversion is None:
            self.conversion = conversion.convert(folder, CONVERTER, model, self._longest)
        encoder, self.conversion = encoders.load(
            self.conversion,
            self._tokenizer_for(),
            self.conversion.for_passages if self._quick and self.conversion else "f32",
            lambda: encoders.TorchEncoder(model, self._longest),
        )
        return self._on_accelerator(encoder) or encoder

    def _on_accelerator(self, processor: encoders.Encoder) -> encoders.Encoder | None:
        """What computes in place of the processor, if anything."""
        found = self._accelerators() if self._quick else []
        if not found:
            return None
        from local_rag.index.embed import devices

        passages = devices.PASSAGES.read_text(encoding="utf-8").split("\n\n")
        return devices.choose(self._device, found, processor, self._exact, passages, self._trials).encoder

    @property
    def device_report(self) -> str:
        """Which device embeds passages, and why not another, as far as it is known.

        Raises ConfigError if one was named that is not there.
        """
        if self._device == "cpu":
            return "cpu, as device: cpu says"
        self.require_device()
        found = self._accelerators()
        if not found:
            return "cpu: OpenVINO and PyTorch know no other device here"
        from local_rag.index.embed import devices

        return devices.report(self._device, found, self._trials).describe

    def require_device(self) -> None:
        """Raises ConfigError if a device was named that is not there."""
        if self._device not in ("auto", "cpu"):
            from local_rag.index.embed import devices

            found = self._accelerators()
            if self._device not in {device.name for device in found}:
                raise devices.unusable(self._device, "", found)

    def _accelerators(self) -> list[Device]:
        if self._device == "cpu":
            return []
        from local_rag.index.embed import devices

        model = weights.folder(self.spec)
        return devices.listed(self._openvino_on, lambda name: encoders.TorchEncoder(model, self._longest, name))

    def _openvino_on(self, device: str) -> encoders.Encoder:
        """The converted model on a device of OpenVINO."""
        if self.conversion is None or self.conversion.why:
            raise RuntimeError("the model was not converted for OpenVINO")
        return encoders.OpenVinoEncoder(self.conversion, self._tokenizer_for(), "f32", device=device)

    def _exact(self) -> encoders.Encoder:
        """In float32 on the processor."""
        model, tokenizer = weights.folder(self.spec), self._tokenizer_for()
        return encoders.load(self.conversion, tokenizer, "f32", lambda: encoders.TorchEncoder(model, self._longest))[0]

    @property
    def _trials(self) -> Path | None:
        """Where it is remembered what came of trying the accelerators."""
        folder = self.conversion_folder
        return folder.with_name(f"{folder.name}.devices.json") if folder else None
