"""A calibration as lines of a terminal: the fitted thresholds, and what each would cost and bring."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from local_rag.core.serialization import to_plain
from local_rag.evaluation.calibration import Calibration
from local_rag.evaluation.reports.figures import percent
from local_rag.evaluation.threshold_fit import HELPFUL_KEPT, Point
from local_rag.terminal.show import write, write_json
from local_rag.text.display import plural

if TYPE_CHECKING:
    from local_rag.config.settings import Settings

COLUMNS = {
    "answered": "of the questions with an answer in the files, how many get one",
    "right": "of those whose expected words the cases name, how many get an answer that holds them",
    "refused": "of the questions without an answer, how many get none",
    "precision": "of the questions that get none, for how many that is right",
    "balanced": "the mean of answered and refused",
}
"""The columns of the trade-off behind the threshold, and what each means."""


def print_calibration(calibration: Calibration, settings: Settings, *, as_json: bool) -> None:
    """The calibration on stdout; `settings` say which thresholds are set by hand."""
    if as_json:
        plain = to_plain(calibration)
        write_json({name: value for name, value in plain.items() if name != "kept_in" or value is not None})
        return
    for line in calibration_lines(calibration):
        write(line)
    for name in ("relevance", "answer"):
        if settings.origin[f"thresholds.{name}"] != "default":
            write(f"note: thresholds.{name} is set by {settings.origin[f'thresholds.{name}']}, which stays stronger")


def calibration_lines(calibration: Calibration) -> Iterator[str]:
    """The figures of a calibration."""
    answer, before = calibration.answer, calibration.before
    unanswerable = calibration.cases - calibration.answerable
    cases = plural(calibration.cases, "case")
    yield f"{calibration.engine}: {cases}, {calibration.answerable} with an answer and {unanswerable} without"
    for count, what in ((calibration.failed, "failed"), (calibration.unscored, "got no score")):
        if count:
            yield f"note: {count} of them {what} and count for nothing"
    yield ""
    yield _relevance_line(calibration.relevance)
    yield f"answer      {answer.threshold:.2f}"
    yield ""
    yield f"  threshold  {'  '.join(COLUMNS)}"
    yield from (_row(point, point.threshold == answer.threshold) for point in calibration.trade_off)
    yield ""
    yield f"> is the threshold that was chosen: an answer that scores less than {answer.threshold:.2f} is not given"
    yield (
        f"in force until now: {before.threshold:.2f}, which answers {percent(before.kept)} and refuses "
        f"{percent(before.refused)}"
    )
    if calibration.keep is not None and (answer.kept or 0.0) < calibration.keep:
        yield f"note: --keep {calibration.keep:g} cannot be met: the engine answers {percent(calibration.most)} at most"
    elif not answer.refused:
        yield "note: this refuses no question without an answer; a lower --keep, or none, refuses more"
    if expected := calibration.expected:
        yield (
            f"on new questions expect about: {percent(expected.kept)} answered of those with an answer, "
            f"{percent(expected.refused)} refused of the others (cross-fitted in five parts)"
        )
    yield ""
    yield from (f"{name:<11}{meaning}" for name, meaning in COLUMNS.items())
    yield ""
    yield f"picture: {calibration.picture}"
    if calibration.kept_in:
        yield f"kept in {calibration.kept_in}: in force from now on with this engine and embedder"
    else:
        yield "nothing was kept (--dry-run)"


def _relevance_line(point: Point | None) -> str:
    if point is None:
        return "relevance   not fitted: no case names a relevant passage that was retrieved, or there are no scores"
    return (
        f"relevance   {point.threshold:.2f} keeps {percent(point.kept)} of the passages that help (at least "
        f"{HELPFUL_KEPT:.0%} was asked for) and takes out {percent(point.refused)} of the others"
    )


def _row(point: Point, is_chosen: bool) -> str:
    shares = (point.kept, point.right, point.refused, point.precision, point.balanced)
    cells = ("" if share is None else f"{share:.2f}" for share in shares)
    row = "  ".join(f"{cell:>{len(name)}}" for name, cell in zip(COLUMNS, cells, strict=True))
    return f"{'>' if is_chosen else ' '} {point.threshold:9.2f}  {row}"
