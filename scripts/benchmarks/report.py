"""What a benchmark gives: tables for a person, the same figures as JSON, and the machine that they were taken on."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

NAMED = ("local-rag", "openvino", "torch", "sentence-transformers", "faiss-cpu", "numpy", "langgraph")


Cell = str | float | int | None


@dataclass(frozen=True)
class Table:
    """Figures side by side: the first cell of a row names it, numbers stay numbers in the JSON."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]


@dataclass
class Report:
    """`baseline` says what the ratios are ratios of; `notes` what a reader must know; `facts` the settings."""

    name: str
    baseline: str
    tables: list[Table] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)
    seconds: float = 0.0

    def show(self) -> None:
        print(f"\n{self.name}, against {self.baseline}")
        for table in self.tables:
            print(f"\n{table.title}\n{_drawn(table)}")
        for note in self.notes:
            print(f"- {note}")
        print(f"\n{machine()['processor']}, {os.cpu_count()} cores; {self.seconds:.0f} s in all")

    def save(self, file: Path) -> None:
        """Write all of it as JSON. Raises OSError."""
        whole = asdict(self) | {"machine": machine(), "versions": versions(), "taken": time.strftime("%Y-%m-%d %H:%M")}
        file.write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")


def machine() -> dict[str, Any]:
    """The processor by its name, cores, and memory in GB."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 0
    return {
        "processor": (names or [platform.processor() or platform.machine()])[0],
        "cores": os.cpu_count(),
        "memory_gb": round(pages / 1e9, 1),
        "system": platform.platform(),
        "python": platform.python_version(),
    }


def versions() -> dict[str, str]:
    """The versions of what the figures depend on, where it is installed."""
    found = {}
    for name in NAMED:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which this share of the values lies, by nearest rank. Raises ValueError for no values."""
    if not values:
        raise ValueError("no values")
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, max(0, -(-int(share * len(ordered) * 1000) // 1000) - 1))]


def _drawn(table: Table) -> str:
    cells = [list(table.columns), *([_said(cell) for cell in row] for row in table.rows)]
    widths = [max(len(row[place]) for row in cells) for place in range(len(table.columns))]
    lines = []
    for row in cells:
        shown = [
            cell.ljust(width) if n == 0 else cell.rjust(width)
            for n, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(shown).rstrip())
    return "\n".join([lines[0], "  ".join("-" * width for width in widths), *lines[1:]])


def _said(cell: Cell) -> str:
    if cell is None:
        return "–"
    if isinstance(cell, str):
        return cell
    if isinstance(cell, int):
        return f"{cell:,}"
    return f"{cell:,.0f}" if abs(cell) >= 1000 else f"{cell:.3g}" if abs(cell) < 1 else f"{cell:.2f}"
