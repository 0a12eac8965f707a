"""Answer with language models of Ollama on this machine, over one guarded connection: OllamaEngine."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Unpack

from local_rag.config.models import OllamaModelSpec, Role
from local_rag.config.values import Ollama
from local_rag.core.errors import LocalRagError
from local_rag.engines.language_model.engine import LanguageModelEngine, Parts
from local_rag.engines.language_model.window import ModelSetup
from local_rag.engines.ollama.calls import OllamaCalls
from local_rag.engines.ollama.server import OllamaApi, check_name, check_remote, same_model

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
