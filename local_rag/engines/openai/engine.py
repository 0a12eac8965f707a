"""Answer with a language model on a server of this machine that speaks OpenAI's API: OpenAIEngine."""

from __future__ import annotations

from typing import Unpack

from local_rag.config.models import ROLES, OllamaModelSpec
from local_rag.config.values import Ollama
from local_rag.engines.language_model.engine import LanguageModelEngine, Parts
from local_rag.engines.language_model.window import ModelSetup
from local_rag.engines.openai.calls import OpenAICalls
from local_rag.engines.openai.server import OpenAIApi

WINDOW = 4_096
"""The window in tokens, if neither the server nor models.yaml tells it."""


class OpenAIEngine(LanguageModelEngine):
    """Answer with one server and one model for all roles; several threads may use it, and their calls take turns."""

    def __init__(
        self,
        server: OpenAIApi,
        spec: OllamaModelSpec,
        settings: Ollama,
        **parts: Unpack[Parts],
    ) -> None:
        """Find the model before any message is sent; grading and patience are taken from `settings`.

        Without a name in `spec` it is the only model of the server. A window in `spec` cannot exceed the one that the
        server tells. Raises NotLocal, ModelMissing, ServerDown, UsageError.
        """
        model = server.model(spec.name)
        self.told = server.window(model)
        """The window in tokens that the server tells, or None."""
        windows = [each for each in (self.told, spec.num_ctx or spec.window) if each]
        setup = ModelSetup(model.id, min(windows, default=WINDOW), spec.think)
        calls = OpenAICalls(server, settings)
        super().__init__(calls, dict.fromkeys(ROLES, setup), grading=settings.grading, **parts)
        self.server, self._digest = server, model.digest

    @property
    def name(self) -> str:
        return f"openai/{self.models[0].model}"

    @property
    def describe(self) -> str:
        (setup,) = self.models
        return f"openai: {setup.model} (window {setup.num_ctx:,} tokens) at {self.server}{self.by_evaluator}"

    @property
    def identity(self) -> str:
        """The version of the prompts, and the model with the server's digest of its weights, `?` if unknown."""
        (setup,) = self.models
        thinking = f" think {setup.think}" if setup.think else ""
        return f"openai {self.prompts.version}; {setup.model}@{self._digest or '?'}{thinking}"

    def prepare(self) -> None:
        """Do nothing: such a server loads its model by itself."""
