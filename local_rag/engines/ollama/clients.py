"""The clients of a server: the client libraries are imported so that no variable of the shell has a say.

`import ollama` makes a client at once: it reads OLLAMA_HOST and the proxy variables, and fails on a SOCKS proxy.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import httpx

from local_rag.core import process
from local_rag.engines.language_model.context_window import ModelSetup
from local_rag.engines.language_model.replies import ChatRequest
from local_rag.engines.ollama.model_loads import duration
from local_rag.engines.ollama.transport import CONNECT, NoTransport

if TYPE_CHECKING:
    from types import ModuleType

    from langchain_ollama import ChatOllama

    from local_rag.engines.ollama.server import Server

SEED = 42

_QUIET = {"NO_PROXY": "*", "no_proxy": "*", "OLLAMA_HOST": "127.0.0.1"}
"""`NO_PROXY=*` is httpx's word for "no proxy at all", also none of the system's settings."""


@cache
def ollama() -> ModuleType:
    """ollama-python. Its import needs help only where a variable of the shell makes it fail."""
    try:
        import ollama as library
    except (ImportError, ValueError):
        with process.environment(_QUIET):
            import ollama as library
    return library


def chat_ollama() -> type[ChatOllama]:
    """The chat model of langchain-ollama, which imports ollama-python."""
    ollama()
    from langchain_ollama import ChatOllama

    return ChatOllama


def about(request: ChatRequest) -> dict[str, Any]:
    """The options of a request that the client of its model has."""
    return {
        "num_ctx": request.setup.num_ctx,
        "num_predict": request.cap + request.setup.thoughts,
        "temperature": 0.7 if request.variant else 0.0,
        "seed": SEED + request.variant,
    }


class ChatClients:
    """The chat clients of one server, one for each set of options.

    Built once each: `bind(options=…)` would replace the whole set of options, `num_ctx` too.
    """

    def __init__(self, server: Server, keep_alive: str) -> None:
        self._server = server
        self._keep_alive = duration(keep_alive)
        self._clients: dict[tuple[ModelSetup, int, int], ChatOllama] = {}

    def of(self, request: ChatRequest) -> ChatOllama:
        key = (request.setup, request.cap, request.variant)
        if key not in self._clients:
            self._clients[key] = chat_ollama()(
                model=request.setup.model,
                base_url=self._server.address.url,
                **about(request),
                reasoning=request.setup.think,
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
