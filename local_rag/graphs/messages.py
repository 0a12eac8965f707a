"""What `stream_mode="messages"` yields: the answer once it stands, and every draft where these are asked for.

A draft can be rejected, and a verdict is JSON: so no call to a model is a message of its own (see `core.events`).
Where LangGraph was asked for no messages, nothing here has any effect.
"""

from __future__ import annotations

import re
from uuid import uuid4

from langchain_core.messages import AIMessageChunk
from langchain_core.messages.ai import UsageMetadata
from langchain_core.runnables.config import RunnableConfig, set_config_context, var_child_runnable_config
from langgraph.graph.message import push_message

from local_rag.core.events import Token
from local_rag.core.verdicts import Usage
from local_rag.graphs.state import State

WRITER = "generate"
"""The node whose text a grader accepts: messages of the answer carry its name, as those of the tutorials do."""

_WORDS = re.compile(r"\S+\s*|\s+")


def push_answer(state: State, node: str, engine: str) -> None:
    """The answer as chunks of one message, which joined are its text; the last one says what it is and what it cost.

    `node` has written the answer, or found the best there is.
    """
    config, text, usage = _config(), state["generation"], state.get("usage", Usage())
    if config is None:
        return
    identifier, pieces = f"answer-{uuid4().hex}", _WORDS.findall(text) or [""]
    with set_config_context(config | {"metadata": {**config["metadata"], "langgraph_node": node}}) as context:
        for piece in pieces[:-1]:
            context.run(_push, AIMessageChunk(content=piece, id=identifier))
        tokens = usage.prompt_tokens, usage.output_tokens
        counted = UsageMetadata(input_tokens=tokens[0], output_tokens=tokens[1], total_tokens=sum(tokens))
        last = AIMessageChunk(
            content=pieces[-1],
            id=identifier,
            chunk_position="last",
            response_metadata={"status": state.get("status", "abstained"), "model_name": engine},
            usage_metadata=counted if usage.calls else None,
        )
        context.run(_push, last)


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


def _push(chunk: AIMessageChunk) -> None:
    push_message(chunk, state_key=None)
