"""The plot of a calibration: the trade-off between answering and refusing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from local_rag.evaluation.reports.charts import COLOURS, INK, Chart
from local_rag.evaluation.reports.formatting import percent
from local_rag.evaluation.threshold_fit import LabelledScore, point_at, thresholds

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def trade_off_chart(scores: Sequence[LabelledScore], threshold: float, engine: str) -> Chart:
    """Shares answered, right and refused over the threshold, with the chosen one as a line."""
    above_all = min(1.0, max((score.score for score in scores if score.score is not None), default=0.0) + 1e-6)
    points = [point_at(scores, at) for at in sorted({*thresholds(scores), above_all, 1.0})]
    here = point_at(scores, threshold)
    alt = (
        f"At {threshold:.2f} {percent(here.kept)} of the answerable questions are answered and "
        f"{percent(here.refused)} of the others refused."
    )

    def draw(figure: Figure) -> None:
        axes = figure.add_subplot()
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
        axes.set(xlim=(0, 1), ylim=(0, 1), xlabel="threshold of an answer's score", ylabel="share of the questions")
        axes.legend(frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.15), fontsize="small")

    return Chart("trade-off", f"What a threshold costs and brings: {engine}", alt, alt, draw)
