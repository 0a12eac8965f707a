"""Define the events that report the work on a question as it happens."""

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
    """Report that a node has started; `doing` is the text to show meanwhile ("grading 4 passages")."""

    node: str
    doing: str


@dataclass(frozen=True)
class Step:
    """Report that a node has ended after `seconds`; `state` is the graph's state then: question, documents, …"""

    node: str
    seconds: float
    state: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Retrieved:
    """Report the passages that a query found in the index or on the web, best first."""

    query: str
    documents: tuple[Document, ...]


@dataclass(frozen=True)
class Called:
    """Report a request to a language model and its cost."""

    call: Call


@dataclass(frozen=True)
class Note:
    """Report a message for a person, such as a passage that had to be left out."""

    text: str


@dataclass(frozen=True)
class Token:
    """Report a part of a draft, which can still be rejected.

    `attempt` counts drafts from 1, `candidate` the drafts of one attempt. `restart`: the draft begins anew.
    """

    text: str
    attempt: int
    restart: bool = False
    candidate: int = 1


@dataclass(frozen=True)
class WebQuery:
    """Report the exact words that are about to leave this machine, and the search engine that gets them."""

    query: str
    engine: str


@dataclass(frozen=True)
class Done:
    answer: Answer


Event = Started | Step | Retrieved | Graded | Called | Note | Token | WebQuery | Done


SILENT = "nostream"
"""LangGraph's tag that keeps a model's tokens out of the graph's messages: drafts can be rejected, verdicts are JSON.
"""


def retrieval(name: str, query: str, search: Callable[[], list[Document]]) -> list[Document]:
    """Return the documents that `search` finds, and report them to the callbacks of the running node."""
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
