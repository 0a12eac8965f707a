"""What `stream_mode="messages"` yields: the answer once it stands, and every draft where these are asked for.

A draft can be rejected, and a verdict is JSON: so no call to a model is a message of its own (see `core.events`).
Where LangGraph was asked for no messages, nothing here has any effect.
"""

from __future__ import annotations

from uuid import uuid4

from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.messages.ai import UsageMetadata
from langchain_core.runnables.config import var_child_runnable_config
from langgraph.graph.message import push_message

from local_rag.core.answer import Answer
from local_rag.core.events import Token


def push_answer(answer: Answer) -> None:
    """The answer as one message, with what it is and what it cost."""
    if _is_heard():
        usage = answer.usage
        counted = UsageMetadata(
            input_tokens=usage.prompt_tokens,
            output_tokens=usage.output_tokens,
            total_tokens=usage.prompt_tokens + usage.output_tokens,
        )
        about = {"status": answer.status, "model_name": answer.engine}
        message = AIMessage(
            content=answer.text,
            id=f"answer-{uuid4().hex}",
            response_metadata=about,
            usage_metadata=counted if usage.calls else None,
        )
        push_message(message, state_key=None)


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
        if token.text and _is_heard():
            push_message(AIMessageChunk(content=token.text, id=self._id), state_key=None)


def _is_heard() -> bool:
    """Whether somebody listens to the node that is running."""
    config = var_child_runnable_config.get()
    return bool(config and getattr(config.get("callbacks"), "handlers", None))
