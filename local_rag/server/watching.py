"""Watch indexed files while a server runs, and update their index with a job, as the button of the page does."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial

from local_rag.core.documents import SyncReport
from local_rag.core.errors import Stopped
from local_rag.runtime.watching import QUIET, Watching
from local_rag.server.errors import ApiError
from local_rag.server.index import synced
from local_rag.server.workspace import Workspace

POLL = 0.1
"""Seconds between two checks whether a job has ended."""


def watch(workspace: Workspace, say: Callable[[str], None], quiet: float = QUIET) -> None:
    """Watch the files of all present and future indexes, on threads that end with the workspace."""

    def begin() -> None:
        while not workspace.closing.wait(quiet):
            for name in workspace.indexes():
                settings = workspace.settings_of(name)
                if settings.index_path not in workspace.watched:
                    told = partial(lambda name, line: say(f"{name}: {line}"), name)
                    watching = Watching(settings, partial(_sync, workspace, name), told, quiet)
                    workspace.watched[settings.index_path] = watching
                    threading.Thread(target=watching.run, args=(workspace.closing,), daemon=True).start()

    threading.Thread(target=begin, name="local-rag-watch", daemon=True).start()


def _sync(workspace: Workspace, name: str) -> SyncReport:
    """Update an index when no other job writes, and return the report.

    Raise the error that the job ended with, or Stopped when the server ends.
    """
    while not workspace.closing.wait(POLL):
        try:
            job = synced(workspace, "cookie", name)
        except ApiError as error:
            if error.code != "index_busy":
                raise
            continue
        while not job.ended:
            workspace.closing.wait(POLL)
        if job.failure:
            raise job.failure
        assert job.report, "it has ended well"
        return job.report
    raise Stopped("the server ends")
