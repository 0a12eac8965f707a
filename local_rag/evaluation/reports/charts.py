"""The plots of a run, as SVG for the page or as a picture. Drawn with matplotlib's objects, never with pyplot.

A chart that has nothing to show says so in words instead of a figure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from local_rag.evaluation.reports.chart import SIZE, Chart, Style, dress, legend, styled
from local_rag.evaluation.reports.formatting import mean, seconds, share
from local_rag.evaluation.reports.refusal_charts import refusal_chart, trade_off_chart
from local_rag.evaluation.reports.reliability_chart import grader_chart

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Figures = Mapping[str, Any]


def charts(summary: Figures) -> tuple[Chart, ...]:
    """Every chart for which the run has figures or should have; those of retrieval only where it was asked."""
    graphs, retrieval = summary.get("graphs") or {}, summary.get("retrieval") or {}
    curves = summary.get("refusal_curve") or (), summary.get("score_curve") or ()
    made = (cost_chart(graphs), refusal_chart(graphs, curves[0]), trade_off_chart(graphs, *curves)) if graphs else ()
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
    styles = dict(styled(known, graphs))
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
        dress(axes, label, "token F1 (filled), containment (hollow)")
        legend(axes, "best")


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
    styles = dict(styled(known, retrieval))
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
    dress(axes, "k: how many things found are looked at (log scale)", "recall@k")
    legend(axes, "lower right")
