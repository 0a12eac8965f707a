"""Events: what happens while a question is worked on, as it happens."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from local_rag.core.answer import Answer
from local_rag.core.verdicts import Call, Graded

if TYPE_CHECKING:
    from langchain_core.documents import Document


@dataclass(frozen=True)
class Started:
    """A node has started; `doing` is what a person is shown meanwhile ("grading 4 passages")."""

    node: str
    doing: str


@dataclass(frozen=True)
class Step:
    """A node has ended after so many seconds; `state` is that of the graph then: question, documents, decisions, …"""

    node: str
    seconds: float
    state: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Retrieved:
    """The passages that a query brought, best first: of the index, or of the web."""

    query: str
    documents: tuple[Document, ...]


@dataclass(frozen=True)
class Called:
    """A language model was asked, and what that cost."""

    call: Call


@dataclass(frozen=True)
class Note:
    """What a person should know while it happens, such as a passage that had to be left out."""

    text: str


@dataclass(frozen=True)
class Token:
    """A bit of a draft. A draft can still be rejected: `attempt` counts them from 1, `candidate` those of one attempt.

    `restart`: it begins anew.
    """

    text: str
    attempt: int
    restart: bool = False
    candidate: int = 1


@dataclass(frozen=True)
class WebQuery:
    """The exact words that are about to leave this machine, and to which search engine."""

    query: str
    engine: str


@dataclass(frozen=True)
class Done:
    answer: Answer


Event = Started | Step | Retrieved | Graded | Called | Note | Token | WebQuery | Done


SILENT = "nostream"
"""LangGraph's tag for a model whose tokens are no message of the graph: drafts can be rejected, verdicts are JSON."""


def retrieval(name: str, query: str, search: Callable[[], list[Document]]) -> list[Document]:
    """What `search` brings, with the callbacks of the node that is running told of it."""
    from langchain_core.runnables.config import ensure_config, get_callback_manager_for_config

    config = ensure_config()
    manager = get_callback_manager_for_config(config) if config.get("callbacks") else None
    run = None
    if manager and manager.handlers:
        run = manager.on_retriever_start({"name": name, "id": [name]}, query, name=name)
    try:
        documents = search()
    except BaseException as error:
        if run is not None:
            run.on_retriever_error(error)
        raise
    if run is not None:
        run.on_retriever_end(documents)
    return documents
