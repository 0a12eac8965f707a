"""Answer with a language model on a server of this machine that speaks OpenAI's API: OpenAIEngine, and its calls."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Unpack

from langchain_core.language_models import BaseChatModel
from langchain_core.language_models.chat_models import generate_from_stream
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, convert_to_openai_messages
from langchain_core.outputs import ChatGenerationChunk, ChatResult

from local_rag.config.models import ROLES, OllamaModelSpec
from local_rag.config.values import Ollama
from local_rag.core.errors import EngineError
from local_rag.engines.calls import SEED, BrokenOff, ChatRequest, ServerCalls
from local_rag.engines.language_model.engine import LanguageModelEngine, Parts
from local_rag.engines.language_model.window import ModelSetup, PromptTooLong
from local_rag.engines.ollama.transport import Refused
from local_rag.engines.openai.server import OpenAIApi

if TYPE_CHECKING:
    from langchain_core.callbacks import CallbackManagerForLLMRun
    from langchain_core.runnables import RunnableConfig

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


FORMS = ("json_schema", "json_object", "")
"""The ways to ask for a reply in JSON, the strictest first; "" asks by the prompt alone."""

_NOT_THAT_FORM = re.compile(r"response_format|json_schema|json_object|grammar|schema", re.IGNORECASE)
_TOO_LONG = re.compile(r"context (?:length|size|window)|context overflow|exceed_context_size", re.IGNORECASE)
"""Words of the errors of llama.cpp, vLLM and LM Studio."""


class OpenAICalls(ServerCalls):
    """Make all calls to one server."""

    at_silence = "look whether the server still works; LOCAL_RAG_OLLAMA_IDLE_SECONDS allows it more time"

    def __init__(self, server: OpenAIApi, settings: Ollama) -> None:
        super().__init__(server, settings)
        self._model = _ServedChat(server=server)
        self._form = 0
        """The index of the strictest of `FORMS` that the server has not refused."""

    def chunks(self, request: ChatRequest, config: RunnableConfig) -> Iterator[AIMessage]:
        setup = request.setup
        level = {"reasoning_effort": setup.think} if isinstance(setup.think, str) else {}  # as gpt-oss is told
        body = {
            "model": setup.model,
            "max_tokens": request.cap + setup.thoughts,
            "temperature": 0.7 if request.variant else 0.0,
            "seed": SEED + request.variant,
            "chat_template_kwargs": {"enable_thinking": bool(setup.think), **level},
        }
        while True:
            form = FORMS[self._form] if request.schema else ""
            try:
                yield from self._model.stream(list(request.messages), config, body=body | _asking(form, request))
                return
            except Refused as error:
                if not form or _TOO_LONG.search(error.said) or not _NOT_THAT_FORM.search(error.said):
                    raise
                self._form += 1

    def check_end(self, request: ChatRequest, text: str, about: Mapping[str, Any]) -> bool:
        model, reason = request.setup.model, about.get("finish_reason")
        if not reason:
            raise BrokenOff(f"the reply of {model} broke off without an end")
        counted, generated = about.get("prompt_tokens"), int(about.get("completion_tokens") or 0)
        cut = self.is_cut(request, reason, counted, generated)
        if cut and not text.strip():
            raise EngineError(
                f"{model} thought until its reply was full, and returned no text",
                hint=f"write '\"{model}\": {{think: true}}' under openai: models: in your models.yaml, or take another",
            )
        if not text.strip():
            raise BrokenOff(f"{model} returned no text")
        return cut

    def error_of(self, request: ChatRequest, error: Exception) -> Exception:
        if isinstance(error, Refused) and _TOO_LONG.search(error.said):
            return PromptTooLong()
        return super().error_of(request, error)


def _asking(form: str, request: ChatRequest) -> dict[str, Any]:
    """Return the part of a request that asks for the form of the reply."""
    if form == "json_schema":
        described = {"name": request.role.replace("+", "_"), "strict": True, "schema": request.schema}
        return {"response_format": {"type": form, form: described}}
    return {"response_format": {"type": form}} if form else {}


class _ServedChat(BaseChatModel):
    """Present the server as a chat model of LangChain, so that the callbacks of the calling program see each call."""

    server: Any

    @property
    def _llm_type(self) -> str:
        return "openai-server"

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return generate_from_stream(self._stream(messages, stop, run_manager, **kwargs))

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        """Yield the reply to a request with the fields `body`."""
        told = {"messages": convert_to_openai_messages(messages), "stream": True}
        for event in self.server.chat({**kwargs["body"], **told, "stream_options": {"include_usage": True}}):
            about: dict[str, Any] = {}
            text = ""
            for choice in event.get("choices") or []:
                text = (choice.get("delta") or {}).get("content") or ""
                about = {"finish_reason": choice["finish_reason"]} if choice.get("finish_reason") else {}
            used = event.get("usage") or {}
            about |= {key: used[key] for key in ("prompt_tokens", "completion_tokens") if key in used}
            counts = (int(used.get("prompt_tokens") or 0), int(used.get("completion_tokens") or 0))
            usage = {"input_tokens": counts[0], "output_tokens": counts[1], "total_tokens": sum(counts)}
            message = AIMessageChunk(content=text, response_metadata=about, usage_metadata=usage if used else None)
            yield ChatGenerationChunk(message=message)
