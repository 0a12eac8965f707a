"""Make an engine of any chat model of LangChain, with the prompts and the strict replies of the Ollama engine."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from copy import copy
from typing import TYPE_CHECKING, Any

from local_rag.config.models import ROLES
from local_rag.config.values import Grading
from local_rag.core.errors import EngineError, UsageError
from local_rag.engines.calls import BrokenOff, ChatCalls, ChatRequest
from local_rag.engines.language_model.engine import LanguageModelEngine
from local_rag.engines.language_model.prompts import Prompts
from local_rag.engines.language_model.window import ModelSetup, PromptTooLong
from local_rag.text.display import shorten

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage
    from langchain_core.runnables import Runnable, RunnableConfig

    from local_rag.core.protocols import Evaluator
    from local_rag.engines.extractive.engine import ExtractiveEngine
    from local_rag.engines.language_model.prompt_texts import PromptTexts

WINDOW = 8_192
"""The tokens of a prompt with its reply, if neither the caller nor the model says how many are allowed."""

THOUGHTS = 2_048
"""The streamed parts of a reply that a model may spend on thoughts before it answers."""

Options = dict[str, Any]
METHODS: tuple[Options | None, ...] = ({}, {"method": "function_calling"}, {"method": "json_mode"}, None)
"""The ways to make a model reply in JSON: options of `with_structured_output`; None for the prompt alone."""

REFUSED = (400, 404, 422)
"""The HTTP statuses of a server that does not support a way to ask for JSON."""


def from_chat_model(
    model: BaseChatModel,
    *,
    window: int | None = None,
    version: str = "",
    explain: bool = False,
    grading: Grading = "auto",
) -> ChatModelEngine:
    """Make an engine for `Rag.open(engine=…)` of a chat model of LangChain.

    Verdicts are asked for by `with_structured_output`, else in JSON mode, else by the prompt alone; each is validated
    strictly, asked for once more with the error quoted, and then `unparsed`, as with Ollama. Whether the model runs on
    this machine cannot be known here: it is sent the questions and the passages, wherever it is. Give it temperature 0.

    `window` is how many tokens a prompt and its reply may have, by default as in the model's profile, else 8,192.
    `version` must change with the weights; without it no calibrated threshold is stored for this engine. `explain` asks
    the graders for reasons. `grading` has the values of `ollama.grading`: with "auto" the trained evaluator of the Rag
    grades passages and answers. Raises UsageError for an object that is not a chat model.
    """
    from langchain_core.language_models import BaseChatModel

    if not isinstance(model, BaseChatModel):
        raise UsageError(
            f"from_chat_model takes a chat model of LangChain, not {type(model).__name__}",
            hint='from_chat_model(ChatOpenAI(base_url="http://127.0.0.1:8000/v1", api_key="none", model="…"))',
        )
    window = window or (model.profile or {}).get("max_input_tokens") or WINDOW
    return ChatModelEngine(model, window, version, explain=explain, grading=grading)


class ChatModelEngine(LanguageModelEngine):
    """Answer with one chat model; several threads may use it, and their calls take turns. See `from_chat_model`."""

    def __init__(self, model: BaseChatModel, window: int, version: str, *, explain: bool, grading: Grading) -> None:
        self._model, self._version, self._wanted = model, version, grading
        self._model_name = _name(model)
        setups = dict.fromkeys(ROLES, ModelSetup(self._model_name, window))
        super().__init__(ChatModelCalls(model, self._model_name), setups, grading=grading, explain=explain)

    def opened_with(
        self, texts: PromptTexts, evaluator: Evaluator | None = None, assessor: ExtractiveEngine | None = None
    ) -> ChatModelEngine:
        """Return an engine with the same model, with these prompt texts and this evaluator; both engines share the
        calls, which take turns.
        """
        engine = copy(self)
        engine.prompts, engine._evaluator, engine._assessor = Prompts(texts), evaluator, assessor
        engine.grading = self._wanted if assessor or self._wanted != "auto" else "packed"
        return engine

    @property
    def name(self) -> str:
        return f"langchain/{self._model_name}"

    @property
    def describe(self) -> str:
        window = self.setups["generator"].num_ctx
        kind = type(self._model).__name__
        where = "given by the calling program, wherever it runs"
        return f"{kind} {self._model_name} (window {window:,} tokens), {where}{self.by_evaluator}"

    @property
    def identity(self) -> str:
        """The version of the prompts, and the model with its parameters and the version that the caller gave."""
        known = dict(self._model._identifying_params)
        parameters = json.dumps(known, sort_keys=True, default=lambda value: type(value).__name__)
        digest = hashlib.sha256(parameters.encode()).hexdigest()[:12]
        model = f"{type(self._model).__name__}/{self._model_name}@{self._version or '?'}"
        return f"langchain {self.prompts.version}; {model} {digest}"

    def prepare(self) -> None:
        """Do nothing: the way to load a model of LangChain is not known."""


class ChatModelCalls(ChatCalls):
    """Make all calls to one chat model, one at a time: a model in this process can rarely serve several."""

    def __init__(self, model: BaseChatModel, name: str) -> None:
        super().__init__()
        self._model, self._name = model, name
        self._method = 0
        """The index of the first of `METHODS` that the model has not refused."""

    def chunks(self, request: ChatRequest, config: RunnableConfig) -> Iterator[AIMessage]:
        if request.schema is None:
            yield from self._streamed(request, config)
            return
        schema = {"title": request.role.replace("+", "_"), "description": "The reply to the task.", **request.schema}
        failed = -1
        while True:
            try:
                model = _bound(self._model, METHODS[self._method], schema)
                yield model.invoke(list(request.messages), config)
                return
            except Exception as error:
                if METHODS[self._method] is None or not _refuses_method(error):
                    raise
                if failed == self._method:  # a single error may be a passing one
                    self._method += 1
                else:
                    failed = self._method

    def _streamed(self, request: ChatRequest, config: RunnableConfig) -> Iterator[AIMessage]:
        """Yield the reply in parts and cut it at the most tokens: a part is at least one token, and not every model
        takes a limit.
        """
        from langchain_core.messages import AIMessageChunk

        for number, chunk in enumerate(self._model.stream(list(request.messages), config)):
            yield chunk
            if number >= request.cap + THOUGHTS:
                yield AIMessageChunk(content="", response_metadata={"finish_reason": "length"})
                return

    def check_end(self, request: ChatRequest, text: str, about: Mapping[str, Any]) -> bool:
        if not text.strip():
            raise BrokenOff(f"{self._name} returned no text")
        reasons = [about.get(key) for key in ("finish_reason", "done_reason", "stop_reason")]
        return "length" in reasons or "max_tokens" in reasons

    def error_of(self, request: ChatRequest, error: Exception) -> Exception:
        from langchain_core.exceptions import ContextOverflowError

        if isinstance(error, ContextOverflowError):
            return PromptTooLong()
        what = shorten(f"{type(error).__name__}: {error}", 300)
        return EngineError(
            f"the chat model {self._name} failed: {what}", hint="try the model alone: model.invoke('Hello')"
        )


def _refuses_method(error: Exception) -> bool:
    """Return whether an error says that a way to ask for JSON is not supported; a server says so with a 4xx status."""
    from langchain_core.exceptions import ContextOverflowError

    if isinstance(error, ContextOverflowError):
        return False
    status = getattr(error, "status_code", None)
    return isinstance(error, NotImplementedError | TypeError | ValueError) if status is None else status in REFUSED


def _bound(model: BaseChatModel, method: Options | None, schema: Options) -> Runnable[Any, Any]:
    """Return the model set to reply in JSON. Raises NotImplementedError if it does not support this way.

    The first step of the result of `with_structured_output` is the model; the second one parses, which is done strictly
    here.
    """
    if method is None:
        return model
    from langchain_core.runnables import RunnableSequence

    structured = model.with_structured_output(schema, **method)
    if not isinstance(structured, RunnableSequence):
        raise NotImplementedError(f"{type(model).__name__} has a structured output of its own kind")
    return structured.first


def _name(model: BaseChatModel) -> str:
    """Return the provider's name of the model, else its class, on one line."""
    named = next((value for name in ("model_name", "model", "model_id") if (value := getattr(model, name, None))), None)
    return " ".join(str(named or type(model).__name__).split())
