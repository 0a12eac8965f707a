"""A cache for what an index computes between two searches."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeVar, cast

T = TypeVar("T")


class Cache:
    """Values by name, each with the key that it was made for: another key, such as a later generation, makes it stale.

    Any thread may ask; one thread at a time makes a value.
    """

    def __init__(self) -> None:
        self._known: dict[str, tuple[object, Any]] = {}
        self._lock = threading.RLock()

    def get(self, name: str, key: object, make: Callable[[], T]) -> T:
        """Return the value of this name for this key; call `make` for it where none is kept or the key is another
        one.
        """
        with self._lock:
            if name not in self._known or self._known[name][0] != key:
                self._known.pop(name, None)  # it may be large, and so may the new one
                self._known[name] = key, make()
            return cast(T, self._known[name][1])

    def clear(self) -> None:
        with self._lock:
            self._known.clear()
