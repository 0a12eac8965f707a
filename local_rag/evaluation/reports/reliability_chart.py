"""The plot of whether scores mean what they say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from local_rag.evaluation.reliability import calibration_error
from local_rag.evaluation.reports.chart import INK, SIZE, Chart, Style, dress, legend, styled
from local_rag.evaluation.reports.formatting import share

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Figures = Mapping[str, Any]

FEW = 5
"""A bin of fewer verdicts is drawn hollow: its share says little."""


def grader_chart(graphs: Figures) -> Chart:
    """Whether the grader's scores mean what they say: a reliability diagram."""
    name, title = "grader", "Calibration of the grader's scores"
    known: dict[str, list[Figures]] = {}
    for graph, figures in graphs.items():
        bins = [entry for entry in (figures["grading"] or {}).get("bins") or () if _scored(entry)]
        if bins:
            known[graph] = bins
    if not known:
        graded = any((figures["grading"] or {}).get("labelled") for figures in graphs.values())
        why = "the engine gives verdicts without scores" if graded else "no graded passage has a label"
        return Chart(name, title, f"No plot: {why}.")
    alt = "; ".join(
        f"{graph}: ECE {share(calibration_error(bins))}; "
        + ", ".join(f"{share(entry['relevant'])} of {entry['verdicts']} at {share(entry['score'])}" for entry in bins)
        for graph, bins in known.items()
    )
    reading = "On the dotted line a score is a probability: of the passages scored .8, 8 in 10 are labelled relevant. "
    reading += "Below it the grader is too sure, above it too shy. The bars say how many verdicts a point stands for. "
    reading += "ECE: expected calibration error, the mean distance from that line."
    if any(entry["verdicts"] < FEW for bins in known.values() for entry in bins):
        reading += f" Hollow: fewer than {FEW} verdicts, too few to go by."
    styles = dict(styled(known, graphs))
    return Chart(name, title, reading, alt, lambda figure: _draw_grader(figure, known, styles))


def _scored(entry: Figures) -> bool:
    return bool(entry["verdicts"]) and entry["score"] is not None and entry["relevant"] is not None


def _draw_grader(figure: Figure, known: Mapping[str, Sequence[Figures]], styles: Mapping[str, Style]) -> None:
    figure.set_size_inches(SIZE[0], SIZE[1] * 1.35)
    grid = figure.add_gridspec(2, 1, height_ratios=(3, 1))
    axes = figure.add_subplot(grid[0])
    bars = figure.add_subplot(grid[1], sharex=axes)
    axes.plot([0, 1], [0, 1], color=INK, linewidth=1, linestyle=":")
    for number, (graph, style) in enumerate(styles.items()):
        bins = sorted(known[graph], key=lambda entry: float(entry["score"]))
        draw_bins(axes, bins, f"{graph}, ECE {share(calibration_error(bins))}", style)
        wide = min(entry["to"] - entry["from"] for entry in bins) * 0.8 / len(known)
        middle = [(entry["from"] + entry["to"]) / 2 + (number - (len(known) - 1) / 2) * wide for entry in bins]
        bars.bar(middle, [entry["verdicts"] for entry in bins], wide, color=style.colour)
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1.04)
    axes.tick_params(labelbottom=False)
    dress(axes, "", "share labelled relevant")
    dress(bars, "the grader's score (mean of a bin)", "verdicts")
    legend(axes, "upper left")


def draw_bins(axes: Axes, bins: Sequence[Figures], label: str, style: Style) -> None:
    """Share over score for each bin, those of few verdicts hollow and apart from the line."""
    line: dict[str, Any] = {"linestyle": style.dash, "label": label}
    for few, look in ((False, line), (True, {"linestyle": "none", "fillstyle": "none"})):
        held = [entry for entry in bins if (entry["verdicts"] < FEW) is few]
        points = [entry["score"] for entry in held], [entry["relevant"] for entry in held]
        axes.plot(*points, marker=style.marker, color=style.colour, **look)
