"""What `stream_mode="messages"` yields: the answer once it stands, and every draft where these are asked for.

A draft can be rejected, and a verdict is JSON: so no call to a model is a message of its own (see `core.events`).
Where LangGraph was asked for no messages, nothing here has any effect.
"""

from __future__ import annotations

from uuid import uuid4

from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.messages.ai import UsageMetadata
from langchain_core.runnables.config import RunnableConfig, var_child_runnable_config
from langgraph.graph.message import push_message

from local_rag.core.answer import Answer
from local_rag.core.events import Token


def push_answer(answer: Answer) -> None:
    """The answer as one message, with what it is and what it cost."""
    if _config() is not None:
        usage = answer.usage
        counted = UsageMetadata(
            input_tokens=usage.prompt_tokens,
            output_tokens=usage.output_tokens,
            total_tokens=usage.prompt_tokens + usage.output_tokens,
        )
        about = {"status": answer.status, "model_name": answer.engine}
        _push(
            AIMessage(
                content=answer.text,
                id=f"answer-{uuid4().hex}",
                response_metadata=about,
                usage_metadata=counted if usage.calls else None,
            )
        )


class Drafts:
    """The drafts of one run of a node, each a message of its own; one that begins anew is another message."""

    def __init__(self) -> None:
        self._draft = (0, 0)
        self._id = ""

    def push(self, token: Token) -> None:
        """The next bit of a draft."""
        draft = token.attempt, token.candidate
        if token.restart or draft != self._draft:
            self._draft, self._id = draft, f"draft-{uuid4().hex}"
        if token.text and _config() is not None:
            _push(AIMessageChunk(content=token.text, id=self._id))


def _config() -> RunnableConfig | None:
    """That of the node which is running; None where nobody listens."""
    config = var_child_runnable_config.get()
    return config if config and getattr(config.get("callbacks"), "handlers", None) else None


def _push(message: AIMessage) -> None:
    push_message(message, state_key=None)
