"""What the questions of the benchmark cost, side by side."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from benchmarks.question_cases import GRADINGS, OURS, Case, Cost, Costs, Grading
from benchmarks.report import Table


def first_table(cases: Sequence[Case], measured: Sequence[Costs]) -> Table:
    rows = [
        [f"{case.graph}, {case.k}, {case.named}: {grading}", *_compared(costs[grading][0], costs["each"][0])]
        for case, costs in zip(cases, measured, strict=True)
        for grading in OURS
    ]
    columns = ["graph, documents: grading", "ours s", "baseline s", "ours/baseline", "processor", *_FIGURES]
    return Table("One question", columns, rows)


_FIGURES = ["calls", "of", "read", "of", "read/unique", "written", "of", "load ms", "evaluator s"]


def _compared(ours: Cost, theirs: Cost) -> list[str | float | int | None]:
    return [
        ours.seconds, theirs.seconds, ours.seconds / theirs.seconds,
        ours.busy / theirs.busy if ours.busy and theirs.busy else None,
        len(ours.calls), len(theirs.calls), ours.read, theirs.read,
        ours.read / ours.unique if ours.read and ours.unique else None,
        ours.wrote, theirs.wrote, max(ours.loads) * 1000, ours.evaluated or None,
    ]  # fmt: skip


def second_table(cases: Sequence[Case], measured: Sequence[Costs]) -> list[Table]:
    """A second question of a chat over the same passages: against the first, and against the baseline's second."""
    rows = []
    for case, costs in zip(cases, measured, strict=True):
        for grading in OURS if case.asked > 1 else ():
            (first, second), (_, theirs) = costs[grading], costs["each"]
            busy = second.busy / first.busy if first.busy and second.busy else None
            share = [second.seconds / first.seconds, busy, first.read, second.read]
            rows.append([f"{case.graph}, {case.k}: {grading}", *share, second.seconds / theirs.seconds])
    columns = ["graph, documents: grading", "second/first", "processor", "read, first", "read, second"]
    title = "A second question of a chat over the same passages"
    return [Table(title, [*columns, "second: ours/baseline"], rows)] if rows else []


def kinds_table(cases: Sequence[Case], measured: Sequence[Costs]) -> Table:
    """Seconds per call, by what is asked."""
    spent: dict[str, dict[Grading, list[float]]] = defaultdict(lambda: {grading: [] for grading in GRADINGS})
    for case, costs in zip(cases, measured, strict=True):
        for grading, asked in costs.items():
            for kind, seconds in asked[0].calls:
                spent[f"{case.k} documents: {kind}"][grading].append(seconds)
    rows = [
        [kind, *(cell for grading in GRADINGS for cell in (_mean(one[grading]), len(one[grading])))]
        for kind, one in sorted(spent.items())
    ]
    return Table("Seconds per call", ["call", *(cell for name in GRADINGS for cell in (name, "calls"))], rows)


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def different_ways(cases: Sequence[Case], measured: Sequence[Costs]) -> list[str]:
    """The cases whose figures compare different things."""
    ways = [{tuple(" / ".join(cost.way) for cost in asked) for asked in costs.values()} for costs in measured]
    named = [f"{case.graph}, {case.k}, {case.named}" for case, way in zip(cases, ways, strict=True) if len(way) > 1]
    return [f"DIFFERENT WAYS, so the figures say nothing: {'; '.join(named)}"] if named else []
