"""An engine of any chat model of LangChain, with the prompts and the strict replies of the Ollama engine."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from local_rag.config.models import ROLES
from local_rag.config.values import Grading
from local_rag.core.errors import UsageError
from local_rag.engines.chat_model.call import ChatModelCalls
from local_rag.engines.language_model.context_window import ModelSetup
from local_rag.engines.language_model.engine import LanguageModelEngine

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from local_rag.core.protocols import Evaluator
    from local_rag.engines.language_model.prompt_texts import PromptTexts

WINDOW = 8_192
"""Tokens of a prompt with its reply, where neither the caller nor the model says how many there may be."""


def from_chat_model(
    model: BaseChatModel,
    *,
    window: int | None = None,
    version: str = "",
    explain: bool = False,
    each: bool = False,
    grading: Grading = "list",
) -> ChatModelEngine:
    """An engine for `Rag.open(engine=…)` of a chat model of LangChain.

    Verdicts are asked for by `with_structured_output`, else in JSON mode, else by the prompt alone; each is validated
    strictly, asked for once more with the error quoted, and then `unparsed`, as with Ollama. Whether the model runs on
    this machine cannot be known here: it is sent the questions and the passages, wherever it is. Give it temperature 0.

    `window` is how many tokens a prompt and its reply may have, by default what the model's profile says, else 8,192.
    `version` changes when the weights do; without it no calibrated threshold is stored for this engine. `explain` asks
    the graders for reasons. `grading` is what `ollama.grading` is to Ollama: with "evaluator" the trained evaluator of
    the Rag grades passages before this model reads any; `each` stands for "each". Raises UsageError for what is no chat
    model.
    """
    from langchain_core.language_models import BaseChatModel

    if not isinstance(model, BaseChatModel):
        raise UsageError(
            f"from_chat_model takes a chat model of LangChain, not {type(model).__name__}",
            hint='from_chat_model(ChatOpenAI(base_url="http://127.0.0.1:8000/v1", api_key="none", model="…"))',
        )
    return ChatModelEngine(
        model, window or _window(model), version, explain=explain, grading="each" if each else grading
    )


class ChatModelEngine(LanguageModelEngine):
    """An engine on one chat model. Serves several threads; their calls take turns. See `from_chat_model`."""

    def __init__(
        self,
        model: BaseChatModel,
        window: int,
        version: str = "",
        *,
        explain: bool = False,
        grading: Grading = "list",
        texts: PromptTexts | None = None,
        evaluator: Evaluator | None = None,
        calls: ChatModelCalls | None = None,
    ) -> None:
        self._model = model
        self._model_name = _name(model)
        self._version = version
        self._calls = calls or ChatModelCalls(model, self._model_name)
        setups = dict.fromkeys(ROLES, ModelSetup(self._model_name, window, thinks=False))
        super().__init__(self._calls, setups, grading=grading, explain=explain, texts=texts, evaluator=evaluator)

    def opened_with(self, texts: PromptTexts, evaluator: Evaluator | None = None) -> ChatModelEngine:
        """The same model, told these texts, beside this evaluator; this engine where it has both already.

        Their calls take turns.
        """
        if texts.changed == self.prompts.texts.changed and evaluator is self._evaluator:
            return self
        return ChatModelEngine(
            self._model,
            self.setups["generator"].num_ctx,
            self._version,
            explain=self._explain,
            grading=self.grading,
            texts=texts,
            evaluator=evaluator,
            calls=self._calls.for_another_engine(),
        )

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
    def fingerprint(self) -> str:
        """The model, its parameters, the version that the caller gave, which prompts it gets, how it is asked, and the
        evaluator.
        """
        parameters = json.dumps(dict(self._model._identifying_params), sort_keys=True, default=_kind)
        digest = hashlib.sha256(parameters.encode()).hexdigest()[:12]
        model = f"{type(self._model).__name__}/{self._model_name}@{self._version or '?'}"
        return f"langchain {self.prompts.version}; {model} {digest}; {self.manner}"

    def prepare(self) -> None:
        """Nothing: how a model of LangChain is loaded is not known."""

    def close(self) -> None:
        """No further call begins. The model is the caller's, and stays open."""
        self._calls.close()


def _kind(value: object) -> str:
    return type(value).__name__


def _name(model: BaseChatModel) -> str:
    """The model as its provider calls it, else its class, on one line."""
    named = next((value for name in ("model_name", "model", "model_id") if (value := getattr(model, name, None))), None)
    return " ".join(str(named or type(model).__name__).split())


def _window(model: BaseChatModel) -> int:
    profile = model.profile or {}
    return profile.get("max_input_tokens") or WINDOW
