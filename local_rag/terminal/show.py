"""Tables and paragraphs as lines of text, for the figures of evaluations."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterator, Sequence
from typing import TextIO

from local_rag.terminal.console import write, write_json

__all__ = ["columns_of", "fitting_lines", "table_lines", "wrapped", "write", "write_json"]


def table_lines(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Columns as wide as their widest cell."""
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    for row in (head, *rows):
        yield "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()


def fitting_lines(
    head: Sequence[str], rows: Sequence[Sequence[str]], width: int | None = None, optional: int = 0
) -> Iterator[str]:
    """A table of at most `width` columns: without its `optional` last columns if need be, else a paragraph per row.

    None is no limit, as in a pipe.
    """
    for columns in (len(head), len(head) - optional):
        lines = list(table_lines(head[:columns], [row[:columns] for row in rows]))
        if width is None or max(map(len, lines)) <= width:
            yield from lines
            return
    for name, *cells in rows:
        yield name
        told = ", ".join(f"{title} {cell}" for title, cell in zip(head[1:columns], cells, strict=False))
        yield from wrapped(f"    {told}", width, "    ")


def wrapped(text: str, width: int | None = None, indent: str = "") -> list[str]:
    """Prose in lines of at most `width` columns, all but the first indented; None is no limit."""
    return textwrap.wrap(text, max(width, 20), subsequent_indent=indent) if width and text else [text]


def columns_of(file: TextIO) -> int | None:
    """The width of a terminal; None for a pipe or a file, where a line may be as long as it likes."""
    return shutil.get_terminal_size().columns if file.isatty() else None
