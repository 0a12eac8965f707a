"""The client libraries, imported so that no variable of the shell has a say.

`import ollama` makes a client at once: it reads OLLAMA_HOST and the proxy variables, and fails on a SOCKS proxy.
"""

from __future__ import annotations

import os
import threading
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType

    from langchain_ollama import ChatOllama

_QUIET = {"NO_PROXY": "*", "no_proxy": "*", "OLLAMA_HOST": "127.0.0.1"}
"""`NO_PROXY=*` is httpx's word for "no proxy at all", also none of the system's settings."""

_lock = threading.Lock()


@cache
def ollama() -> ModuleType:
    """ollama-python."""
    with _lock:
        before = {name: os.environ.get(name) for name in _QUIET}
        os.environ |= _QUIET
        try:
            import ollama
        finally:
            for name, value in before.items():
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value
    module: ModuleType = ollama
    return module


def chat_ollama() -> type[ChatOllama]:
    """The chat model of langchain-ollama, which imports ollama-python."""
    ollama()
    from langchain_ollama import ChatOllama

    return ChatOllama
