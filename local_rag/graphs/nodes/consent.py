"""Who says whether the words of a web query may leave: a callback, or a person whom an interruption of the graph asks.

A node that is interrupted runs again from its beginning once it is answered: what it has paid for before that is kept
as the result of a LangGraph task (see `own_words`), and nothing leaves before the answer.
"""

from __future__ import annotations

import re

from langgraph.config import get_config
from langgraph.types import interrupt

from local_rag.core.events import WebQuery
from local_rag.graphs.deps import Deps, by_interrupt
from local_rag.graphs.state import PARENT_SAVER

ANSWERS = 'yes, no, or another query: two words or more, or {"query": "…"}'
"""What an interruption may be answered with, as it tells its caller."""

YES = frozenset({"yes", "y", "ja", "j"})
REFUSALS = (
    *("no", "n", "nope", "nah", "not", "never", "none", "nothing", "stop", "cancel", "abort", "quit", "don't", "dont"),
    *("do not", "please don't", "please do not", "i don't", "i do not", "i'd rather not", "rather not", "better not"),
    *("nein", "nee", "nö", "ne", "nicht", "nie", "niemals", "nichts", "kein", "keine", "keinesfalls", "stopp", "halt"),
    *("abbrechen", "abbruch", "auf keinen fall", "bitte nicht", "lieber nicht", "besser nicht", "ich will nicht"),
    *("ich möchte nicht", "tu das nicht", "mach das nicht", "lass das", "lass es"),
)
"""How a refusal begins in English and German, the languages of the program's own sentences."""


def is_interrupted_to_ask(deps: Deps) -> bool:
    """Whether the graph is interrupted to ask; that needs a checkpointer to go on from."""
    return deps.may_search is by_interrupt and bool(get_config()["configurable"].get(PARENT_SAVER))


def allowed(query: WebQuery, deps: Deps) -> WebQuery | None:
    """The query that may leave, None where none may.

    An interruption is answered with yes or no (or True or False), or with a query that leaves in place of this one:
    `{"query": …}`, or a string of at least two words that does not begin as a yes or a refusal does. Nothing leaves
    after any other reply.
    """
    if not is_interrupted_to_ask(deps):
        return query if deps.may_search(query) else None
    reply = interrupt({"query": query.query, "engine": query.engine, "answer": ANSWERS})
    if reply is True or (isinstance(reply, str) and _plain(reply) in YES):
        return query
    other = _other_query(reply)
    return WebQuery(deps.web.words(other), query.engine) if other else None


def _other_query(reply: object) -> str:
    """The query that a reply names, empty where it names none."""
    if isinstance(reply, dict):
        named = reply.get("query")
        return named.strip() if isinstance(named, str) else ""
    plain = _plain(reply) if isinstance(reply, str) else ""
    is_query = " " in plain and not any(f"{plain} ".startswith(f"{word} ") for word in (*YES, *REFUSALS))
    return str(reply).strip() if is_query else ""


def _plain(reply: str) -> str:
    """Its words in small letters, with one blank between them."""
    return " ".join(re.findall(r"[\w']+", reply.casefold().replace("’", "'")))
