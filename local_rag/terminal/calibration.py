"""A calibration: the fitted thresholds, and what each would cost and bring."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from local_rag.config.settings import Settings
from local_rag.evaluation.calibrate import Calibration
from local_rag.evaluation.report import share
from local_rag.evaluation.thresholds import HELPFUL_KEPT, Point
from local_rag.terminal.console import NumberTable, PlainTable
from local_rag.text.display import joined, plural

COLUMNS = {
    "answered": "of the questions with an answer in the files, how many get one",
    "right": "of those whose expected words the cases name, how many get an answer that holds them",
    "refused": "of the questions without an answer, how many get none",
    "precision": "of the questions that get none, for how many that is right",
    "balanced": "the mean of answered and refused",
}
"""The columns of the trade-off behind the threshold, and what each means."""


def calibration_parts(calibration: Calibration, settings: Settings | None = None) -> Iterator[RenderableType]:
    """The figures of a calibration; `settings` say which thresholds are set by hand."""
    answer, before = calibration.answer, calibration.before
    unanswerable = calibration.cases - calibration.answerable
    cases = plural(calibration.cases, "case")
    yield f"{calibration.engine}: {cases}, {calibration.answerable} with an answer and {unanswerable} without"
    yield from _left_out(calibration)
    yield ""
    yield _relevance_line(calibration.relevance)
    yield f"answer      {answer.threshold:.2f}"
    yield ""
    points = [_cells(point, point.threshold == answer.threshold) for point in calibration.trade_off]
    yield NumberTable(("threshold", *COLUMNS), points)
    yield ""
    yield f"> is the threshold that was chosen: an answer that scores less than {answer.threshold:.2f} is not given"
    yield (
        f"in force until now: {before.threshold:.2f}, which answers {percent(before.kept)} and refuses "
        f"{percent(before.refused)}"
    )
    if calibration.keep is not None and (answer.kept or 0.0) < calibration.keep:
        most = percent(calibration.trade_off[0].kept)
        yield f"note: --keep {calibration.keep:g} cannot be met: the engine answers {most} at most"
    elif not answer.refused:
        yield "note: this refuses no question without an answer; a lower --keep, or none, refuses more"
    if expected := calibration.expected:
        yield (
            f"on new questions expect about: {percent(expected.kept)} answered of those with an answer, "
            f"{percent(expected.refused)} refused of the others (cross-fitted in five parts)"
        )
    if known := [f"{share(error)} for {name}" for name, error in calibration.ece.items() if error is not None]:
        yield f"calibration error of the scores (ECE; 0: a score of .8 is right in 8 of 10): {joined(known)}"
    yield ""
    meanings = PlainTable()
    for name, meaning in COLUMNS.items():
        meanings.add_row(name, Text(meaning, "dim"))
    yield meanings
    yield ""
    if calibration.kept_in:
        yield f"kept in {calibration.kept_in}: in force from now on with this engine and embedder"
    else:
        yield "nothing was kept (--dry-run)"
    origins = settings.origin if settings else {}
    for name in ("relevance", "answer"):
        origin = origins.get(f"thresholds.{name}", "default")
        if origin != "default":
            yield f"note: thresholds.{name} is set by {origin}, which stays stronger"


def percent(value: float | None) -> str:
    """A share in whole percent: 64%."""
    return "none" if value is None else f"{value:.0%}"


def _left_out(calibration: Calibration) -> Iterator[str]:
    """Notes on cases that are in none of the figures."""
    for count, what in ((calibration.failed, "failed"), (calibration.unscored, "got no score")):
        if count:
            yield f"note: {count} of them {what} and count for nothing"


def _relevance_line(point: Point | None) -> str:
    if point is None:
        return "relevance   not fitted: no case names a relevant passage that was retrieved, or there are no scores"
    return (
        f"relevance   {point.threshold:.2f} keeps {percent(point.kept)} of the passages that help (at least "
        f"{HELPFUL_KEPT:.0%} was asked for) and takes out {percent(point.refused)} of the others"
    )


def _cells(point: Point, is_chosen: bool) -> list[str]:
    shares = (point.kept, point.right, point.refused, point.precision, point.balanced)
    mark = ">" if is_chosen else " "
    return [f"{mark} {point.threshold:.2f}", *("" if share is None else f"{share:.2f}" for share in shares)]
