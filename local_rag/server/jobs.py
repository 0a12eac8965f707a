"""Work of the server on a thread of its own: shown to whoever watches, and stopped by a person or with the server."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Generic, TypeVar

from local_rag.core.cancel import Cancel, check, scope
from local_rag.core.progress import Display, ShowProgress
from local_rag.server.errors import log_unknown

OFTEN = 0.1
"""Seconds between two events of progress; what is in between is left out."""
POLL = 0.5
"""Seconds after which a watcher looks whether it is to leave."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Progress:
    """The share of a job that is done in [0, 1], None where that is not known, and what it does now."""

    share: float | None = None
    doing: str = ""


class Job(Generic[T]):
    """One work, and what it is shown on (`core.progress.Display`). At its end it has a `result` or an `error`."""

    def __init__(self, work: Callable[[Display], T], name: str, at_end: Callable[[], None] = lambda: None) -> None:
        """`name` is that of the thread; `at_end` is called before those who watch see the end."""
        self.result: T | None = None
        self.error: Exception | None = None
        self.progress_now = Progress()
        self.ended = False
        self._work, self._name, self._at_end = work, name, at_end
        self._notes: list[str] = []
        self._changed = threading.Condition()
        self._cancel = Cancel()
        self._thread = threading.Thread(target=self._run, name=f"local-rag-{name}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Tell the work to stop; it ends soon."""
        self._cancel.stop()

    def wait(self, seconds: float | None = None) -> None:
        self._thread.join(seconds)

    def say(self, line: str) -> None:
        """A line that stays."""
        with self._changed:
            self._notes.append(line)
            self._changed.notify_all()

    @contextmanager
    def progress(self, doing: str = "") -> Iterator[ShowProgress]:
        """What is done is shown to all who watch."""
        self._show(None, doing)
        yield self._show

    def _show(self, share: float | None, doing: str) -> None:
        check()
        with self._changed:
            self.progress_now = Progress(share, doing)
            self._changed.notify_all()

    def events(self, left: threading.Event) -> Iterator[str | Progress]:
        """The lines that stay, and progress, until the job has ended or `left` is set."""
        notes, progress = 0, Progress()

        def has_changed() -> bool:
            return self.ended or len(self._notes) > notes or self.progress_now != progress

        while not left.is_set():
            with self._changed:
                self._changed.wait_for(has_changed, POLL)
                new, latest, ended = self._notes[notes:], self.progress_now, self.ended
            yield from new
            if latest != progress:
                yield latest
            notes, progress = notes + len(new), latest
            if ended:
                return
            left.wait(OFTEN)

    def _run(self) -> None:
        try:
            with scope(self._cancel):
                self.result = self._work(self)
        except Exception as error:
            log_unknown(error, f"a job ({self._name})")
            self.error = error
        finally:
            self._at_end()
            with self._changed:
                self.ended = True
                self._changed.notify_all()
