"""Who says whether the words of a web query may leave: a callback, or a person to whom the graph gives way.

A node that gives way runs again from its beginning once it is answered: what it has paid for before that is kept as the
result of a LangGraph task (see `own_words`), and nothing leaves before the answer.
"""

from __future__ import annotations

from langgraph.config import get_config
from langgraph.types import interrupt

from local_rag.core.events import WebQuery
from local_rag.graphs.state import LENT, Deps, by_interrupt

YES, NO = ("yes", "y"), ("no", "n", "")


def gives_way(deps: Deps) -> bool:
    """Whether the graph is interrupted to ask; that needs a checkpointer to go on from."""
    return deps.may_search is by_interrupt and bool(get_config()["configurable"].get(LENT))


def allowed(query: WebQuery, deps: Deps) -> WebQuery | None:
    """The query that may leave, None where none may.

    An interruption is answered with yes or no (or True or False), or with other words, which leave in place of these.
    """
    if not gives_way(deps):
        return query if deps.may_search(query) else None
    reply = interrupt({"query": query.query, "engine": query.engine, "answer": "yes, no, or other words"})
    if isinstance(reply, bool):
        return query if reply else None
    words = reply.strip() if isinstance(reply, str) else ""
    if words.casefold() in YES:
        return query
    return None if words.casefold() in NO else WebQuery(deps.web.words(words), query.engine)
