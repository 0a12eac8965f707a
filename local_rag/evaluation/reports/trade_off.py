"""What a calibration shows: the trade-off between answering and refusing, as lines and as a plot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from local_rag.evaluation.reports.charts import COLOURS, INK, Chart
from local_rag.evaluation.threshold_fit import HELPFUL_KEPT, Point, Scored, point, thresholds
from local_rag.text.display import plural

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HEAD = "threshold  answered  right  refused  precision  balanced"
WIDTHS = (8, 5, 7, 9, 8)
GLOSSARY = (
    "answered   of the questions with an answer in the files, how many get one",
    "right      of those whose expected words the cases name, how many get an answer that holds them",
    "refused    of the questions without an answer, how many get none",
    "precision  of the questions that get none, for how many that is right",
    "balanced   the mean of answered and refused",
)


def lines(report: Mapping[str, Any]) -> list[str]:
    """The figures of a calibration for a terminal."""
    unanswerable = report["cases"] - report["answerable"]
    found = [
        f"{report['engine']}: {plural(report['cases'], 'case')}, {report['answerable']} with an answer and "
        f"{unanswerable} without"
    ]
    for name, what in (("failed", "failed"), ("unscored", "got no score")):
        if report[name]:
            found.append(f"note: {report[name]} of them {what} and count for nothing")
    relevance: Point | None = report["relevance"]
    found.append("")
    if relevance is None:
        found.append("relevance   not fitted: no case names a relevant passage that was found, or there are no scores")
    else:
        found.append(
            f"relevance   {relevance.threshold:.2f} keeps {_percent(relevance.kept)} of the passages that help (at "
            f"least {HELPFUL_KEPT:.0%} was asked for) and takes out {_percent(relevance.refused)} of the others"
        )
    answer: Point = report["answer"]
    found += [f"answer      {answer.threshold:.2f}", "", f"  {HEAD}"]
    found += [_row(one, one.threshold == answer.threshold) for one in report["trade_off"]]
    found += ["", f"> is the one that was taken: an answer that scores less than {answer.threshold:.2f} is not given"]
    before: Point = report["before"]
    found.append(
        f"in force until now: {before.threshold:.2f}, which answers {_percent(before.kept)} and refuses "
        f"{_percent(before.refused)}"
    )
    if report["keep"] is not None and (answer.kept or 0.0) < report["keep"]:
        found.append(
            f"note: --keep {report['keep']:g} cannot be had: the engine answers {_percent(report['most'])} at most"
        )
    elif not answer.refused:
        found.append("note: this refuses no question without an answer; with a lower --keep, or without it, more are")
    expected: Point | None = report["expected"]
    if expected is not None:
        found.append(
            f"on new questions expect about: {_percent(expected.kept)} answered of those with an answer, "
            f"{_percent(expected.refused)} refused of the others (cross-fitted in five parts)"
        )
    found += ["", *GLOSSARY]
    found += ["", f"picture: {report['picture']}"]
    if report.get("kept_in"):
        found.append(f"kept in {report['kept_in']}: in force from now on with this engine and embedder")
    else:
        found.append("nothing was kept (--dry-run)")
    return found


def _row(one: Point, is_chosen: bool) -> str:
    shares = zip((one.kept, one.right, one.refused, one.precision, one.balanced), WIDTHS, strict=True)
    cells = [" " * width if share is None else f"{share:{width}.2f}" for share, width in shares]
    return f"{'>' if is_chosen else ' '} {one.threshold:9.2f}  {'  '.join(cells)}"


def _percent(share: float | None) -> str:
    return "none" if share is None else f"{share:.0%}"


def trade_off_chart(scored: Sequence[Scored], threshold: float, engine: str) -> Chart:
    """Shares answered, right and refused over the threshold, with the chosen one as a line."""
    above_all = min(1.0, max((one.score for one in scored if one.score is not None), default=0.0) + 1e-6)
    points = [point(scored, one) for one in sorted({*thresholds(scored), above_all, 1.0})]
    here = point(scored, threshold)
    alt = (
        f"At {threshold:.2f} {_percent(here.kept)} of the answerable questions are answered and "
        f"{_percent(here.refused)} of the others refused."
    )

    def draw(figure: Figure) -> None:
        axes = figure.add_subplot()
        series = [
            ("answered, of those with an answer", [one.kept for one in points]),
            ("refused, of those without one", [one.refused for one in points]),
            ("right, of those whose words are known", [one.right for one in points]),
        ]
        for (label, values), colour in zip(series, COLOURS, strict=False):
            known = [(one.threshold, value) for one, value in zip(points, values, strict=True) if value is not None]
            if known:
                axes.step(*map(list, zip(*known, strict=True)), where="post", label=label, color=colour)
        axes.axvline(threshold, color=INK, linewidth=0.8, linestyle="--")
        axes.annotate(f"{threshold:.2f}", (threshold, 1.02), ha="center", annotation_clip=False)
        axes.set(xlim=(0, 1), ylim=(0, 1), xlabel="threshold of an answer's score", ylabel="share of the questions")
        axes.legend(frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.15), fontsize="small")

    return Chart("trade-off", f"What a threshold costs and brings: {engine}", alt, alt, draw)
