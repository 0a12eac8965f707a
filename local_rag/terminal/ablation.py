"""The same cases answered in several ways: a table for each graph, and what tells two of them apart."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from rich.console import RenderableType
from rich.text import Text

from local_rag.evaluation.ablation import Ablation
from local_rag.evaluation.difference import amount
from local_rag.evaluation.estimates import BALANCED, FIGURES, Estimate
from local_rag.evaluation.measures import MEASURES
from local_rag.terminal.console import NumberTable, indented
from local_rag.text.display import short_path


def ablation_parts(ablation: Ablation) -> Iterator[RenderableType]:
    """The figures with their intervals, the variants that were left out, and the commands that compare two runs."""
    for graph, by_variant in ablation.graphs.items():
        if not by_variant:
            continue
        yield Text(f"Answers, {graph}", "bold")
        rows = [
            (_title(name), *(_cell(name, figures.get(name)) for figures in by_variant.values()))
            for name in FIGURES
            if any(name in figures for figures in by_variant.values())
        ]
        yield NumberTable(("", *by_variant), rows)
        yield indented("in brackets: 95 % by bootstrap; a refusal counts 0 in short answers and in contains")
        yield ""
    for name, why in ablation.left_out.items():
        yield f"Left out: {name}: {why}"
    for a, b in pairwise(ablation.folders.values()):
        yield f"is it more than chance: local-rag eval compare {short_path(a)} {short_path(b)}"


def _title(name: str) -> str:
    return "balanced accuracy" if name == BALANCED else MEASURES[name].title


def _cell(name: str, estimate: Estimate | None) -> str:
    if estimate is None:
        return "–"
    measure = MEASURES["answered" if name == BALANCED else name]
    value = amount(measure, estimate.value)
    if estimate.low is None or estimate.high is None:
        return value
    return f"{value} ({amount(measure, estimate.low)} to {amount(measure, estimate.high)})"
