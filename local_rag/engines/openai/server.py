"""Ask a server that speaks OpenAI's API about its models, and chat with it; it is reached as an Ollama server is."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

import httpx
from pydantic import AliasPath, Field

from local_rag.core.address import address, listens
from local_rag.core.errors import EngineError, LocalRagError, ModelMissing, ServerDown, UsageError
from local_rag.engines.ollama.server import PATIENCE, Reply, one_line
from local_rag.engines.ollama.transport import CONNECT, GuardedServer
from local_rag.text.display import joined

SETTING = "openai.base_url"
ALLOW = "LOCAL_RAG_OPENAI_ALLOW_HOSTS"


class Served(Reply):
    """Hold a model of the server. `window` is in tokens if the list tells it (vLLM), `meta` is
    llama.cpp's extension.
    """

    id: str
    window: int | None = Field(None, validation_alias="max_model_len")
    meta: dict[str, Any] | None = None

    @property
    def digest(self) -> str:
        """12 hex digits that identify the weights, or "" if the server says nothing about them."""
        about = json.dumps(self.meta, sort_keys=True)
        return hashlib.sha256(about.encode()).hexdigest()[:12] if self.meta else ""


class _Models(Reply):
    data: list[Served]


class _Props(Reply):
    """Read GET /props of llama.cpp."""

    window: int = Field(validation_alias=AliasPath("default_generation_settings", "n_ctx"))


class _Listed(Reply):
    id: str
    loaded: int | None = Field(None, validation_alias="loaded_context_length")
    most: int | None = Field(None, validation_alias="max_context_length")


class _ListedModels(Reply):
    """Read GET /api/v0/models of LM Studio."""

    data: list[_Listed]


class Refused(Exception):
    """Report a server's error: its `status` and its words."""

    def __init__(self, status: int, said: str) -> None:
        super().__init__(status, said)
        self.status, self.said = status, said


class OpenAIApi(GuardedServer):
    """Call the API of one server below `base_url`. Raises ServerDown, ModelMissing, NotLocal, EngineError."""

    def __init__(self, base_url: str, allowed: Collection[str] = (), patience: float = PATIENCE) -> None:
        """Check the URL. Raises UsageError for an invalid one, NotLocal for another machine that is not allowed by
        name.
        """
        parts = urlsplit(base_url.strip())
        try:
            if parts.query or parts.fragment or not parts.scheme:
                raise UsageError("")
            where = address(f"{parts.scheme}://{parts.netloc}")
        except UsageError as error:
            raise UsageError(
                f"{SETTING} is a URL of http or https, not {base_url!r}", hint="http://127.0.0.1:8080/v1 is llama.cpp's"
            ) from error
        super().__init__(where, allowed, patience, ALLOW)
        self._path = parts.path.rstrip("/")

    def __str__(self) -> str:
        return f"{self.address}{self._path}"

    def models(self) -> list[Served]:
        """Ask GET /models."""
        if self.address.is_local and not listens(self.address):
            raise self.error_of(httpx.ConnectError("refused"))
        return self._asked("GET", f"{self._path}/models", _Models).data

    def model(self, name: str) -> Served:
        """Return the model of that name, or the only one that is no embedder. Raises ModelMissing, UsageError."""
        models = self.models()
        chats = [each for each in models if "embed" not in each.id.casefold()]
        for found in [each for each in models if each.id == name] if name else chats[: len(chats) == 1]:
            return found
        has = joined(each.id for each in chats) or "none"
        first = chats[0].id if chats else "NAME"
        if name:
            raise ModelMissing(f"the server at {self} has no model {name}; it has {has}", hint=f"--model '{first}'")
        raise UsageError(f"the server at {self} has {has}: name the model that is to answer", hint=f"--model '{first}'")

    def window(self, model: Served) -> int | None:
        """Return the tokens of a prompt with its reply, as vLLM, llama.cpp or LM Studio tells it, or None."""
        if model.window:
            return model.window
        try:
            return self._asked("GET", "/props", _Props).window
        except EngineError:
            pass
        try:
            listed = self._asked("GET", "/api/v0/models", _ListedModels).data
        except EngineError:
            return None
        return next((each.loaded or each.most for each in listed if each.id == model.id), None)

    def chat(self, body: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
        """Yield the events of a reply from POST /chat/completions, as they arrive. Raises Refused."""
        path, timeout = f"{self._path}/chat/completions", httpx.Timeout(None, connect=CONNECT)
        with self._client.stream("POST", path, json=body, timeout=timeout) as response:
            if response.is_error:
                response.read()
                raise self._refused(response.status_code, response.text)
            for line in response.iter_lines():
                data = line.removeprefix("data:").strip()
                if not line.startswith(("data:", "error:")) or not data:
                    continue
                if data == "[DONE]":
                    return
                event = json.loads(data.removeprefix("error:"))
                if "error" in event or line.startswith("error:"):
                    raise self._refused(500, json.dumps(event))
                yield event

    @staticmethod
    def _refused(status: int, text: str) -> Refused:
        try:
            inner = json.loads(text)
            inner = inner.get("error", inner)
            said = str(inner.get("message", inner) if isinstance(inner, dict) else inner)
        except (ValueError, AttributeError):
            said = text
        return Refused(status, one_line(said) or "without a word")

    def error_of(self, error: Exception, model: str = "", doing: str = "") -> LocalRagError:
        if isinstance(error, LocalRagError):
            return error
        if isinstance(error, httpx.HTTPStatusError):
            error = self._refused(error.response.status_code, error.response.text)
        if isinstance(error, Refused):
            what = f"the server at {self} reports an error ({error.status}): {error.said}"
            return EngineError(what, hint="local-rag doctor")
        if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
            hint = "start it, such as llama-server -m MODEL.gguf, or name its address: LOCAL_RAG_OPENAI_BASE_URL"
            return ServerDown(f"no server answers at {self} ({SETTING})", hint=hint)
        if isinstance(error, httpx.TimeoutException):
            return EngineError(f"the server at {self} did not answer in time", hint="look whether it still works")
        if isinstance(error, httpx.HTTPError):
            return EngineError(f"the connection to the server at {self} was cut: {error}", hint="ask again")
        return EngineError(f"the program at {self} does not speak OpenAI's API: {error}"[:300], hint="local-rag doctor")
