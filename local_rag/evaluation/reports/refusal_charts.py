"""The plots of answering and refusing, graph by graph and by thresholds on a score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from local_rag.evaluation.reports.chart import INK, SIZE, Chart, Style, dress, legend, styled
from local_rag.evaluation.reports.formatting import share

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Figures = Mapping[str, Any]


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
        lambda figure: _draw_refusals(figure, known, dict(styled(known, graphs)), line),
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
    dress(axes, "answer rate: share of answerable questions answered", "refusal recall: share of unanswerable refused")
    legend(axes, "lower left")


def trade_off_chart(graphs: Figures, by_cosine: Sequence[Figures], by_score: Sequence[Figures]) -> Chart:
    """Balanced accuracy and the precision of refusals, over the share of answerable questions that are answered."""
    name, title = "trade-off", "What answering more costs"
    known = {
        graph: figures["refusals"]
        for graph, figures in graphs.items()
        if None not in (figures["refusals"]["answer_rate"], figures["refusals"]["recall"])
    }
    if not known:
        return Chart(name, title, "No plot: it needs cases that are answerable and cases that are not.")
    lines = {
        label: sorted(curve, key=lambda point: float(point["threshold"]))
        for label, curve in (("cosine threshold", by_cosine), ("threshold on the grader's score", by_score))
        if curve
    }
    tops = [f"{label}: at most {share(max(map(balanced, curve)))}" for label, curve in lines.items()]
    points = [
        f"{graph}: answer rate {share(refusals['answer_rate'])}, balanced {share(refusals['balanced_accuracy'])}, "
        f"precision {share(refusals['precision'])}"
        for graph, refusals in known.items()
    ]
    reading = (
        "Up is better; at an answer rate that you want, the highest mark or line is the best. Balanced accuracy is "
    )
    reading += (
        "the mean of answer rate and refusal recall; chance gets .5. A line is what a bare threshold reaches: on "
    )
    reading += "the nearest passage's cosine, or on the best score that a grader gave a passage."
    styles = dict(styled(known, graphs))
    return Chart(
        name, title, reading, "; ".join(points + tops), lambda figure: _draw_rates(figure, known, styles, lines)
    )


def balanced(point: Figures) -> float:
    """The balanced accuracy at a point of a curve."""
    return float(point["answer_rate"] + point["refusal_recall"]) / 2


def _draw_rates(
    figure: Figure,
    known: Mapping[str, Figures],
    styles: Mapping[str, Style],
    lines: Mapping[str, Sequence[Figures]],
) -> None:
    figure.set_size_inches(SIZE[0], SIZE[1] * 1.6)
    above = figure.add_subplot(2, 1, 1)
    below = figure.add_subplot(2, 1, 2, sharex=above)
    for (label, curve), dash in zip(lines.items(), ("-", "--"), strict=False):
        look: dict[str, Any] = {"color": INK, "linewidth": 1.4, "linestyle": dash, "label": label, "zorder": 2}
        above.plot([point["answer_rate"] for point in curve], [balanced(point) for point in curve], **look)
        precise = [point for point in curve if point["refusal_precision"] is not None]
        rates = [point["answer_rate"] for point in precise]
        below.plot(rates, [point["refusal_precision"] for point in precise], **look)
    for graph, style in styles.items():
        refusals, rate = known[graph], known[graph]["answer_rate"]
        mark: dict[str, Any] = {"color": style.colour, "markersize": style.size, "zorder": 3, "clip_on": False}
        above.plot([rate], [refusals["balanced_accuracy"]], style.marker, label=graph, **mark)
        if refusals["precision"] is not None:
            below.plot([rate], [refusals["precision"]], style.marker, **mark)
    above.set_xlim(0, 1.02)
    for axes in (above, below):
        axes.set_ylim(0, 1.04)
    dress(above, "", "balanced accuracy")
    dress(below, "answer rate: share of answerable questions answered", "precision of refusals")
    legend(above, "lower left")
