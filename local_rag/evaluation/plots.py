"""Make the plots of a report: lines and marks in a square from 0 to 1, which the page draws as SVG."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import log
from typing import Any

from local_rag.evaluation.curves import calibration_error
from local_rag.evaluation.figures import RECALL_AT
from local_rag.evaluation.report import seconds, share

Found = Mapping[str, Mapping[str, Any]]
"""The figures of a graph or mode by name, each with its mean."""
Point = tuple[float, float]

FIFTHS = tuple((fifth / 5, f"{fifth / 5:g}") for fifth in range(6))
MIN_VERDICTS = 5
"""The number of verdicts below which a bin is drawn hollow, because its share means little."""


@dataclass(frozen=True)
class Line:
    """Hold points to connect; `style` is a class of the page: a number for a graph or mode, else "ink" or "chance"."""

    label: str
    style: str
    points: Sequence[Point]


@dataclass(frozen=True)
class Mark:
    """Hold a single point; `shown` describes it in numbers."""

    shown: str
    style: str
    at: Point
    hollow: bool = False


@dataclass(frozen=True)
class Plot:
    """Hold a plot; `reading` explains it, and `ticks` are (position, label) on the horizontal axis.

    The vertical axis goes from 0 to 1.
    """

    title: str
    reading: str
    across: str
    up: str
    lines: Sequence[Line] = ()
    marks: Sequence[Mark] = ()
    ticks: Sequence[tuple[float, str]] = field(default=FIFTHS)

    @property
    def legend(self) -> dict[str, str]:
        """Return the meaning of the lines, by style."""
        return {line.style: line.label for line in self.lines if line.label}

    @property
    def alt(self) -> str:
        """Return the contents of the plot in numbers."""
        lines = (
            f"{line.label}: {', '.join(f'{share(y)} at {share(x)}' for x, y in line.points[:12])}"
            for line in self.lines
        )
        return "; ".join(mark.shown for mark in self.marks) or "; ".join(lines)


def plots(summary: Mapping[str, Any]) -> Iterator[Plot]:
    """Yield every plot that has data."""
    figures = summary["figures"]
    styles = {name: str(place % 4) for place, name in enumerate(figures.get("Cost") or figures.get("Retrieval") or ())}
    refusals = {
        graph: found for graph, found in figures.get("Refusals", {}).items() if {"answered", "refused"} <= {*found}
    }
    if "Answers" in figures:
        yield _cost(figures, styles)
    if refusals:
        yield _refusals(refusals, summary, styles)
    if "Retrieval" in figures:
        yield _recall(figures["Retrieval"])
    if any(summary["reliability"].values()):
        yield _reliability(summary["reliability"], styles)


def _cost(figures: Mapping[str, Found], styles: Mapping[str, str]) -> Plot:
    known = {
        graph: (figures["Cost"][graph]["seconds"]["p50"], found["contains"]["mean"])
        for graph, found in figures["Answers"].items()
    }
    most = max(time for time, _ in known.values()) * 1.1 or 1.0
    return Plot(
        "Quality against cost",
        "Up is better, left is cheaper. A graph is worth its cost if it stands above what stands left of it.",
        "median seconds per question",
        "share that contains a reference answer",
        [Line(graph, styles[graph], ()) for graph in known],
        [
            Mark(
                f"{graph}: {seconds(time)} s, {share(right)} contain a reference answer",
                styles[graph],
                (time / most, right),
            )
            for graph, (time, right) in known.items()
        ],
        [(at, f"{at * most:.2g}") for at, _ in FIFTHS],
    )


def _refusals(found: Mapping[str, Found], summary: Mapping[str, Any], styles: Mapping[str, str]) -> Plot:
    curves = (
        Line(label, style, [(at["answered"], at["refused"]) for at in summary[curve]])
        for label, style, curve in (
            ("threshold on the cosine", "ink", "cosine_curve"),
            ("threshold on the grader's score", "grade", "score_curve"),
        )
    )
    rates = {graph: (each["answered"]["mean"], each["refused"]["mean"]) for graph, each in found.items()}
    return Plot(
        "Answering and refusing",
        "Up and right is better. A line refuses whenever a score is below a threshold; a mark below it does worse.",
        "share of answerable questions answered",
        "share of unanswerable questions refused",
        [
            Line("chance", "chance", [(0, 1), (1, 0)]),
            *(line for line in curves if line.points),
            *(Line(graph, styles[graph], ()) for graph in rates),
        ],
        [
            Mark(f"{graph}: answered {share(rate[0])}, refused {share(rate[1])}", styles[graph], rate)
            for graph, rate in rates.items()
        ],
    )


def _recall(found: Mapping[str, Found]) -> Plot:
    def place(k: int) -> float:
        return log(k) / log(RECALL_AT[-1])

    return Plot(
        "Recall of retrieval",
        "Up is better. Where a curve is flat, a larger k brings nothing more.",
        "k: how many things found are looked at",
        "share of what is relevant among them",
        [
            Line(mode, str(number % 4), [(place(k), each[f"R@{k}"]["mean"]) for k in RECALL_AT])
            for number, (mode, each) in enumerate(found.items())
        ],
        ticks=[(place(k), str(k)) for k in RECALL_AT],
    )


def _reliability(found: Mapping[str, Sequence[Mapping[str, Any]]], styles: Mapping[str, str]) -> Plot:
    known = {graph: bins for graph, bins in found.items() if bins}
    lines = [
        Line(
            f"{graph}, ECE {share(calibration_error(bins))}",
            styles[graph],
            [(entry["score"], entry["right"]) for entry in bins if entry["count"] >= MIN_VERDICTS],
        )
        for graph, bins in known.items()
    ]
    return Plot(
        "Calibration of the grader's scores",
        "On the dotted line a score is a probability: of the passages scored .8, 8 in 10 are labelled relevant. Below "
        "it the grader is too sure, above it too shy. ECE: expected calibration error, the mean distance from that "
        f"line. Hollow: fewer than {MIN_VERDICTS} verdicts.",
        "the grader's score (mean of a bin)",
        "share labelled relevant",
        [Line("", "chance", [(0, 0), (1, 1)]), *lines],
        [
            Mark(
                f"{graph}: {share(entry['right'])} of {entry['count']} at {share(entry['score'])}",
                styles[graph],
                (entry["score"], entry["right"]),
                entry["count"] < MIN_VERDICTS,
            )
            for graph, bins in known.items()
            for entry in bins
        ],
    )
