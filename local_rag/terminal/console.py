"""Write results to stdout, and progress and notes to stderr, without control characters from any text."""

from __future__ import annotations

import io
import os
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TextIO

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderableType, RenderResult, RichCast
from rich.progress import BarColumn, Progress, TextColumn
from rich.segment import Segment
from rich.style import Style
from rich.table import Table
from rich.text import Text

from local_rag.core.process import StreamClosed
from local_rag.core.progress import ShowProgress
from local_rag.core.serialization import to_json
from local_rag.text.display import for_terminal, safe_json

UNLIMITED = 100_000
"""The columns of a pipe or a file, where no line is wrapped."""


LINKED = ("https://", "http://", "file://")
"""The beginnings of addresses that a click may open."""

LINE_EVERY = 5.0
"""Seconds between two lines of progress if there is no terminal for a bar."""


class SafeConsole(Console):
    """Remove control characters from all text, and never read text as markup.

    Colours, links and line breaks need a terminal; NO_COLOR or TERM=dumb turn them off there too.
    """

    def __init__(self, file: TextIO, **options: Any) -> None:
        plain: dict[str, Any] = {"color_system": None} if os.environ.get("NO_COLOR") else {}
        wide: dict[str, Any] = {} if file.isatty() else {"width": UNLIMITED}
        super().__init__(file=file, markup=False, emoji=False, highlight=False, **plain | wide | options)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:  # everything is rendered here, including the cells of a table and a live draft
        return super().render(_safe(renderable), options)

    def on_broken_pipe(self) -> None:
        raise StreamClosed


def _safe(renderable: ConsoleRenderable | RichCast | str) -> ConsoleRenderable | RichCast | str:
    if isinstance(renderable, str):
        return for_terminal(renderable)
    if not isinstance(renderable, Text) or for_terminal(renderable.plain) == renderable.plain:
        return renderable
    cleaned = renderable.blank_copy()
    for part in renderable.divide(sorted({offset for span in renderable.spans for offset in (span.start, span.end)})):
        part.plain = for_terminal(part.plain)
        cleaned.append_text(part)
    return cleaned


def stdout() -> SafeConsole:
    """Return the console for results, which replaces characters that it cannot show."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    return SafeConsole(sys.stdout)


def stderr() -> SafeConsole:
    """Return the console for progress, notes and errors."""
    return SafeConsole(sys.stderr)


def write(*parts: RenderableType) -> None:
    """Write each part on its own lines to stdout, or an empty line if there is no part."""
    console = stdout()
    for part in parts or ("",):
        console.print(part)


def write_json(value: object, indent: int | None = 2) -> None:
    """Write one JSON value to stdout, for programs."""
    stdout().file.write(safe_json(to_json(value, indent)) + "\n")
    sys.stdout.flush()


def write_error(message: str, hint: str = "") -> None:
    """Write an error to stderr: its message on one line, and the next command to type."""
    console = stderr()
    kind, colon, rest = " ".join(message.split()).partition(": ")
    console.print(Text.assemble((kind, "bold red"), colon, rest) if kind == "error" else Text(kind + colon + rest))
    if hint:
        console.print(Text.assemble(("hint: ", "dim"), hint), soft_wrap=True)


def write_traceback(error: BaseException) -> None:
    """Write the traceback of an error to stderr."""
    import traceback

    stderr().print(Text("".join(traceback.format_exception(error)).rstrip()), soft_wrap=True)


def confirm(question: str) -> bool:
    """Ask for a yes in a terminal; without a terminal return True and ask nobody."""
    return not sys.stdin.isatty() or says_yes(question, stderr())


def says_yes(question: str, console: Console) -> bool:
    """Return whether a person types yes; the end of the input means no."""
    try:
        reply = console.input(f"{question} [y/N] ", markup=False, emoji=False)
    except EOFError:
        return False
    return reply.strip().lower() in ("y", "yes")


def link(text: str, address: str) -> Text:
    """Return text that opens a page or a file on a click (OSC 8) if the terminal supports it."""
    address = for_terminal(address).replace("\n", "")
    return Text.assemble((text, Style(link=address) if address.startswith(LINKED) else ""))


class PlainTable(Table):
    """Draw columns without lines between them; in a terminal a last column that is too wide is wrapped.

    The last column is left out if fewer than `least` columns of the terminal remain for it.
    """

    def __init__(self, *head: str, gap: int = 2, least: int = 0) -> None:
        super().__init__(box=None, show_header=bool(head), header_style="dim", pad_edge=False, padding=(0, gap, 0, 0))
        self._least, self._gap = least, gap
        for number, title in enumerate(head, start=1):
            self.add_column(title, no_wrap=number < len(head), overflow="fold")

    def add_row(self, *cells: RenderableType | None, **options: Any) -> None:
        while len(self.columns) < len(cells):
            self.add_column(no_wrap=len(self.columns) + 1 < len(cells), overflow="fold")
        super().add_row(*cells, **options)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        widths = [max(cell_len(str(cell)) for cell in (column.header, *column.cells)) for column in self.columns]
        room = options.max_width - sum(width + self._gap for width in widths[:-1])
        if room < min((self._least, *widths[-1:])):
            self.columns.pop()
        segments = (part for part in super().__rich_console__(console, options) if isinstance(part, Segment))
        for line in Segment.split_lines(segments):
            while line and not line[-1].text.rstrip(" "):
                line.pop()
            if line:
                yield from line[:-1]
                yield Segment(line[-1].text.rstrip(" "), line[-1].style)
            yield Segment.line()


@dataclass(frozen=True)
class NumberTable:
    """Draw names on the left and numbers on the right; columns that do not fit go on below, with the names again."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        widths = [max(map(cell_len, column)) for column in zip(self.head, *self.rows, strict=True)]
        start = 1
        while start < len(widths):
            end, taken = start + 1, 2 + widths[0] + 2 + widths[start]
            while end < len(widths) and taken + 2 + widths[end] <= options.max_width:
                taken += 2 + widths[end]
                end += 1
            table = PlainTable(f"  {self.head[0]}", *self.head[start:end])
            for column in table.columns[1:]:
                column.justify = "right"
            for name, *cells in self.rows:
                table.add_row(f"  {name}", *cells[start - 1 : end - 1])
            yield table
            start = end


def indented(text: str) -> PlainTable:
    """Return a paragraph with all its lines indented by two columns."""
    table = PlainTable(gap=1)
    table.add_row(" ", text)
    return table


class TerminalDisplay:
    """Implement `Display` on a console, usually that of stderr."""

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
        """Return a callback that writes a line for each new stage, and otherwise a line every few seconds.

        A call without a share begins a stage.
        """
        last, stages = time.monotonic(), set[str]()

        def show(share: float | None, line: str) -> None:
            nonlocal last
            if (share is None and line not in stages) or time.monotonic() - last >= LINE_EVERY:
                last = time.monotonic()
                stages.add(line)
                self.say(line)

        return show
