"""Watching while a server runs: a job of its own brings an index up to date, as the button of the page does."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial

from local_rag.core.documents import SyncReport
from local_rag.core.errors import IndexBusy
from local_rag.runtime.watching import QUIET, Watching
from local_rag.server.errors import ApiError
from local_rag.server.index import synced
from local_rag.server.workspace import Workspace

POLL = 0.1
"""Seconds between two looks whether a job has ended."""


def watch(workspace: Workspace, say: Callable[[str], None], quiet: float = QUIET) -> None:
    """Follow the files of every index, of those that are made later as well, on threads that end with the workspace."""

    def begin() -> None:
        while not workspace.closing.wait(POLL if not workspace.watched else quiet):
            for name in workspace.indexes():
                folder = workspace.settings_of(name).index_path
                if folder not in workspace.watched:
                    watching = Watching(workspace.settings_of(name), partial(_sync, workspace, name), say, quiet)
                    workspace.watched[folder] = watching
                    threading.Thread(target=watching.run, args=(workspace.closing,), daemon=True).start()

    threading.Thread(target=begin, name="local-rag-watch", daemon=True).start()


def _sync(workspace: Workspace, name: str) -> SyncReport:
    """What the job of an index did. Raises IndexBusy while another job writes, and what the job ended with."""
    reports: list[SyncReport] = []
    try:
        job = synced(workspace, "cookie", name, keep=reports.append)
    except ApiError as error:
        raise IndexBusy(str(error)) from error
    while not job.ended:
        workspace.closing.wait(POLL)
    if job.failure:
        raise job.failure
    return reports[0]
