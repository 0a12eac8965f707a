"""The plots of a run, as SVG for the page or as a picture. Drawn with matplotlib's objects, never with pyplot.

A chart that has nothing to show says so in words instead of a figure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from local_rag.evaluation.reports.formatting import mean, seconds, share

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Figures = Mapping[str, Any]

INK = "#20242b"
"""Lines and words; in an SVG it becomes the colour of the text around it."""

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7")
"""Okabe & Ito 2008, for colour-blind people; those of it with a contrast of 3 or so on white and on near-black."""

MARKERS = ("o", "s", "^", "D")
SIZE = (6.4, 4.3)
"""Inches, of 72 points in an SVG."""


FEW = 5
"""A bin of fewer verdicts is drawn hollow: its share says little."""


@dataclass(frozen=True)
class Chart:
    """A plot: `reading` says how to read it, `alt` what it shows in numbers.

    `draw` fills an empty figure; without it there is nothing to plot, and `reading` says why.
    """

    name: str
    title: str
    reading: str
    alt: str = ""
    draw: Callable[[Figure], None] | None = None


def charts(summary: Figures) -> tuple[Chart, ...]:
    """Every chart for which the run has figures or should have; those of retrieval only where it was asked."""
    graphs, retrieval = summary.get("graphs") or {}, summary.get("retrieval") or {}
    made = (cost_chart(graphs), refusal_chart(graphs, summary.get("refusal_curve") or ())) if graphs else ()
    return (*made, *((recall_chart(retrieval),) if retrieval else ()), *((grader_chart(graphs),) if graphs else ()))


def cost_chart(graphs: Figures) -> Chart:
    """Quality against cost: seconds, and calls to a model where there were any."""
    name, title = "cost", "Quality against cost"
    known = {
        graph: figures
        for graph, figures in graphs.items()
        if figures["answers"]["f1"] is not None and figures["cost"]["seconds"]["p50"] is not None
    }
    if not known:
        return Chart(name, title, "No plot: no answerable case with a reference answer was asked.")
    alt = "; ".join(
        f"{graph}: {seconds(figures['cost']['seconds']['p50'])} s, {mean(figures['cost']['calls'])} calls, "
        f"token F1 {share(figures['answers']['f1'])}, containment {share(figures['answers']['containment'])}"
        for graph, figures in known.items()
    )
    reading = "Up is better, left is cheaper. Filled: token F1; hollow: share that contains a reference answer; "
    reading += "a refusal counts 0 in both. A graph is worth its cost if it stands above what stands left of it."
    costs: list[tuple[str, Callable[[Figures], float]]] = [
        ("median seconds per question", lambda figures: float(figures["cost"]["seconds"]["p50"]))
    ]
    if any(figures["cost"]["calls"] for figures in known.values()):
        costs.append(("calls to a language model per question", lambda figures: float(figures["cost"]["calls"] or 0)))
    styles = dict(_styled(known, graphs))
    return Chart(name, title, reading, alt, lambda figure: _draw_cost(figure, known, styles, costs))


def _draw_cost(
    figure: Figure,
    known: Figures,
    styles: Mapping[str, Style],
    costs: Sequence[tuple[str, Callable[[Figures], float]]],
) -> None:
    figure.set_size_inches(SIZE[0], SIZE[1] * (1 if len(costs) == 1 else 1.75))
    for number, (label, cost) in enumerate(costs, start=1):
        axes = figure.add_subplot(len(costs), 1, number)
        for graph, style in styles.items():
            answers, x = known[graph]["answers"], cost(known[graph])
            look: dict[str, Any] = {"color": style.colour, "markersize": style.size, "zorder": 3}
            axes.plot([x, x], [answers["f1"], answers["containment"]], color=style.colour, linewidth=1, zorder=2)
            axes.plot([x], [answers["f1"]], style.marker, label=graph, **look)
            axes.plot([x], [answers["containment"]], style.marker, fillstyle="none", **look)
        axes.set_xlim(0, max(map(cost, known.values())) * 1.18 or 1)
        axes.set_ylim(0, 1.04)
        _dress(axes, label, "token F1 (filled), containment (hollow)")
        _name(axes, "best")


def refusal_chart(graphs: Figures, curve: Sequence[Figures]) -> Chart:
    """Answering what can be answered against refusing what cannot."""
    name, title = "refusals", "Refusal trade-off"
    known = {
        graph: (figures["refusals"]["answer_rate"], figures["refusals"]["recall"])
        for graph, figures in graphs.items()
        if figures["refusals"]["answer_rate"] is not None and figures["refusals"]["recall"] is not None
    }
    line = [
        (point["answer_rate"], point["refusal_recall"])
        for point in sorted(curve, key=lambda point: float(point["threshold"]))
        if point["answer_rate"] is not None and point["refusal_recall"] is not None
    ]
    if not known:
        return Chart(name, title, "No plot: it needs cases that are answerable and cases that are not.")
    alt = "; ".join(f"{graph}: answer rate {share(x)}, refusal recall {share(y)}" for graph, (x, y) in known.items())
    reading = "Up and right is better. Dotted: refusing at random. "
    if line:
        reading += "The line: refuse whenever the best cosine is below a threshold, the best one picked afterwards. "
        reading += "A graph below the line does worse than that."
    return Chart(
        name,
        title,
        reading.strip(),
        alt,
        lambda figure: _draw_refusals(figure, known, dict(_styled(known, graphs)), line),
    )


def _draw_refusals(
    figure: Figure,
    known: Mapping[str, tuple[float, float]],
    styles: Mapping[str, Style],
    line: Sequence[tuple[float, float]],
) -> None:
    figure.set_size_inches(SIZE[0], SIZE[1] * 1.15)
    axes = figure.add_subplot()
    axes.plot([0, 1], [1, 0], color=INK, linewidth=1, linestyle=":", label="at random")
    if line:
        across, up = zip(*line, strict=True)
        axes.plot(across, up, color=INK, linewidth=1.4, label="cosine threshold", zorder=2)
    for graph, style in styles.items():
        look: dict[str, Any] = {"color": style.colour, "markersize": style.size, "zorder": 3}
        axes.plot(*known[graph], style.marker, label=graph, clip_on=False, **look)
    axes.set_xlim(0, 1.02)
    axes.set_ylim(0, 1.04)
    _dress(axes, "answer rate: share of answerable questions answered", "refusal recall: share of unanswerable refused")
    _name(axes, "lower left")


def recall_chart(retrieval: Figures) -> Chart:
    """recall@k for each mode of retrieval."""
    name, title = "recall", "Recall of retrieval"
    known = {
        mode: {int(cut): value for cut, value in (figures["recall"] or {}).items() if value is not None}
        for mode, figures in retrieval.items()
    }
    known = {mode: curve for mode, curve in known.items() if curve}
    if not known:
        return Chart(name, title, "No plot: no case names what is relevant.")
    alt = "; ".join(
        f"{mode}: " + ", ".join(f"{share(value)} at {cut}" for cut, value in sorted(curve.items()))
        for mode, curve in known.items()
    )
    reading = "Up is better: the share of what is relevant among the first k things found. Where a curve is flat, "
    reading += "a larger k brings nothing more."
    styles = dict(_styled(known, retrieval))
    return Chart(name, title, reading, alt, lambda figure: _draw_recall(figure, known, styles))


def _draw_recall(figure: Figure, known: Mapping[str, Mapping[int, float]], styles: Mapping[str, Style]) -> None:
    axes = figure.add_subplot()
    cuts = sorted({cut for curve in known.values() for cut in curve})
    for mode, style in styles.items():
        across, up = zip(*sorted(known[mode].items()), strict=True)
        axes.plot(across, up, style.dash, marker=style.marker, color=style.colour, markersize=6, label=mode)
    axes.set_xscale("log")
    axes.set_xticks(cuts, [str(cut) for cut in cuts])
    axes.set_xticks([], minor=True)
    axes.set_ylim(0, 1.04)
    _dress(axes, "k: how many things found are looked at (log scale)", "recall@k")
    _name(axes, "lower right")


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
        f"{graph}: "
        + ", ".join(f"{share(entry['relevant'])} of {entry['verdicts']} at {share(entry['score'])}" for entry in bins)
        for graph, bins in known.items()
    )
    reading = "On the dotted line a score is a probability: of the passages scored .8, 8 in 10 are labelled relevant. "
    reading += "Below it the grader is too sure, above it too shy. The bars say how many verdicts a point stands for."
    if any(entry["verdicts"] < FEW for bins in known.values() for entry in bins):
        reading += f" Hollow: fewer than {FEW} verdicts, too few to go by."
    styles = dict(_styled(known, graphs))
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
        line: dict[str, Any] = {"linestyle": style.dash, "label": graph}
        for few, look in ((False, line), (True, {"linestyle": "none", "fillstyle": "none"})):
            held = [entry for entry in bins if (entry["verdicts"] < FEW) is few]
            points = [entry["score"] for entry in held], [entry["relevant"] for entry in held]
            axes.plot(*points, marker=style.marker, color=style.colour, **look)
        wide = min(entry["to"] - entry["from"] for entry in bins) * 0.8 / len(known)
        middle = [(entry["from"] + entry["to"]) / 2 + (number - (len(known) - 1) / 2) * wide for entry in bins]
        bars.bar(middle, [entry["verdicts"] for entry in bins], wide, color=style.colour)
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1.04)
    axes.tick_params(labelbottom=False)
    _dress(axes, "", "share labelled relevant")
    _dress(bars, "the grader's score (mean of a bin)", "verdicts")
    _name(axes, "upper left")


@dataclass(frozen=True)
class Style:
    """How a graph or a mode is drawn; markers shrink, so that one on another leaves a rim."""

    colour: str
    marker: str
    dash: str
    size: float


def _styled(known: Iterable[str], names: Iterable[str]) -> Iterator[tuple[str, Style]]:
    """The names that are known, each styled by its position among all names: alike in every chart."""
    shown = set(known)
    for number, name in enumerate(names):
        if name in shown:
            position = number % len(COLOURS)
            dash = ("-", "--", "-.", ":")[position]
            yield name, Style(COLOURS[position], MARKERS[position], dash, 12.0 - 1.8 * position)


def _dress(axes: Axes, across: str, up: str) -> None:
    """Names of the axes, a faint grid, and no frame."""
    axes.set_xlabel(across)
    axes.set_ylabel(up)
    axes.grid(visible=True, color=INK, alpha=0.15, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def _name(axes: Axes, corner: Literal["best", "lower left", "lower right", "upper left"]) -> None:
    """Say which marker stands for which graph or mode."""
    axes.legend(loc=corner, frameon=False, fontsize=10, labelcolor=INK)
