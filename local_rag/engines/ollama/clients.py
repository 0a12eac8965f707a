"""The client libraries, imported so that no variable of the shell has a say.

`import ollama` makes a client at once: it reads OLLAMA_HOST and the proxy variables, and fails on a SOCKS proxy.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from local_rag.core import process

if TYPE_CHECKING:
    from types import ModuleType

    from langchain_ollama import ChatOllama

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
