"""What the callbacks of the calling program are told: each call to a language model, each retrieval.

LangChain carries callbacks in a context variable, as `core.cancel` carries the stop button: what a node calls finds
those that the node was given, and its runs are nested below the node's. Where nobody listens nothing is told, and no
variable of the environment makes anybody listen.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from langchain_core.callbacks import CallbackManager
    from langchain_core.documents import Document


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
