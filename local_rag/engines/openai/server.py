"""Ask a server that speaks OpenAI's API about its models, and chat with it; it is reached as an Ollama server is."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

import httpx
from pydantic import AliasChoices, AliasPath, Field

from local_rag.core.address import address, listens
from local_rag.core.errors import EngineError, LocalRagError, ModelMissing, ServerDown, UsageError
from local_rag.engines.ollama.server import PATIENCE, Reply
from local_rag.engines.ollama.transport import CONNECT, GuardedServer, Refused
from local_rag.text.display import joined

SETTING = "openai.base_url"
ALLOW = "LOCAL_RAG_OPENAI_ALLOW_HOSTS"


class Served(Reply):
    """Hold a model of the server. `window` is in tokens if the list tells it (vLLM, LM Studio), `meta` is llama.cpp's
    extension.
    """

    id: str
    window: int | None = Field(
        None, validation_alias=AliasChoices("max_model_len", "loaded_context_length", "max_context_length")
    )
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


class OpenAIApi(GuardedServer):
    """Call the API of one server below `base_url`. Raises ServerDown, ModelMissing, NotLocal, EngineError."""

    called, is_not, at_silence = "the server", "does not speak OpenAI's API", "look whether it still works"

    def __init__(self, base_url: str, allowed: Collection[str] = ()) -> None:
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
        super().__init__(where, allowed, PATIENCE, ALLOW)
        self._path = parts.path.rstrip("/")

    def __str__(self) -> str:
        return f"{self.address}{self._path}"

    def models(self) -> list[Served]:
        """Ask GET /models."""
        if self.address.is_local and not listens(self.address):
            raise self.down()
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
            listed = self._asked("GET", "/api/v0/models", _Models).data  # LM Studio
        except EngineError:
            return None
        return next((each.window for each in listed if each.id == model.id), None)

    def chat(self, body: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
        """Yield the events of a reply from POST /chat/completions, as they arrive. Raises Refused."""
        path, timeout = f"{self._path}/chat/completions", httpx.Timeout(None, connect=CONNECT)
        with self._client.stream("POST", path, json=body, timeout=timeout) as response:
            if response.is_error:
                response.read()
                raise Refused(response.status_code, response.text)
            for line in response.iter_lines():
                data = line.removeprefix("data:").strip()
                if not line.startswith(("data:", "error:")) or not data:
                    continue
                if data == "[DONE]":
                    return
                event = json.loads(data.removeprefix("error:"))
                if "error" in event or line.startswith("error:"):
                    raise Refused(500, json.dumps(event))
                yield event

    def down(self) -> ServerDown:
        hint = "start it, such as llama-server -m MODEL.gguf, or name its address: LOCAL_RAG_OPENAI_BASE_URL"
        return ServerDown(f"no server answers at {self} ({SETTING})", hint=hint)

    def refusal(self, refused: Refused, model: str) -> LocalRagError:
        what = f"the server at {self} reports an error ({refused.status}): {refused.said}"
        return EngineError(what, hint="local-rag doctor")
