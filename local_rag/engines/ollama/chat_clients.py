"""The chat clients of one server, one for each set of options."""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx

from local_rag.engines.ollama.clients import chat_ollama
from local_rag.engines.ollama.context_window import Use
from local_rag.engines.ollama.model_loads import duration
from local_rag.engines.ollama.replies import ChatRequest
from local_rag.engines.ollama.server import Server
from local_rag.engines.ollama.transport import CONNECT, NoTransport

if TYPE_CHECKING:
    from langchain_ollama import ChatOllama

SEED = 42


class ChatClients:
    """Built once each: `bind(options=…)` would replace the whole set of options, `num_ctx` too."""

    def __init__(self, server: Server, keep_alive: str) -> None:
        self._server = server
        self._keep_alive = duration(keep_alive)
        self._clients: dict[tuple[Use, int, int], ChatOllama] = {}

    def of(self, request: ChatRequest) -> ChatOllama:
        key = (request.use, request.cap, request.variant)
        if key not in self._clients:
            self._clients[key] = chat_ollama()(
                model=request.use.model,
                base_url=self._server.address.url,
                num_ctx=request.use.num_ctx,
                num_predict=request.cap + request.use.thoughts,
                temperature=0.7 if request.variant else 0.0,
                seed=SEED + request.variant,
                reasoning=request.use.think,
                keep_alive=self._keep_alive,
                sync_client_kwargs={
                    "transport": self._server.transport,
                    "trust_env": False,
                    "follow_redirects": False,
                    "timeout": httpx.Timeout(None, connect=CONNECT),
                },
                async_client_kwargs={"transport": NoTransport(), "trust_env": False},
            )
        return self._clients[key]
