"""Index for a page in a process of its own, `python -m local_rag.server.indexing`, which frees its memory at its end.

Its request is one line of JSON on stdin: {"settings": …, "paths": […], "sample": …, "options": …}. It writes a line
for each event: a note, its progress, and last the report or the error. It stops soon after stdin ends, because a person
stopped it or its server has ended; the stored index is consistent at every moment.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from local_rag.core import errors
from local_rag.core.cancel import Cancel, check, scope
from local_rag.core.child_process import NO_WINDOW, command, environment, reply_stream
from local_rag.core.documents import SyncReport
from local_rag.core.errors import LocalRagError
from local_rag.core.progress import ShowProgress
from local_rag.core.serialization import from_plain, to_json
from local_rag.server.errors import log_unknown
from local_rag.server.jobs import Job, JobEvent

OFTEN = 0.1
"""The least seconds between two lines of progress; lines in between are left out."""
PATIENCE = 60.0
"""Seconds that the process may take to stop; then it exits at once."""


def indexed(
    job: Job,
    settings: Mapping[str, Any],
    paths: Sequence[Path],
    told: Callable[[float | None], None],
    *,
    sample: bool = False,
    options: Mapping[str, Any],
) -> Generator[JobEvent, None, SyncReport]:
    """Run the process, yield its events as they come, and return its report; call `told` with each share of progress.

    `sample` indexes the handbook that ships with the package in place of paths. Raise the error that the process
    reports, and LocalRagError if it ends early.
    """
    pipe, request = subprocess.PIPE, {"settings": settings, "paths": paths, "sample": sample, "options": options}
    with subprocess.Popen(
        command(__name__),
        stdin=pipe,
        stdout=pipe,
        env=environment(),
        creationflags=NO_WINDOW,
        start_new_session=True,  # Ctrl-C at the terminal is for the server, which stops its jobs
    ) as process:
        assert process.stdin and process.stdout, "both are pipes"
        job.at_stop = process.stdin.close
        try:
            process.stdin.write(f"{to_json(request, indent=None)}\n".encode())
            process.stdin.flush()
            for line in process.stdout:
                name, value = json.loads(line)
                if name == "report":
                    return from_plain(SyncReport, value)
                if name == "error":
                    raise getattr(errors, value[0])(*value[1:])
                if name == "progress":
                    told(value["share"])
                yield name, value
        except (OSError, ValueError) as error:
            job.cancel.check()
            raise LocalRagError("the process that indexes has ended early") from error
        finally:
            with suppress(OSError):
                process.stdin.close()
        job.cancel.check()
        raise LocalRagError("the process that indexes has ended early", hint="local-rag index")


class _Told:
    """Write the notes and the progress of the indexing as lines of JSON."""

    def __init__(self, lines: IO[bytes]) -> None:
        self._lines, self._shown = lines, 0.0

    def tell(self, name: str, value: Any) -> None:
        self._lines.write(f"{to_json([name, value], indent=None)}\n".encode("utf-8", "replace"))
        self._lines.flush()

    def say(self, line: str) -> None:
        self.tell("note", {"text": line})

    @contextmanager
    def progress(self, doing: str = "") -> Iterator[ShowProgress]:
        self.tell("progress", {"share": None, "line": doing})
        yield self._show

    def _show(self, share: float | None, line: str) -> None:
        check()
        if time.monotonic() - self._shown > OFTEN:
            self._shown = time.monotonic()
            self.tell("progress", {"share": share, "line": line})


def main() -> None:
    """Run the process: read the request, index, and write the report or the error."""
    from local_rag.core.process import prepare_own_process

    prepare_own_process()
    told = _Told(reply_stream())
    try:
        told.tell("report", _index(json.loads(sys.stdin.readline()), told))
    except Exception as error:
        log_unknown(error, "indexing")
        known = [each.__name__ for each in type(error).__mro__ if each.__module__ == errors.__name__]
        unknown = "the process that indexes met an error that it does not know; the terminal says where"
        told.tell("error", [known[0], str(error), getattr(error, "hint", "")] if known else ["LocalRagError", unknown])


def _index(request: Mapping[str, Any], told: _Told) -> SyncReport:
    from local_rag.config.settings import Settings
    from local_rag.diagnostics.demo import index_demo
    from local_rag.runtime.indexing import Request, index_files

    cancel = Cancel()

    def until_left() -> None:
        sys.stdin.read()
        cancel.stop()
        time.sleep(PATIENCE)
        os._exit(1)

    threading.Thread(target=until_left, daemon=True).start()
    settings = Settings.load(**request["settings"])
    with scope(cancel):
        if request["sample"]:
            return index_demo(settings, told)
        report, _ = index_files(settings, Request([*map(Path, request["paths"])], **request["options"]), told)
    return report


if __name__ == "__main__":
    main()
