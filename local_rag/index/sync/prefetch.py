"""An iterator that runs ahead on a thread of its own, so far and no farther."""

from __future__ import annotations

import contextvars
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Generic, TypeVar

from local_rag.core import cancel

T = TypeVar("T")

_POLL = 0.1
"""Seconds between two looks for Ctrl-C, which cannot interrupt a wait without end on Windows."""


class Ahead(Generic[T], Iterator[T]):
    """The items of `source`, which are made while the last ones are used; in a `with`, which ends the thread.

    It waits while items of at least `limit` in all wait, so a single heavy one never blocks it. What `source` raises is
    raised where the item would have come. When no more is wanted, `source` is told to stop, by the cancel scope that it
    runs in; `interrupt` ends what it may be waiting for.
    """

    def __init__(
        self,
        source: Iterable[T],
        weight: Callable[[T], int],
        limit: int,
        interrupt: Callable[[], None] = lambda: None,
    ) -> None:
        self._source, self._weight, self._limit, self._interrupt = source, weight, limit, interrupt
        self._items: deque[tuple[T, int]] = deque()
        self._waiting = 0
        self._ended = self._unwanted = False
        self._error: BaseException | None = None
        self._changed = threading.Condition()
        self._cancel = cancel.Cancel(outer=cancel.current())
        context = contextvars.copy_context()
        self._thread = threading.Thread(target=context.run, args=(self._work,), name="local-rag-ahead", daemon=True)

    def __enter__(self) -> Ahead[T]:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._cancel.stop()
        with self._changed:
            self._unwanted = True
            self._changed.notify_all()
        if self._thread.is_alive():
            self._interrupt()
        while self._thread.is_alive():
            self._thread.join(_POLL)

    def __next__(self) -> T:
        with self._changed:
            while not (self._items or self._ended):
                cancel.check()
                self._changed.wait(_POLL)
            if self._items:
                item, weight = self._items.popleft()
                self._waiting -= weight
                self._changed.notify_all()
                return item
        error, self._error = self._error, None
        raise error or StopIteration

    def ready(self, seconds: float) -> bool:
        """Whether there is a next item after so many seconds at most."""
        with self._changed:
            return bool(self._changed.wait_for(lambda: self._items or self._ended, seconds) and self._items)

    def _work(self) -> None:
        with cancel.scope(self._cancel):
            self._make()

    def _make(self) -> None:
        try:
            for item in self._source:
                weight = self._weight(item)
                with self._changed:
                    self._changed.wait_for(lambda: self._waiting < self._limit or self._unwanted)
                    if self._unwanted:
                        return
                    self._items.append((item, weight))
                    self._waiting += weight
                    self._changed.notify_all()
        except BaseException as error:
            self._error = error
        finally:
            with self._changed:
                self._ended = True
                self._changed.notify_all()
