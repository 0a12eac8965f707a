"""What a sync did, while it is doing it."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

from local_rag.core.documents import Skipped, SyncReport


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a sync is: `done` of `total` files stored or skipped, `chunks` embedded, the file in hand, seconds.

    `share` in [0, 1] is that of the bytes of these files: a better measure of the time left than their number.
    """

    done: int
    total: int
    chunks: int
    path: str
    seconds: float
    share: float = 0.0


@dataclass
class GrowingReport:
    """The fields of a `SyncReport`, to be filled."""

    new: list[str] = field(default_factory=list)
    updated: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    kept: list[Skipped] = field(default_factory=list)
    forgotten: list[Skipped] = field(default_factory=list)
    excludes: dict[str, tuple[str, ...]] = field(default_factory=dict)
    ignored: dict[str, int] = field(default_factory=dict)
    unchanged: int = 0
    upgraded: int = 0
    chunks: int = 0
    started: float = field(default_factory=time.monotonic)

    @property
    def seconds(self) -> float:
        """Since it was started."""
        return time.monotonic() - self.started

    def finished(self) -> SyncReport:
        """The report as it is told."""
        fields: dict[str, Any] = dict(vars(self))
        del fields["started"]
        for name in ("new", "updated", "removed", "skipped", "kept", "forgotten"):
            fields[name] = tuple(fields[name])
        return SyncReport(**fields, seconds=self.seconds)
