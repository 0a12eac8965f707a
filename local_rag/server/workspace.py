"""Open the indexes, models and records that a server uses on first use, and close them at the end."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import Depends, Request

from local_rag.config.server_index import IndexAddress
from local_rag.config.settings import Settings
from local_rag.core.errors import ConfigError, NotFound, Stopped, UsageError
from local_rag.runtime.history import History
from local_rag.runtime.open_rags import OpenRags
from local_rag.runtime.opening import indexes_of
from local_rag.server.auth import Access, Limits
from local_rag.server.errors import ApiError
from local_rag.server.jobs import Jobs
from local_rag.server.listings import FileListing, FileListings
from local_rag.server.originals import PagePictures
from local_rag.server.unfinished import Unfinished

if TYPE_CHECKING:
    from local_rag.runtime.rag import Rag
    from local_rag.runtime.watching import Watching


class Workspace:
    """Hold the settings, everything opened for them, and the folders below which the page may index.

    `flags` are the settings from the command line; they apply to every index. `watched` has the watcher of each index
    by its folder; watchers end when `closing` is set. `suggested` has the suggested questions by index and generation.
    Several threads may use a workspace.
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
        self.watched: dict[IndexAddress, Watching] = {}
        self.closing = threading.Event()
        self.rags = OpenRags()
        self.suggested: dict[tuple[IndexAddress, str], list[str]] = {}
        self.heavy_turn, self.heavy_requests = asyncio.Semaphore(self.limits.heavy), 0

    def settings_of(self, index: str | Sequence[str] | None = None, *, new: bool = False, **values: Any) -> Settings:
        """Return the settings with another index (or several) and further values (`limits__seconds=60`).

        None keeps a setting. Raise ConfigError, UsageError, and NotFound for an index that is not in `indexes` unless
        it may be `new`, because a client must not name paths.
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
        """Return the names of the indexes that can be asked: those of the settings and those in the data folder."""
        return list(dict.fromkeys([*self.settings.index_paths, *indexes_of(self.settings)]))

    def listing(self, index: str | None) -> FileListing:
        """Return the files of an index; raise as `settings_of` and `FileListings.of` do."""
        return self.files.of(self.settings_of(index).index_path)

    def using(self, index: str | Sequence[str] | None = None, **values: Any) -> AbstractContextManager[Rag]:
        """Open a `Rag` for an index under these settings, for a block; raise as `settings_of` and `Rag.open` do."""
        return self.rags.using(self.settings_of(index, **values))

    @cached_property
    def history(self) -> History:
        """The chats, records and judgements in the data folder."""
        return History.open(self.settings.data_folder)

    def close(self) -> None:
        """Stop every job and close everything open; an error while closing one part does not keep the others open."""
        self.unfinished.ending = True
        self.closing.set()
        self.jobs.close()
        with ExitStack() as opened:
            for part in (*([self.history] if "history" in vars(self) else ()), self.pages, self.rags):
                opened.callback(part.close)


def workspace_of(request: Request) -> Workspace:
    workspace: Workspace = request.app.state.workspace
    return workspace


async def heavy(request: Request) -> AsyncIterator[None]:
    """Let only a few long requests run at a time, so that others are answered meanwhile.

    Raise ApiError if too many wait, and Stopped if the client has disconnected.
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
"""The dependencies of an endpoint that runs long and changes nothing."""
