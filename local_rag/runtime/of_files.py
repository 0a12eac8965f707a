"""What is kept of the files of an index, until they change: summaries, and answers to a question of many files."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from typing import TYPE_CHECKING

from local_rag.core.errors import LocalRagError

if TYPE_CHECKING:
    from local_rag.runtime.history import History


class KeptOfFiles:
    """It lies in the history, which is each person's own, also where an index is shared. Nothing fails because it
    cannot be read or written.
    """

    def __init__(self, history: Callable[[], History], folder: str) -> None:
        self._history, self._folder = history, folder

    def get(self, name: str, source: str, made: str) -> str:
        with suppress(LocalRagError):
            return self._history().of_file(name, source, self._folder, sha256(made.encode()).hexdigest())
        return ""

    def put(self, name: str, source: str, made: str, value: str) -> None:
        with suppress(LocalRagError):
            self._history().keep_of_file(name, source, self._folder, sha256(made.encode()).hexdigest(), value)
