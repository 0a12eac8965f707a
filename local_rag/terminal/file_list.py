"""The indexed files as a list."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from rich.cells import cell_len
from rich.text import Text

from local_rag.index.path_labels import PathLabel
from local_rag.index.store.schema import IndexedFile
from local_rag.text.display import format_bytes, local_time, on_one_line, shorten, waiting_line

_AT_ONCE = 500
"""Lines that are printed together: a table of ten thousand rows takes longer than everything else."""


def file_lines(files: Sequence[IndexedFile], label: PathLabel) -> Iterator[Text]:
    """Size, change, passages, path, title, author and date of each file, one per line.

    Below it stand what could not be read of it, and how much of it is not embedded yet.
    """
    if not files:
        yield Text("nothing is indexed")
        return
    head = ("size", "changed", "passages", "file")
    rows = [(format_bytes(file.size), _date(file), f"{file.chunks:,}", label(file.path)) for file in files]
    widths = [max(map(cell_len, column)) for column in zip(head, *rows, strict=True)]
    yield Text(_line(head, widths), "dim")
    for first in range(0, len(files), _AT_ONCE):
        lines = Text()
        for file, row in zip(files[first : first + _AT_ONCE], rows[first : first + _AT_ONCE], strict=True):
            lines.append(_line(row, widths))
            if line := _document_line(file, row[-1]):
                lines.append(f"  {line}", "dim")
            lines.append("\n")
            for warning in (*file.warnings, *_waiting(file)):
                lines.append(f"{' ' * (sum(widths[:3]) + 6)}  {on_one_line(warning)}\n", "yellow")
        lines.rstrip()
        yield lines


def _document_line(file: IndexedFile, label: str) -> str:
    """Title, author and date of a file, without a title that is only its name."""
    title = "" if file.title == label.rpartition("/")[2] else shorten(on_one_line(file.title), 80)
    return ", ".join(filter(None, (title, shorten(on_one_line(file.author), 40), local_time(file.date))))


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    """The first three columns to the right, the last to the left."""
    return "  ".join([*(cell.rjust(width) for cell, width in zip(cells[:3], widths, strict=False)), cells[3]])


def _waiting(file: IndexedFile) -> list[str]:
    return [line] if (line := waiting_line(file.embedded, file.chunks)) else []


def _date(file: IndexedFile) -> str:
    """The day of a file's last change; that of its indexing for a page of the web."""
    return datetime.fromtimestamp(file.modified or file.indexed_at).strftime("%Y-%m-%d")
