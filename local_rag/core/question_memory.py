"""What is computed once while one question is answered, and dropped at its end: readings and vectors.

Engines keep no state between questions: one engine serves several questions at once, and none may pay for another. The
memory travels with the Deps of a question. Its scope is a context variable, as in `core.cancel`, so that the protocols
need not carry it through every signature; no answer depends on it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

QuestionMemory = dict[Hashable, Any]
"""What is kept for one question: (who keeps it, what it is) -> the readings, the vectors."""

_current: ContextVar[QuestionMemory | None] = ContextVar("local_rag_question_memory", default=None)


@contextmanager
def scope(memory: QuestionMemory) -> Iterator[None]:
    """Everything called inside works on the question that this memory belongs to."""
    token = _current.set(memory)
    try:
        yield
    finally:
        _current.reset(token)


def current() -> QuestionMemory:
    """The question's memory; outside a question a new one, so nothing is kept."""
    memory = _current.get()
    return QuestionMemory() if memory is None else memory
