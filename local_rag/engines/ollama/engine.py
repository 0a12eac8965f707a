"""Answer with language models of Ollama on this machine, over one guarded connection: OllamaEngine, and its calls by
langchain-ollama.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Unpack

import httpx

from local_rag.config.models import OllamaModelSpec, Role
from local_rag.config.values import Ollama
from local_rag.core.cancel import Connection
from local_rag.core.errors import EngineError, LocalRagError
from local_rag.engines.calls import SEED, BrokenOff, ChatRequest, ServerCalls
from local_rag.engines.language_model.engine import LanguageModelEngine, Parts
from local_rag.engines.language_model.window import ModelSetup, too_long
from local_rag.engines.ollama.server import OllamaApi, check_name, check_remote, ollama, same_model
from local_rag.engines.ollama.transport import CONNECT, NoTransport, one_line
from local_rag.text.display import plural

if TYPE_CHECKING:
    from langchain_core.messages import AIMessage
    from langchain_core.runnables import RunnableConfig
    from langchain_ollama import ChatOllama

HARMONY = ("gptoss", "gpt-oss")
"""Families of models that always think: with `think: false` their JSON is generated and then lost."""


class OllamaEngine(LanguageModelEngine):
    """Answer with one Ollama server; several threads may use it, and their calls take turns."""

    def __init__(
        self,
        server: OllamaApi,
        specs: Mapping[Role, OllamaModelSpec],
        num_ctx: int,
        settings: Ollama,
        **parts: Unpack[Parts],
    ) -> None:
        """Check the models before any message is sent, and fix the options of each. `num_ctx` is in tokens.

        `explain` asks the graders and the router for their reasons; `texts` are the prompts in force, by default those
        of this program. `evaluator` grades passages with `grading: evaluator`, `assessor` grades all with `grading:
        auto`. Raises NotLocal for a model that answers from another machine, ModelMissing, ServerDown.
        """
        named = {spec.name: spec for spec in specs.values()}
        for name in named:
            check_name(name, settings.allow_cloud)
        known = {name: model_setup(server, spec, num_ctx, settings) for name, spec in named.items()}
        setups = {role: known[spec.name] for role, spec in specs.items()}
        self._ollama = OllamaCalls(server, settings)
        super().__init__(self._ollama, setups, grading=settings.grading, **parts)
        self.server = server
        self._version = server.version()
        self._digests: Mapping[str, str] = {}

    @property
    def name(self) -> str:
        return f"ollama/{self.setups['generator'].model}"

    @property
    def describe(self) -> str:
        listed = ", ".join(f"{setup.model} (window {setup.num_ctx:,} tokens)" for setup in self.models)
        return f"ollama: {listed} at {self.server.address}, Ollama {self._version}{self.by_evaluator}"

    @property
    def identity(self) -> str:
        """The version of the prompts, and the models with the beginning of their digests.

        A digest is `?` while the server does not tell it.
        """
        with suppress(LocalRagError):
            self._digests = self._digests or self.digests()
        named = [f"{setup.model}@{self._digests.get(setup.model, '')[:12] or '?'}" for setup in self.models]
        thinking = [f" think {setup.think}" if setup.think else "" for setup in self.models]
        listed = ", ".join(map("".join, zip(named, thinking, strict=True)))
        return f"ollama {self.prompts.version}; {listed}"

    def digests(self) -> dict[str, str]:
        """Return the server's digest of each model, which identifies its weights: a pull may change them under one
        name.
        """
        there = self.server.installed()
        return {
            setup.model: next((known.digest for known in there if same_model(known.name, setup.model)), "")
            for setup in self.models
        }

    def prepare(self) -> None:
        """Load the model that is asked first in the background."""
        self._ollama.preload(self.setups["grader"])


def model_setup(server: OllamaApi, spec: OllamaModelSpec, num_ctx: int, settings: Ollama) -> ModelSetup:
    """Return the options of a model; its window is never beyond the trained one, which Ollama would accept silently."""
    info = server.show(spec.name)
    check_remote(spec.name, info.remote_host, settings.allow_cloud)
    window = spec.num_ctx or num_ctx
    think = spec.think or ("low" if info.family in HARMONY else False)
    return ModelSetup(spec.name, min(window, info.window or window), think)


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
