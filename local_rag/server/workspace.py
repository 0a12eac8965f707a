"""The workspace: what a server works on, opened on first use and closed at the end."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import Depends, Request

from local_rag.config.settings import Settings
from local_rag.config.values import Values
from local_rag.core.errors import ConfigError, LocalRagError, Stopped, UsageError
from local_rag.runtime.history import History
from local_rag.server.auth import Access, Limits
from local_rag.server.errors import ApiError, NotFound
from local_rag.server.jobs import Jobs
from local_rag.server.listings import FileListings
from local_rag.server.originals import PagePictures
from local_rag.server.unfinished import Unfinished

if TYPE_CHECKING:
    from local_rag.runtime.rag import Rag
    from local_rag.runtime.watching import Watching

RAGS = 4
"""Indexes with their settings that stay open for the next question."""


class Workspace:
    """Settings, what they name once it is opened, and the folders below which the page may index.

    `flags` are the settings that the command line gave; they hold for every index. `watched` has who follows the files
    of an index, by its folder, until it is `closing`. Serves several threads.
    """

    def __init__(
        self,
        settings: Settings,
        access: Access,
        flags: Mapping[str, Any] | None = None,
        roots: Sequence[Path] = (),
        limits: Limits | None = None,
    ) -> None:
        self.settings, self.access, self.flags, self.limits = settings, access, flags or {}, limits or Limits()
        self.roots = [root.expanduser().resolve() for root in roots]
        self.jobs, self.files, self.pages = Jobs(self.limits.waiting), FileListings(), PagePictures()
        self.unfinished = Unfinished(settings.data_folder)
        self.began = datetime.now(UTC).isoformat(timespec="milliseconds")
        self.watched: dict[Path, Watching] = {}
        self.closing = threading.Event()
        self._history: History | None = None
        self.heavy_turn, self.heavy_requests = asyncio.Semaphore(self.limits.heavy), 0
        self._rags: dict[Values, Rag] = {}  # used last stands last
        self._uses: Counter[Rag] = Counter()
        self._lock = threading.RLock()

    def settings_of(self, index: str | Sequence[str] | None = None, *, new: bool = False, **values: Any) -> Settings:
        """The settings in force with another index (or several) and further values (`limits__seconds=60`).

        None means as they are. Raises ConfigError, UsageError, and NotFound for an index that is none of `indexes`,
        unless it may be a `new` one: a client names no paths.
        """
        known = [index] if new else self.indexes()
        for name in [index] if isinstance(index, str) else index or ():
            if name not in known:
                raise NotFound(f"there is no index {name!r} here", "local-rag serve --index NAME   serves another one")
        given = {name: value for name, value in {**values, "index": index}.items() if value is not None}
        if not given:
            return self.settings
        try:
            return Settings.load(**{**self.flags, **given})
        except ConfigError as error:
            Settings.load(**self.flags)  # raises what is wrong with the settings themselves
            raise UsageError(str(error), hint=error.hint) from error

    def indexes(self) -> list[str]:
        """The names of the indexes that can be asked: those of the settings, and what else is in the data folder."""
        from local_rag.index.store.sqlite.folder import has_database

        below = self.settings.data_folder / "indexes"
        others = sorted(path.name for path in below.iterdir() if has_database(path)) if below.is_dir() else []
        return list(dict.fromkeys([*self.settings.index_paths, *others]))

    @contextmanager
    def using(self, index: str | Sequence[str] | None = None, **values: Any) -> Iterator[Rag]:
        """What answers questions about an index under these settings; opened once, and kept for the next question.

        Nobody but the workspace closes it. Raises what `Rag.open` raises.
        """
        from local_rag.runtime.rag import Rag

        settings = self.settings_of(index, **values)
        with self._lock:
            rag = self._rags.pop(settings.values, None) or Rag.open(settings)
            self._rags[settings.values] = rag
            self._uses[rag] += 1
            self._close_oldest()
        try:
            yield rag
        finally:
            with self._lock:
                self._uses[rag] -= 1
                self._close_oldest()

    def warm(self) -> None:
        """Open what the first question needs, on a thread; what fails is left to that question."""

        def first() -> None:
            with suppress(LocalRagError), self.using() as rag:
                rag.graph(self.settings.values.graph)

        with self._lock:
            if not self._rags:
                threading.Thread(target=first, name="local-rag-warm", daemon=True).start()

    def _close_oldest(self) -> None:
        """Close what was opened or taken longest ago and nobody uses, as far as there is too much."""
        idle = [key for key, rag in list(self._rags.items())[:-1] if not self._uses[rag]]
        for key in idle[: max(0, len(self._rags) - RAGS)]:
            self._close(key)

    def let_go(self, folder: Path) -> None:
        """Close what has the index in a folder open, which is about to go. Raises ApiError (409) while it is asked."""
        with self._lock:
            keys = [key for key, rag in self._rags.items() if str(folder.resolve()) in rag.folders]
            if any(self._uses[self._rags[key]] for key in keys):
                raise ApiError(409, "conflict", "a question asks this index now", "wait until it is answered")
            for key in keys:
                self._close(key)

    def _close(self, key: Values) -> None:
        rag = self._rags.pop(key)
        del self._uses[rag]
        rag.close()

    @property
    def history(self) -> History:
        """What is kept of questions in the data folder: chats, records and judgements."""
        with self._lock:
            self._history = self._history or History.open(self.settings.data_folder)
            return self._history

    def close(self) -> None:
        """Stop every job and close what is open; what fails to close keeps nothing else open."""
        self.unfinished.ending = True
        self.closing.set()
        self.jobs.close()
        with ExitStack() as opened:
            for part in (self._history, self.pages, *self._rags.values()):
                if part is not None:
                    opened.callback(part.close)
            self._rags.clear()


def workspace_of(request: Request) -> Workspace:
    workspace: Workspace = request.app.state.workspace
    return workspace


async def heavy(request: Request) -> AsyncIterator[None]:
    """Lets few requests work at a time that work for long, so that others are answered meanwhile.

    Raises ApiError where too many wait, Stopped where the client has left.
    """
    workspace = workspace_of(request)
    limits = workspace.limits
    if workspace.heavy_requests >= limits.heavy + limits.heavy_waiting:
        raise ApiError(429, "busy", f"{limits.heavy_waiting} requests like this are waiting already", "try again")
    workspace.heavy_requests += 1
    try:
        async with workspace.heavy_turn:
            if await request.is_disconnected():
                raise Stopped("the client has left")
            yield
    finally:
        workspace.heavy_requests -= 1


Here = Annotated[Workspace, Depends(workspace_of)]
HEAVY = [Depends(heavy)]
"""Dependencies of an endpoint that works for long and changes nothing."""
