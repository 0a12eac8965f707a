"""What makes the first answer come sooner: work that can go on meanwhile, and imports that nobody needs left out."""

from __future__ import annotations

import importlib.util
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from local_rag.index.embed.embedder import SentenceTransformerEmbedder


def warm(embedder: SentenceTransformerEmbedder) -> threading.Thread:
    """Load the embedder on a thread, if that takes a moment only; what goes wrong is told where it is used."""

    def load() -> None:
        with suppress(Exception):
            if embedder.ready:
                embedder.load()

    thread = threading.Thread(target=load, name="local-rag-warm", daemon=True)
    thread.start()
    return thread


def import_langgraph() -> None:
    """Import LangGraph without the models of LangSmith's service, a third of its import: nothing is traced here.

    Where a version of it needs them after all, the ordinary import follows. For a process of our own: while it imports,
    no other thread should look for those models.
    """
    if "langgraph.graph" not in sys.modules:
        with suppress(ImportError), hollow("langsmith.types"):
            import langgraph.graph  # noqa: F401


@contextmanager
def hollow(package: str) -> Iterator[None]:
    """Let the modules of a package be imported without running its `__init__`, which imports all the others.

    Whoever imports the package afterwards gets it whole; one that is there already, or not installed, is left alone.
    """
    spec = importlib.util.find_spec(package) if package not in sys.modules else None
    if spec is None:
        yield
        return
    shell = sys.modules[package] = importlib.util.module_from_spec(spec)
    try:
        yield
    finally:
        if sys.modules.get(package) is shell:
            del sys.modules[package]
