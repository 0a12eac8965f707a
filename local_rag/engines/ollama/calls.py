"""Call one Ollama server with langchain-ollama, and interpret its replies and errors."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import httpx

from local_rag.config.values import Ollama
from local_rag.core.cancel import Connection
from local_rag.core.errors import EngineError, LocalRagError
from local_rag.engines.calls import SEED, BrokenOff, ChatRequest, ServerCalls
from local_rag.engines.language_model.window import ModelSetup, too_long
from local_rag.engines.ollama.server import OllamaApi, ollama
from local_rag.engines.ollama.transport import CONNECT, NoTransport, one_line
from local_rag.text.display import plural

if TYPE_CHECKING:
    from langchain_core.messages import AIMessage
    from langchain_core.runnables import RunnableConfig
    from langchain_ollama import ChatOllama


class OllamaCalls(ServerCalls):
    """Make all calls to one server."""

    def __init__(self, server: OllamaApi, settings: Ollama) -> None:
        super().__init__(server, settings)
        self.server = server
        self._clients: dict[tuple[ModelSetup, int, int], ChatOllama] = {}

    def preload(self, setup: ModelSetup) -> None:
        """Load a model in the background, with the options of the later calls, which report any failure."""
        if not self.loads_ahead:
            self.loads_ahead = True
            threading.Thread(target=self._preload, args=(setup,), name="local-rag-preload", daemon=True).start()

    def _preload(self, setup: ModelSetup) -> None:
        patience = self.settings.load_seconds + self.settings.idle_seconds
        options = {"num_ctx": setup.num_ctx}
        try:
            with self.turn(Connection()) as come:
                if come:
                    self.server.preload(setup.model, options, self.settings.keep_alive, patience)
        except (LocalRagError, RuntimeError):
            pass  # the first question meets the same trouble, and reports it; a client closed by now: RuntimeError
        finally:
            self.loads_ahead = False

    def chunks(self, request: ChatRequest, config: RunnableConfig) -> Iterator[AIMessage]:
        yield from self.client(request).stream(list(request.messages), config, format=request.schema)

    def client(self, request: ChatRequest) -> ChatOllama:
        """Return the client for these options, built once: `bind(options=…)` would replace all options,
        `num_ctx` too.
        """
        key = (request.setup, request.cap, request.variant)
        if key not in self._clients:
            ollama()
            from langchain_ollama import ChatOllama

            self._clients[key] = ChatOllama(
                model=request.setup.model,
                base_url=self.server.address.url,
                num_ctx=request.setup.num_ctx,
                num_predict=request.cap + request.setup.thoughts,
                temperature=0.7 if request.variant else 0.0,
                seed=SEED + request.variant,
                reasoning=request.setup.think,
                keep_alive=self.settings.keep_alive,
                sync_client_kwargs={
                    "transport": self.server.transport,
                    "trust_env": False,
                    "follow_redirects": False,
                    "timeout": httpx.Timeout(None, connect=CONNECT),
                },
                async_client_kwargs={"transport": NoTransport(), "trust_env": False},
            )
        return self._clients[key]

    def check_end(self, request: ChatRequest, text: str, about: Mapping[str, Any]) -> bool:
        model = request.setup.model
        if not about.get("done"):
            raise BrokenOff(
                f"the reply of {model} broke off without an end, as Ollama does when a model repeats itself"
            )
        counted, generated = about.get("prompt_eval_count"), int(about.get("eval_count") or 0)
        cut = self.is_cut(request, about.get("done_reason"), counted, generated)
        if generated == 1 and not text.strip():
            raise BrokenOff(f"{model} ended its reply at once, without a text")
        if generated and not text.strip():
            raise EngineError(
                f"{model} generated {plural(generated, 'token')} and returned no text, as models do that think "
                f"(it was told 'think: {str(request.setup.think).lower()}')",
                hint=f"write 'think: low' for it in your models.yaml, under ollama: models: {model}:, or take another "
                "model: local-rag models",
            )
        return cut

    def error_of(self, request: ChatRequest, error: Exception) -> Exception:
        model = request.setup.model
        if isinstance(error, ollama().ResponseError):
            if refused := too_long(error.status_code, error.error):
                return refused
            if error.status_code == -1:
                return BrokenOff(f"{model} failed in the middle of its reply: {one_line(error.error)}")
        if isinstance(error, ValueError) and "No generation chunks" in str(error):
            return BrokenOff(f"{model} ended its reply before it began")
        return super().error_of(request, error)
