"""The report and the progress of a sync while it runs."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from local_rag.core.documents import Skipped, SyncReport

SETTLED = 2.0
"""Seconds after which a pace is reported."""


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of one phase of a sync, with the file in hand.

    In the phase "text" `done` of `total` files are read, and `chunks` are the passages stored; in the phase "vectors"
    `done` of `total` passages are embedded, in "scans" pages are read by OCR, and `chunks` is the same number. `share`
    in [0, 1] is that of the work: of the bytes of these files, of the code points of these passages, of these pages.
    `rate` is in passages per second and `left` in seconds, None where they are not known yet; `seconds` are those of
    the phase so far.
    """

    done: int
    total: int
    chunks: int
    path: str
    seconds: float
    share: float = 0.0
    phase: Literal["text", "vectors", "scans"] = "text"
    rate: float | None = None
    left: float | None = None


Tell = Callable[[Progress], None]
"""A function that is told how far a phase is."""


def silent(progress: Progress) -> None:
    """Tell nobody."""


class Pace:
    """A clock that tells how fast work goes, and how long the rest takes."""

    def __init__(self, total: float, clock: Callable[[], float] = time.monotonic) -> None:
        """Start the clock. `total` is the work there is, in any unit; `clock` gives seconds."""
        self._total, self._clock = total, clock
        self._started = clock()
        self._first: tuple[float, float, int] | None = None

    def progress(self, work: float, done: int, total: int, chunks: int, path: str, **phase: Any) -> Progress:
        """Return the progress after `work` units: `done` of `total` files or passages, with `chunks` passages.

        The pace is that since the first call: a model is loaded before.
        """
        now = self._clock()
        self._first = self._first or (now, work, chunks)
        then, before, chunks_before = self._first
        elapsed, gained = now - then, work - before
        known = elapsed >= SETTLED and gained > 0
        return Progress(
            done,
            total,
            chunks,
            path,
            now - self._started,
            share=work / self._total if self._total else 1.0,
            rate=(chunks - chunks_before) / elapsed if known else None,
            left=max(0.0, self._total - work) * elapsed / gained if known else None,
            **phase,
        )


@dataclass
class GrowingReport:
    """The fields of a `SyncReport` while they are filled."""

    new: list[str] = field(default_factory=list)
    updated: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    kept: list[Skipped] = field(default_factory=list)
    forgotten: list[Skipped] = field(default_factory=list)
    unchanged: int = 0
    chunks: int = 0
    reused: int = 0
    started: float = field(default_factory=time.monotonic)

    def finished(self, **more: Any) -> SyncReport:
        """Return the report once the text is stored, with these other fields."""
        told: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in vars(self).items()
        }
        seconds = time.monotonic() - told.pop("started")
        return SyncReport(**told, **more, text_seconds=seconds, seconds=seconds)
