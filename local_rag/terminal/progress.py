"""The one progress display of the terminal: a bar where there is a terminal, a line now and then elsewhere."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from local_rag.core.progress import ShowProgress
from local_rag.text.display import printable

if TYPE_CHECKING:
    from rich.console import Console

LINE_EVERY = 5.0
"""Seconds between two lines of progress where there is no terminal to draw a bar in."""


class TerminalDisplay:
    """A `Display` on a console, which is usually that of stderr."""

    def __init__(self, console: Console) -> None:
        self.console = console

    def say(self, line: str) -> None:
        self.console.print(printable(line), markup=False, emoji=False, highlight=False, soft_wrap=True)

    @contextmanager
    def progress(self, doing: str = "") -> Iterator[ShowProgress]:
        if not self.console.is_terminal:
            yield self._lines()
            return
        from rich.progress import BarColumn, Progress, TextColumn

        with Progress(
            BarColumn(24), TextColumn("{task.description}", markup=False), console=self.console, transient=True
        ) as bar:
            task = bar.add_task(doing, total=None)
            yield lambda share, line: bar.update(
                task, completed=share or 0, total=None if share is None else 1, description=printable(line)
            )

    def _lines(self) -> ShowProgress:
        last = time.monotonic()

        def show(share: float | None, line: str) -> None:
            nonlocal last
            if time.monotonic() - last >= LINE_EVERY:
                last = time.monotonic()
                self.say(line)

        return show
