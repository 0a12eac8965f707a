"""The one progress display of the terminal: a bar where there is a terminal, a line now and then elsewhere."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn
from rich.text import Text

from local_rag.core.progress import ShowProgress

LINE_EVERY = 5.0
"""Seconds between two lines of progress where there is no terminal to draw a bar in."""


class TerminalDisplay:
    """A `Display` on a console, which is usually that of stderr."""

    def __init__(self, console: Console) -> None:
        self.console = console

    def say(self, line: str) -> None:
        self.console.print(Text(line, "dim"))

    @contextmanager
    def progress(self, doing: str = "") -> Iterator[ShowProgress]:
        if not self.console.is_terminal or self.console.is_dumb_terminal:
            yield self._lines()
            return
        columns = (BarColumn(24), TextColumn("{task.description}", markup=False))
        with Progress(*columns, console=self.console, transient=True) as bar:
            task = bar.add_task(doing, total=None)
            yield lambda share, line: bar.update(
                task, completed=share or 0, total=None if share is None else 1, description=line
            )

    def _lines(self) -> ShowProgress:
        """A line for each new stage, which is one of unknown share; otherwise one now and then."""
        last, stages = time.monotonic(), set[str]()

        def show(share: float | None, line: str) -> None:
            nonlocal last
            if (share is None and line not in stages) or time.monotonic() - last >= LINE_EVERY:
                last = time.monotonic()
                stages.add(line)
                self.say(line)

        return show
