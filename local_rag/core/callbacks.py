"""What the callbacks of the calling program are told: each call to a language model, each retrieval.

LangChain carries callbacks in a context variable, as `core.cancel` carries the stop button: what a node calls finds
those that the node was given, and its runs are nested below the node's. Where nobody listens nothing is told, and no
variable of the environment makes anybody listen.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from langchain_core.callbacks import CallbackManager, CallbackManagerForLLMRun
    from langchain_core.documents import Document

    from local_rag.core.usage import Call

SILENT = "nostream"
"""LangGraph's tag for a model whose tokens are no message of the graph: drafts can be rejected, verdicts are JSON."""


def listening() -> CallbackManager | None:
    """The callbacks of the node that is running, None where there are none."""
    from langchain_core.runnables.config import ensure_config, get_callback_manager_for_config

    config = ensure_config()
    if not config.get("callbacks"):
        return None
    manager = get_callback_manager_for_config(config)
    return manager if manager.handlers else None


class ModelRun:
    """One call to a chat model, as callbacks see it: started when it is made, then `token`s, then `end` or `error`.

    `name` is the task. `messages` are (role, content). `about` is how the model is asked: its temperature and so on.
    """

    def __init__(
        self, name: str, provider: str, model: str, messages: Sequence[tuple[str, str]], about: Mapping[str, Any]
    ) -> None:
        self._provider = provider
        self._run: CallbackManagerForLLMRun | None = None
        manager = listening()
        if manager is not None:
            from langchain_core.messages import convert_to_messages

            manager.add_tags([SILENT], inherit=False)
            manager.add_metadata({"ls_provider": provider, "ls_model_name": model, "ls_model_type": "chat"}, False)
            (self._run,) = manager.on_chat_model_start(
                {"name": provider, "id": [provider]},
                [convert_to_messages(list(messages))],
                name=name,
                invocation_params={"model": model, **about},
            )

    def token(self, text: str) -> None:
        """A bit of an answer, which can still be rejected."""
        if self._run is not None and text:
            from langchain_core.messages import AIMessageChunk
            from langchain_core.outputs import ChatGenerationChunk

            self._run.on_llm_new_token(text, chunk=ChatGenerationChunk(message=AIMessageChunk(content=text)))

    def end(self, text: str, call: Call) -> None:
        """The whole reply, and what it cost."""
        if self._run is None:
            return
        from langchain_core.messages import AIMessage
        from langchain_core.outputs import ChatGeneration, LLMResult

        tokens = call.prompt_tokens, call.output_tokens
        about = {
            "model_name": call.model,
            "model_provider": self._provider,
            "seconds": call.seconds,
            "load_seconds": call.load_seconds,
            "retry": call.retry,
            "task": call.task,
            "prompt": call.prompt,
        }
        message = AIMessage(
            content=text,
            response_metadata=about,
            usage_metadata={"input_tokens": tokens[0], "output_tokens": tokens[1], "total_tokens": sum(tokens)},
        )
        self._run.on_llm_end(
            LLMResult(generations=[[ChatGeneration(message=message)]], llm_output={"model_name": call.model})
        )

    def error(self, error: BaseException) -> None:
        """The call failed, or was stopped."""
        if self._run is not None:
            self._run.on_llm_error(error)


def retrieval(name: str, query: str, search: Callable[[], list[Document]]) -> list[Document]:
    """What `search` brings, with the callbacks told of it."""
    manager = listening()
    run = manager.on_retriever_start({"name": name, "id": [name]}, query, name=name) if manager else None
    try:
        documents = search()
    except BaseException as error:
        if run is not None:
            run.on_retriever_error(error)
        raise
    if run is not None:
        run.on_retriever_end(documents)
    return documents
