"""Whole files in a terminal: the outline of one, which of them hold something, and what each of them answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.text import Text

from local_rag.core.outline import OutlineLine
from local_rag.terminal.answers import QUOTE_WIDTH
from local_rag.terminal.console import PlainTable
from local_rag.text.display import joined, shorten


def outline_lines(lines: Sequence[OutlineLine]) -> Iterator[Text]:
    """Return the lines of an outline; the first says what the file is."""
    for line in lines:
        yield Text(line.text, "bold") if line.kind == "about" else Text(f"- {line.text}")


def answers_table(rows: Sequence[dict[str, str]]) -> PlainTable:
    """Return a table of what each file says, with its quote below the answer."""
    table, several = PlainTable(), len({row["question"] for row in rows}) > 1
    for row in rows:
        said = Text(shorten(row["answer"], QUOTE_WIDTH))
        if row["quote"]:
            said.append(f"\n{joined(filter(None, (row['place'], shorten(row['quote'], QUOTE_WIDTH))), '·')}", "dim")
        table.add_row(row["file"], row["certainty"], *([row["question"]] if several else []), said)
    return table
