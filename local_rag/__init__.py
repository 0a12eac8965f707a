"""Ask your own files, on your own machine: Self-RAG, Corrective RAG and Adaptive RAG, fully local.

    from local_rag import Rag

    with Rag.open() as rag:
        print(rag.ask("What is the notice period?"))

The public names are imported on first use, so that `import local_rag` is fast.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from local_rag.config.settings import Settings
    from local_rag.core.answer import Answer, Citation
    from local_rag.core.documents import Narrowing
    from local_rag.core.errors import LocalRagError
    from local_rag.engines.chat_model import from_chat_model
    from local_rag.graphs.adaptive import adaptive
    from local_rag.graphs.crag import crag
    from local_rag.graphs.deps import Deps
    from local_rag.graphs.plain import plain
    from local_rag.graphs.self_rag import self_rag
    from local_rag.graphs.state import State
    from local_rag.index.index import Index
    from local_rag.runtime.history import History
    from local_rag.runtime.rag import Rag
    from local_rag.text.answer_html import answer_html

__version__ = "0.1.0"

_HOMES = {
    "Answer": "local_rag.core.answer",
    "Citation": "local_rag.core.answer",
    "Deps": "local_rag.graphs.deps",
    "History": "local_rag.runtime.history",
    "Index": "local_rag.index.index",
    "LocalRagError": "local_rag.core.errors",
    "Narrowing": "local_rag.core.documents",
    "Rag": "local_rag.runtime.rag",
    "Settings": "local_rag.config.settings",
    "State": "local_rag.graphs.state",
    "adaptive": "local_rag.graphs.adaptive",
    "answer_html": "local_rag.text.answer_html",
    "crag": "local_rag.graphs.crag",
    "from_chat_model": "local_rag.engines.chat_model",
    "plain": "local_rag.graphs.plain",
    "self_rag": "local_rag.graphs.self_rag",
}

__all__ = [
    "Answer",
    "Citation",
    "Deps",
    "History",
    "Index",
    "LocalRagError",
    "Narrowing",
    "Rag",
    "Settings",
    "State",
    "adaptive",
    "answer_html",
    "crag",
    "from_chat_model",
    "plain",
    "self_rag",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'local_rag' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
