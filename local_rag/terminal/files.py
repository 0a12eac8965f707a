"""Show whole files in a terminal: their outlines, and the answers of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from rich.console import RenderableType
from rich.text import Text

from local_rag.core.outline import OutlineLine
from local_rag.terminal.answers import QUOTE_WIDTH
from local_rag.terminal.console import PlainTable
from local_rag.text.display import joined, shorten


def outline_lines(lines: Sequence[OutlineLine]) -> Iterator[Text]:
    """Return the lines of an outline; the first says what the file is."""
    for line in lines:
        yield Text(line.text, "bold") if line.kind == "about" else Text(f"- {line.text}")


def answers_of_files(rows: Sequence[dict[str, str]]) -> Iterator[RenderableType]:
    """Yield the name of each file, and below it its answers, each with its place and a quote that says more."""
    several = len({row["question"] for row in rows}) > 1
    for file, of_file in groupby(rows, key=lambda row: row["file"]):
        yield Text(file, "bold")
        table = PlainTable()
        for row in of_file:
            asked = f"{row['question']} " * several
            said = Text.assemble((asked, "dim"), shorten(row["answer"], QUOTE_WIDTH))
            said.append(f" ({row['certainty']})" if row["certainty"] else "")
            quote = shorten(row["quote"], QUOTE_WIDTH) if row["quote"] != row["answer"] else ""
            if where := joined(filter(None, (row["place"], quote)), "·"):
                said.append(f"\n{where}", "dim")
            table.add_row("", said)
        yield table
