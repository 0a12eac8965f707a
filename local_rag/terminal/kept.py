"""What is kept about a person's files, as a terminal shows it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from local_rag.diagnostics.kept import Kept
from local_rag.terminal.console import PlainTable
from local_rag.text.display import joined, plural, short_path

NOUNS = {
    "chat": "chat",
    "trace": "trace",
    "run": "evaluation run",
    "export": "exported chat",
    "cases": "file of cases",
    "bundle": "bundle",
}
MANY = {"cases": "files of cases"}


def kept_table(everything: Iterable[Kept]) -> PlainTable:
    """A row for each, the oldest first."""
    table = PlainTable("kind", "last (UTC)", "quotes", "name")
    for item in everything:
        name = item.name if item.kind == "chat" else short_path(item.name)
        table.add_row(item.kind, item.at[:16].replace("T", " "), plural(len(item.sources), "file"), name)
    return table


def counted(everything: Sequence[Kept]) -> str:
    """2 chats and 3 traces."""
    counts = Counter[str](item.kind for item in everything)
    return joined(plural(counts[kind], noun, MANY.get(kind, "")) for kind, noun in NOUNS.items() if counts[kind])
