"""Text -> unit vectors with sentence-transformers, from weights that lie on this machine."""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from local_rag import cancel
from local_rag.errors import ConfigError, ModelChanged, ModelMissing
from local_rag.index import weights
from local_rag.models import EmbedderSpec

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer
    from tokenizers import Tokenizer

    from local_rag.protocols import Vectors

_BATCH = 32
_QUERIES_KEPT = 64
_SLICE = 100_000
"""Code points that are tokenized at once: a text of 10 MB in one call takes 1.7 GB of memory."""

_BLANK = re.compile(r"\s")


class SentenceTransformerEmbedder:
    """An embedder of models.yaml. Making one reads nothing; weights load on the first text, once for all threads.

    `memory` is a JSON file that remembers the SHA-256 of weights for which models.yaml names none. `on_load` is called
    before the weights load, which takes some seconds.
    """

    def __init__(
        self, spec: EmbedderSpec, memory: Path | None = None, on_load: Callable[[], None] | None = None
    ) -> None:
        self.spec = spec
        self._on_load = on_load
        self._memory = memory
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
        return self.spec.window - len(self.token_offsets(self.spec.document_prefix))

    @cached_property
    def fingerprint(self) -> str:
        """16 hex digits of weights, dimension, window and prefixes. Raises ModelMissing if it needs the weights."""
        spec = self.spec
        digest = spec.sha256 or weights.remembered_sha256(weights.folder(spec) / weights.WEIGHTS, self._memory)
        parts = [digest, spec.dimension, spec.window, spec.query_prefix, spec.document_prefix]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]

    @property
    def loaded(self) -> bool:
        """Whether the next text is embedded at once, or only after some seconds of loading."""
        return "_model" in self.__dict__

    def forget(self) -> None:
        """Drop the questions that are kept."""
        with self._lock:
            self._queries.clear()

    def load(self) -> None:
        """Load the weights now. Raises ModelMissing, ModelChanged."""
        with self._lock:
            _ = self._model

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
        return np.stack([rows[text] for text in texts]) if texts else self._nothing()

    def token_offsets(self, text: str) -> list[tuple[int, int]]:
        """(start, end) in code points of every token, special tokens excluded; torch is not needed for it."""
        found: list[tuple[int, int]] = []
        start = 0
        while start < len(text):
            blank = _BLANK.search(text, start + _SLICE, start + 10 * _SLICE)
            end = blank.start() if blank else min(len(text), start + 10 * _SLICE)
            offsets = self._tokenizer.encode(text[start:end], add_special_tokens=False).offsets
            found += [(start + first, start + last) for first, last in offsets] if start else offsets
            start = end
        return found

    def verify(self) -> None:
        """Read the weights once. Raises ModelMissing, and ModelChanged if models.yaml names another SHA-256."""
        file = weights.folder(self.spec) / weights.WEIGHTS
        found = weights.sha256(file) if self.spec.sha256 else ""
        if found != self.spec.sha256:
            raise ModelChanged(
                f"the weights of '{self.name}' are not the ones that models.yaml names: "
                f"SHA-256 {self.spec.sha256[:12]}… expected, {found[:12]}… in {file}",
                hint=self.spec.install or f"if the new ones are right, set embedders.{self.name}.sha256: {found}",
            )

    def _embed(self, texts: Sequence[str]) -> Vectors:
        import numpy as np

        if not texts:
            return self._nothing()
        vectors = np.empty((len(texts), self.dimension), dtype=np.float32)
        order = sorted(range(len(texts)), key=lambda position: len(texts[position]))
        for first in range(0, len(order), _BATCH):
            cancel.check()
            batch = order[first : first + _BATCH]
            vectors[batch] = self._encode([texts[position] for position in batch])
        return vectors

    def _encode(self, texts: list[str]) -> Vectors:
        import numpy as np

        with self._lock:
            raw = self._model.encode(texts, batch_size=_BATCH, show_progress_bar=False, convert_to_numpy=True)
        vectors = np.asarray(raw, dtype=np.float32)
        if vectors.shape[1] != self.dimension:
            raise ConfigError(
                f"models.yaml says that '{self.name}' has {self.dimension} dimensions, but it gives {vectors.shape[1]}",
                hint=f"set embedders.{self.name}.dimension: {vectors.shape[1]}",
            )
        norms: Vectors = np.linalg.norm(vectors, axis=1, keepdims=True)
        return np.divide(vectors, np.maximum(norms, np.float32(1e-12)))

    def _nothing(self) -> Vectors:
        import numpy as np

        return np.empty((0, self.dimension), dtype=np.float32)

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        from tokenizers import Tokenizer

        file = weights.folder(self.spec) / "tokenizer.json"
        if not file.is_file():
            raise ModelMissing(
                f"the embedder '{self.name}' has no {file.name} in {file.parent}",
                hint=self.spec.install or "save the model again with a fast tokenizer",
            )
        tokenizer = Tokenizer.from_file(str(file))
        tokenizer.no_truncation()
        tokenizer.no_padding()
        return tokenizer

    @cached_property
    def _model(self) -> SentenceTransformer:
        folder = weights.folder(self.spec)
        if self._on_load is not None:
            self._on_load()
        self.verify()
        weights.offline()
        from sentence_transformers import SentenceTransformer

        with _quiet():
            model = SentenceTransformer(str(folder), device="cpu", local_files_only=True)
        model.default_prompt_name = None
        model.max_seq_length = self.spec.window + self._tokenizer.num_special_tokens_to_add(is_pair=False)
        return model


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
