"""Who says whether the words of a web query may leave: a callback, or a person whom an interruption of the graph asks.

A node that is interrupted runs again from its beginning once it is answered: what it has paid for before that is kept
as the result of a LangGraph task (see `own_words`), and nothing leaves before the answer.
"""

from __future__ import annotations

from langgraph.config import get_config
from langgraph.types import interrupt

from local_rag.core.events import WebQuery
from local_rag.graphs.deps import Deps, by_interrupt

ANSWERS = 'yes, no, or another query: {"query": "…"}'
"""What an interruption may be answered with, as it tells its caller."""

YES = frozenset({"yes", "y", "ja", "j"})


def is_interrupted_to_ask(deps: Deps) -> bool:
    """Whether the graph is interrupted to ask: a checkpointer to go on from needs a thread, and else none is named."""
    return deps.may_search is by_interrupt and "thread_id" in get_config().get("configurable", {})


def allowed(query: WebQuery, deps: Deps) -> WebQuery | None:
    """The query that may leave, None where none may.

    An interruption is answered with yes (or True), or with `{"query": …}`, a query that leaves in place of this one.
    Nothing leaves after any other reply.
    """
    if not is_interrupted_to_ask(deps):
        return query if deps.may_search(query) else None
    reply = interrupt({"query": query.query, "engine": query.engine, "answer": ANSWERS})
    if reply is True or (isinstance(reply, str) and reply.strip().casefold().rstrip(".!") in YES):
        return query
    named = reply.get("query") if isinstance(reply, dict) else None
    other = named.strip() if isinstance(named, str) else ""
    return WebQuery(deps.web.words(other), query.engine) if other else None
