"""Chats in a terminal: the list of them, and the questions and answers of one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from local_rag.index.path_labels import PathLabel
from local_rag.runtime.export import Turn, answer_of, when
from local_rag.terminal.answers import answer_parts
from local_rag.terminal.console import PlainTable
from local_rag.text.display import short_path, shorten

if TYPE_CHECKING:
    from local_rag.graphs.threads import Thread

FIRST = 60
"""Characters of a first question in a list."""


def threads_table(threads: Iterable[Thread], current: str = "") -> PlainTable:
    """A row per thread; the one that goes on is marked."""
    table = PlainTable("  thread", "turns", "last (UTC)", "began with", least=20)
    for thread in threads:
        marked = Text("* " + thread.name, "bold") if thread.name == current else f"  {thread.name}"
        table.add_row(marked, f"{thread.turns:,}", thread.at[:16].replace("T", " "), shorten(thread.first, FIRST))
    return table


def turns_table(turns: Sequence[Turn], label: PathLabel = short_path) -> PlainTable:
    """The questions and answers of a thread."""
    table = PlainTable(gap=1)
    for number, turn in enumerate(turns, start=1):
        if number > 1:
            table.add_row("", "")
        table.add_row(f"{number}.", Text.assemble((turn["question"], "bold"), (f"  ({when(turn)})", "dim")))
        for part in answer_parts(answer_of(turn), label):
            table.add_row("", part)
    return table
