"""Report a benchmark: tables in Markdown, as in docs/measurements.md, and the machine they come from."""

from __future__ import annotations

import importlib.metadata
import math
import os
import platform
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

NAMED = ("local-rag", "torch", "sentence-transformers", "faiss-cpu", "numpy", "langgraph")

Cell = str | float | int | None


@dataclass(frozen=True)
class Table:
    """Hold figures side by side; the first cell of a row names it."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]


@dataclass
class Report:
    """Hold the tables of a benchmark; `baseline` is what the ratios refer to, `notes` are remarks for a reader."""

    name: str
    baseline: str
    tables: list[Table] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def show(self, seconds: float) -> None:
        print(f"\n{self.name}, against {self.baseline}")
        for table in self.tables:
            print(f"\n**{table.title}**\n\n{_drawn(table)}")
        print("", *(f"- {note}" for note in [*self.notes, f"{machine()}; {seconds:.0f} s in all"]), sep="\n")


def machine() -> str:
    """Return the day, the processor, its cores and memory, the system, and the versions that the figures depend on."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    processor = (names or [platform.processor() or platform.machine()])[0]
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 1e9 if hasattr(os, "sysconf") else 0
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in NAMED)
    return (
        f"{time.strftime('%Y-%m-%d')}, {processor}, {os.cpu_count()} cores, {memory:.0f} GB, "
        f"{platform.platform()}, Python {platform.python_version()}, {versions}"
    )


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value below which this share of the values lies, by nearest rank."""
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


def _drawn(table: Table) -> str:
    cells = [list(table.columns), *([_said(cell) for cell in row] for row in table.rows)]
    widths = [max(3, *(len(row[place]) for row in cells)) for place in range(len(table.columns))]
    drawn = [[cell.ljust(width) for cell, width in zip(row, widths, strict=True)] for row in cells]
    drawn.insert(1, ["-" * width for width in widths])
    return "\n".join(f"| {' | '.join(row)} |" for row in drawn)


def _said(cell: Cell) -> str:
    if cell is None:
        return "–"
    if isinstance(cell, str):
        return cell
    if isinstance(cell, int):
        return f"{cell:,}"
    return f"{cell:,.0f}" if abs(cell) >= 1000 else f"{cell:.3g}" if abs(cell) < 1 else f"{cell:.2f}"
