"""What an engine remembers while one question is answered, and drops at its end.

Engines keep no state between questions: one engine serves several questions at once, and none may pay for another. The
memory travels with the Deps of a question. Its scope is a context variable, as in `core.cancel`, so that the Engine
protocol need not carry it through every signature.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

T = TypeVar("T")


class QuestionMemory:
    """The objects that are kept for one question, by key."""

    def __init__(self) -> None:
        self._kept: dict[Hashable, object] = {}

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """The object of this key, made on first use."""
        if key not in self._kept:
            self._kept[key] = make()
        kept: T = self._kept[key]  # type: ignore[assignment]  # one key always has one type
        return kept


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
    return _current.get() or QuestionMemory()
