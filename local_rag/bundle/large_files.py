"""Large files, read and copied block by block, with a line of progress every few seconds. Only the standard library.

A part of every bundle's install.py: only syntax of Python 3.6.
"""

import hashlib
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from local_rag.bundle.machine import say

EVERY = 3.0
"""Seconds between two lines of progress; what is done sooner shows none."""

BLOCK = 1 << 22
"""Bytes of one block."""


class Progress:
    """How far a long work on `total` bytes has come, as "copied 37% of 2,019 MB"; `done` is what was done to them."""

    def __init__(self, done: str, total: int, show: Callable[[str], None] = say) -> None:
        self.done, self.total, self.show = done, total, show
        self.count, self.shown = 0, time.monotonic()

    def add(self, count: int) -> None:
        """So many bytes more are done."""
        self.count += count
        now = time.monotonic()
        if now - self.shown >= EVERY:
            self.shown = now
            share = min(self.count, self.total) / max(self.total, 1)
            self.show(f"{self.done} {share:.0%} of {self.total / 1e6:,.0f} MB")


def sum_of(source: Path, progress: Progress | None = None, target: Path | None = None) -> str:
    """SHA-256 in hex of a file, which is written to `target` meanwhile, if there is one. Raises OSError."""
    digest = hashlib.sha256()
    with ExitStack() as stack:
        stream = stack.enter_context(source.open("rb"))
        out = stack.enter_context(target.open("wb")) if target else None
        for block in iter(lambda: stream.read(BLOCK), b""):
            digest.update(block)
            if out:
                out.write(block)
            if progress:
                progress.add(len(block))
    return digest.hexdigest()
