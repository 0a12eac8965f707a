"""Keep the Rags of a server open between questions, so that each loads its models once."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING

from local_rag.config.server_index import IndexAddress
from local_rag.config.settings import Settings, full_name
from local_rag.core.errors import LocalRagError

if TYPE_CHECKING:
    from local_rag.runtime.rag import Rag

KEPT = 4
"""The maximum number of Rags that stay open for the next question."""


class OpenRags:
    """Keep one Rag per index and settings; it serves several threads, and nobody else may close the Rags."""

    def __init__(self) -> None:
        self._rags: dict[Hashable, Rag] = {}  # the last used comes last
        self._uses: Counter[Rag] = Counter()
        self._lock, self._opening = threading.Lock(), threading.Lock()

    @contextmanager
    def using(self, settings: Settings) -> Iterator[Rag]:
        """Give the Rag under these settings for as long as the context lasts; raise what `Rag.open` raises."""
        from local_rag.runtime.rag import Rag

        key = settings.values, settings.data_folder, settings.models
        rag = self._taken(key)
        if rag is None:
            with self._opening:
                rag = self._taken(key) or self._taken(key, Rag.open(settings))
        assert rag is not None
        try:
            yield rag
        finally:
            with self._lock:
                self._uses[rag] -= 1
                self._close_oldest()

    def warm(self, settings: Settings, first: Callable[[Rag], object]) -> None:
        """Open a Rag and call `first` on a thread, ahead of the first question, which reports any error itself."""

        def work() -> None:
            with suppress(LocalRagError), self.using(settings) as rag:
                first(rag)

        threading.Thread(target=work, name="local-rag-warm", daemon=True).start()

    def _taken(self, key: Hashable, opened: Rag | None = None) -> Rag | None:
        with self._lock:
            rag = self._rags.pop(key, opened)
            if rag is not None:
                self._rags[key] = rag
                self._uses[rag] += 1
                self._close_oldest()
            return rag

    def _close_oldest(self) -> None:
        """Close the unused Rags that were used longest ago, until at most `KEPT` are open."""
        idle = [key for key, rag in list(self._rags.items())[:-1] if not self._uses[rag]]
        for key in idle[: max(0, len(self._rags) - KEPT)]:
            self._close(key)

    def let_go(self, index: IndexAddress) -> bool:
        """Close the Rags of an index that is about to be deleted; return False if one is in use."""
        with self._opening, self._lock:
            keys = [key for key, rag in self._rags.items() if full_name(index) in rag.folders]
            if any(self._uses[self._rags[key]] for key in keys):
                return False
            for key in keys:
                self._close(key)
            return True

    def _close(self, key: Hashable) -> None:
        rag = self._rags.pop(key)
        del self._uses[rag]
        rag.close()

    def close(self) -> None:
        """Close all Rags, even if closing one fails."""
        with ExitStack() as opened:
            for rag in self._rags.values():
                opened.callback(rag.close)
            self._rags.clear()
