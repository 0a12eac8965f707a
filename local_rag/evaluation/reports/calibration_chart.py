"""The picture of a calibration: what a threshold costs and brings, and whether the scores are probabilities."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from local_rag.evaluation.reliability import calibration_error
from local_rag.evaluation.reports.chart import COLOURS, INK, MARKERS, SIZE, Chart, Style, dress, legend
from local_rag.evaluation.reports.formatting import percent, share
from local_rag.evaluation.reports.reliability_chart import draw_bins
from local_rag.evaluation.threshold_fit import LabelledScore, Point, point_at, thresholds

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Bins = Sequence[Mapping[str, Any]]


def calibration_chart(
    scores: Sequence[LabelledScore], threshold: float, engine: str, reliability: Mapping[str, Bins]
) -> Chart:
    """Three plots, one below the other, with the chosen threshold marked.

    Shares answered, right and refused over the threshold; balanced accuracy and precision of refusals over the answer
    rate; and the reliability of the scores, by the name of what is scored.
    """
    above_all = min(1.0, max((score.score for score in scores if score.score is not None), default=0.0) + 1e-6)
    points = [point_at(scores, at) for at in sorted({*thresholds(scores), above_all, 1.0})]
    here = point_at(scores, threshold)
    known = {name: bins for name, bins in reliability.items() if bins}
    alt = (
        f"At {threshold:.2f} {percent(here.kept)} of the answerable questions are answered and "
        f"{percent(here.refused)} of the others refused; balanced accuracy {share(here.balanced)}. "
        + "; ".join(f"ECE of {name}: {share(calibration_error(bins))}" for name, bins in known.items())
    ).strip()

    def draw(figure: Figure) -> None:
        figure.set_size_inches(SIZE[0], SIZE[1] * (2.7 if known else 1.9))
        by_threshold, by_rate, *more = figure.subplots(3 if known else 2, 1)
        _draw_shares(by_threshold, points, threshold)
        _draw_rates(by_rate, points, here)
        if more:
            _draw_reliability(more[0], known)

    return Chart("calibration", f"Calibration: {engine}", alt, alt, draw)


def _draw_shares(axes: Axes, points: Sequence[Point], threshold: float) -> None:
    series = [
        ("answered, of those with an answer", [point.kept for point in points]),
        ("refused, of those without one", [point.refused for point in points]),
        ("right, of those whose words are known", [point.right for point in points]),
    ]
    for (label, values), colour in zip(series, COLOURS, strict=False):
        known = [(point.threshold, value) for point, value in zip(points, values, strict=True) if value is not None]
        if known:
            axes.step(*map(list, zip(*known, strict=True)), where="post", label=label, color=colour)
    axes.axvline(threshold, color=INK, linewidth=0.8, linestyle="--")
    axes.annotate(f"{threshold:.2f}", (threshold, 1.02), ha="center", annotation_clip=False)
    axes.set(xlim=(0, 1), ylim=(0, 1))
    dress(axes, "threshold of an answer's score", "share of the questions")
    legend(axes, "best")


def _draw_rates(axes: Axes, points: Sequence[Point], here: Point) -> None:
    figures: tuple[tuple[str, Callable[[Point], float | None]], ...] = (
        ("balanced accuracy", lambda point: point.balanced),
        ("precision of refusals", lambda point: point.precision),
    )
    for (label, of), colour in zip(figures, COLOURS, strict=False):
        both = [(point.kept, of(point)) for point in points]
        known = [(rate, value) for rate, value in both if rate is not None and value is not None]
        if known:
            axes.plot(*map(list, zip(*known, strict=True)), label=label, color=colour)
        rate, value = here.kept, of(here)
        if rate is not None and value is not None:
            axes.plot([rate], [value], "o", color=colour, clip_on=False)
    axes.set(xlim=(0, 1), ylim=(0, 1))
    dress(axes, "answer rate: share of answerable questions answered", "share")
    legend(axes, "lower left")


def _draw_reliability(axes: Axes, known: Mapping[str, Bins]) -> None:
    axes.plot([0, 1], [0, 1], color=INK, linewidth=1, linestyle=":")
    for number, (name, bins) in enumerate(known.items()):
        style = Style(COLOURS[number], MARKERS[number], ("-", "--")[number % 2], 8.0)
        draw_bins(axes, bins, f"{name}, ECE {share(calibration_error(bins))}", style)
    axes.set(xlim=(0, 1), ylim=(0, 1.04))
    dress(axes, "score (mean of a bin)", "share that is right")
    legend(axes, "upper left")
