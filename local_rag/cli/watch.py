"""Implement `local-rag watch`, which updates the index when its files change."""

from __future__ import annotations

import signal
import threading
from contextlib import suppress

from local_rag.cli.options import IndexOption, settings_of
from local_rag.core.cancel import stoppable
from local_rag.core.progress import Silent


def watch(index: IndexOption = None) -> int:
    """Keep the index up to date until Ctrl-C.

    It watches everything that local-rag index has indexed, and writes a line for each change. A changed file is read
    after three seconds without further changes. Every folder is checked every 15 minutes too, because network disks
    report no changes.
    """
    from local_rag.runtime.indexing import Request, index_files
    from local_rag.runtime.opening import existing_index
    from local_rag.runtime.watching import Watching
    from local_rag.terminal.console import stdout

    settings, console = settings_of(index), stdout()
    existing_index(settings)
    signal.signal(signal.SIGTERM, signal.default_int_handler)

    def say(line: str) -> None:
        console.print(line, soft_wrap=True)
        console.file.flush()

    stop = threading.Event()
    watching = Watching(settings, lambda: index_files(settings, Request(), Silent())[0], say)
    with suppress(KeyboardInterrupt):
        stoppable(lambda: watching.run(stop), stop.set)
    say("stopped")
    return 0
