"""Embed texts as unit vectors with an embedding model of an Ollama server, over the guarded connection."""

from __future__ import annotations

import hashlib
import json
import re
import threading
from array import array
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from local_rag.config.models import OLLAMA, OllamaEmbedderSpec
from local_rag.config.values import Ollama
from local_rag.core import cancel
from local_rag.core.address import probe
from local_rag.core.cancel import Connection
from local_rag.core.errors import ConfigError, EngineError, ModelMissing, ServerDown
from local_rag.engines.ollama.server import (
    ModelInfo,
    OllamaApi,
    TextTooLong,
    check_name,
    check_remote,
    same_model,
)
from local_rag.engines.ollama.transport import over
from local_rag.index.embed.embedder import PrefixingEmbedder, unit_rows

if TYPE_CHECKING:
    from local_rag.core.protocols import Vectors

WINDOW = 2_048
"""The most tokens of a text. A server reads no more of bge-m3 whatever its options say (Ollama issue 14259), and a
larger window costs memory.
"""

_SPECIAL = 2
"""The tokens that a model adds around a text."""

_BATCH = 16
"""The texts in a call: a stop is checked between two calls, and ends the connection within one."""

_POLL = 0.1

_TOKEN = re.compile(r"\d|[A-Za-z\u00c0-\u024f]{1,4}|[^\W\d_]{1,2}|\S")
"""Roughly a token, rather too short, because a server does not return token positions: vocabularies of many languages
cut words into parts of four letters and more.
"""


class OllamaEmbedder(PrefixingEmbedder):
    """Embed with a model of Ollama. The constructor asks nothing; the facts about the model are asked for once.

    The vectors depend on the digest of the model: after a pull of another version under its name it is another
    embedder. Each method raises ServerDown, ModelMissing, NotLocal or EngineError.
    """

    def __init__(self, server: OllamaApi, spec: OllamaEmbedderSpec, settings: Ollama) -> None:
        super().__init__(spec)
        self.server, self.spec, self.name = server, spec, OLLAMA + spec.name
        self._settings, self._loaded = settings, False

    @cached_property
    def _known(self) -> tuple[ModelInfo, str]:
        """The server's information about the model, and its digest."""
        model, allowed = self.spec.name, self._settings.allow_cloud
        check_name(model, allowed)
        try:
            probe(self.server.address)
            info = self.server.show(model)
            digests = [each.digest for each in self.server.installed() if same_model(each.name, model)]
        except (ServerDown, ModelMissing) as error:
            raise type(error)(f"{error}, and the embedder {self.name} needs one", hint=error.hint) from error
        check_remote(model, info.remote_host, allowed)
        return info, "".join(digests[:1])

    @cached_property
    def dimension(self) -> int:
        """The dimension in models.yaml, else the length of a vector."""
        return self.spec.dimension or len(self._asked(["a"])[0])

    @cached_property
    def _num_ctx(self) -> int:
        info, _ = self._known
        return min(self.spec.window or WINDOW, info.window or WINDOW, WINDOW)

    @cached_property
    def window(self) -> int:
        """The most tokens of a text, without the special tokens and the prefix."""
        return self._num_ctx - _SPECIAL - len(self.token_ends(self.spec.document_prefix))

    @cached_property
    def fingerprint(self) -> str:
        """16 hex digits of the model's digest, dimension and prefixes."""
        _, digest = self._known
        parts = [digest, self.dimension, self.spec.query_prefix, self.spec.document_prefix]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]

    @property
    def ready(self) -> bool:
        """Whether the model has embedded a text already."""
        return self._loaded

    @property
    def served_by(self) -> tuple[str, str]:
        return f"Ollama {self.server.version()} at {self.server.address}", ""

    def load(self) -> None:
        """Make the server load the model."""
        self._asked(["a"])

    def verify(self) -> str:
        _, digest = self._known
        return f"installed, digest {digest[:12]}"

    def token_ends(self, text: str) -> Sequence[int]:
        """Return the estimated end of each token; see `_TOKEN`."""
        return array("q", (match.end() for match in _TOKEN.finditer(text)))

    def _embed(self, texts: Sequence[str]) -> Vectors:
        import numpy as np

        batches = (texts[first : first + _BATCH] for first in range(0, len(texts), _BATCH))
        return np.concatenate([np.empty((0, self.dimension), dtype=np.float32), *map(self._rows, batches)])

    def _rows(self, texts: Sequence[str]) -> Vectors:
        """Embed texts as unit rows. A text that is too long gets the mean of its halves, so that none of
        it is cut off.
        """
        import numpy as np

        try:
            rows = np.array(self._asked(texts), dtype=np.float32)
        except TextTooLong:
            if len(texts) > 1:
                return np.concatenate([self._rows([text]) for text in texts])
            (text,), half = texts, len(texts[0]) // 2
            if not half:
                raise
            return unit_rows(self._rows([text[:half], text[half:]]).mean(axis=0, keepdims=True))
        if rows.shape != (len(texts), self.dimension):
            raise ConfigError(
                f"'{self.name}' has {self.dimension} dimensions, but it gives {rows.shape[-1]}",
                hint=f"set ollama.embedders.{self.spec.name}.dimension: {rows.shape[-1]} in models.yaml",
            )
        if not np.linalg.norm(rows, axis=1).all() or not np.isfinite(rows).all():
            raise EngineError(
                f"{self.spec.name} gave no vector for a text", hint=f"local-rag models pull {self.spec.name}"
            )
        return unit_rows(rows)

    def _asked(self, texts: Sequence[str]) -> list[list[float]]:
        """Return the vectors as the server sends them; a stop ends the connection."""
        cancel.check()
        num_ctx, stop, done, connection = self._num_ctx, cancel.current(), threading.Event(), Connection()

        def watch() -> None:
            while not done.wait(_POLL):
                if stop.stopped or stop.expired:
                    connection.abort()

        threading.Thread(target=watch, name="local-rag-embed", daemon=True).start()
        patience = self._settings.load_seconds + self._settings.idle_seconds
        try:
            with over(connection):
                rows = self.server.embed(self.spec.name, texts, num_ctx, self._settings.keep_alive, patience)
        except EngineError:
            cancel.check()
            raise
        finally:
            done.set()
        self._loaded = True
        return rows
