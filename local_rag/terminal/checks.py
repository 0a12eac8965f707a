"""The findings of `local-rag doctor`."""

from __future__ import annotations

from collections.abc import Iterable

from rich.text import Text

from local_rag.diagnostics.check import Check
from local_rag.terminal.console import PlainTable

SIGNS = {"ok": ("ok", "green"), "note": ("note", "yellow"), "bad": ("BAD", "bold red")}


def checks_table(checks: Iterable[Check]) -> PlainTable:
    """A row per check, and below what is not well the command that mends it, or several to choose from."""
    table = PlainTable()
    for check in checks:
        table.add_row(Text(*SIGNS[check.state]), f"{check.name}: {check.found}")
        for fix in check.fix.splitlines():
            table.add_row("", Text.assemble(("-> ", "dim"), (fix, "cyan")))
    return table
