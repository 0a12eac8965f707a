"""Show evaluations in a terminal: new cases, the figures of a run, comparisons, and calibrations."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import RenderableType
from rich.text import Text

from local_rag.evaluation.compare import HEAD, HOW, Comparison, cells
from local_rag.evaluation.report import failures, missing, share, tables, warnings
from local_rag.evaluation.thresholds import HELPFUL_KEPT, Point
from local_rag.terminal.console import NumberTable, PlainTable, indented
from local_rag.text.display import joined, plural, short_path, shorten

if TYPE_CHECKING:
    from local_rag.config.settings import Settings
    from local_rag.evaluation.calibrate import Calibration
    from local_rag.evaluation.cases import Case, CaseFile
    from local_rag.evaluation.labels import FeedbackCases
    from local_rag.evaluation.make import Made
    from local_rag.runtime.kept import KeptRun

QUESTION_WIDTH = 300
"""The maximum characters of a question."""


def made_parts(made: Made, index: str, wanted: int, *, keep: bool) -> Iterator[str]:
    """Yield what was proposed, why there are no more proposals, and the next command."""
    for why, times in made.thrown.items():
        yield f"{plural(times, 'reply', 'replies')} of the model not used: {why}"
    yield f"{plural(len(made.cases), 'question')} proposed in {_file(made.file)}"
    if not made.by_model:
        yield (
            "made from headings, without a language model: word search will look better than on people's questions, "
            "and there is none without an answer; mix in questions of your own"
        )
    elif len(made.cases) < wanted:
        yield "the index gave no more; another --seed may give others"
    if not keep and made.cases:
        yield 'next: read them in an editor, mend them, set "keep" to true where a question fits, then'
    if made.file.cases:
        yield _next(made.file, index)


def feedback_parts(made: FeedbackCases, index: str) -> Iterator[str]:
    """Yield the cases made of judged answers, and which answers were left out."""
    for case in made.kept:
        yield f"{shorten(case.question, QUESTION_WIDTH)}: {case_labels(case)}"
    yield f"{plural(len(made.kept), 'case')} of feedback kept in {_file(made.file)}"
    if made.known:
        yield f"{plural(made.known, 'question')} {'was' if made.known == 1 else 'were'} there already"
    if made.unlabelled:
        yield f"{plural(made.unlabelled, 'answer')} left out: say on the page what a right answer says"
    if made.elsewhere:
        yield f"{plural(made.elsewhere, 'answer')} from other indexes left out: --index NAME takes those"
    if made.file.cases:
        yield _next(made.file, index)


def run_case_parts(run: KeptRun, case: Case, file: CaseFile) -> Iterator[str]:
    """Yield the case made of a run, and the command that asks it."""
    yield f"kept in {_file(file)}: {case_labels(case)}"
    source = run.conditions["settings"].get("web.source")
    web_from = f" --web-from {shlex.quote(source)}" if source else ""
    yield _next(file, run.conditions["index"]["name"] if run.folder else "") + web_from


def case_labels(case: Case) -> str:
    """Return which kinds of right answers a case states."""
    if case.answerable is False:
        return "a question that the files do not answer"
    answers = [plural(len(case.answers), "expected answer")] if case.answers else []
    sources = [plural(len(case.relevant), "source")] if case.relevant else []
    return " and ".join([*answers, *sources]) or "a question that the files do answer"


def _file(file: CaseFile) -> str:
    return f"{short_path(file.path)} ({plural(len(file.cases), 'case')} now)"


def _next(file: CaseFile, index: str) -> str:
    where = f" --index {shlex.quote(index)}" if index else ""
    return f"next: local-rag eval {shlex.quote(short_path(file.path))}{where}"


FAILURES = 3
"""The maximum number of failures to show; report.html has the others."""

MOST_DIFFERENCES = 12
"""The maximum number of differences between two runs' settings to show; the others are counted."""


def evaluation_parts(
    manifest: Mapping[str, Any], summary: Mapping[str, Any], cases: Sequence[Case]
) -> Iterator[RenderableType]:
    """Yield warnings about the run and its cases, every table with what it covers, and the failures."""
    for note in warnings(manifest, cases):
        yield Text(note, "yellow")
    for table in tables(summary):
        yield Text(table.title, "bold")
        yield NumberTable(table.head, table.rows)
        yield indented(table.over)
        yield ""
    yield from missing(manifest, summary)
    yield from failures(summary, FAILURES)


def comparison_parts(comparison: Comparison) -> Iterator[RenderableType]:
    """Yield the two runs, the differences in their settings, each pair of graphs or modes, and the test used."""
    yield f"A  {short_path(comparison.a)}"
    yield f"B  {short_path(comparison.b)}"
    yield ""
    yield from comparison.notes
    if comparison.made:
        yield "Made differently:"
    for name, (a, b) in list(comparison.made.items())[:MOST_DIFFERENCES]:
        yield indented(f"{name}: {_value(a)} in A, {_value(b)} in B")
    if len(comparison.made) > MOST_DIFFERENCES:
        yield indented(f"and {len(comparison.made) - MOST_DIFFERENCES:,} more, see --json")
    for pairing in comparison.paired:
        yield ""
        yield pairing.title
        differ = [figure for figure in pairing.figures if figure.p is not None]
        if differ:
            yield NumberTable(HEAD, [cells(figure) for figure in differ])
        if same := [figure.title for figure in pairing.figures if figure.p is None]:
            yield indented(f"the same in every case: {joined(same)}")
    yield ""
    yield HOW


def _value(value: object) -> str:
    return "none" if value in (None, "") else shorten(str(value), 40)


COLUMNS = {
    "answered": "of the questions with an answer in the files, how many get one",
    "right": "of those whose expected words the cases name, how many get an answer that holds them",
    "refused": "of the questions without an answer, how many get none",
    "precision": "of the questions that get none, for how many that is right",
    "balanced": "the mean of answered and refused",
}
"""The columns of the trade-off behind the threshold, and their meanings."""


def calibration_parts(calibration: Calibration, settings: Settings | None = None) -> Iterator[RenderableType]:
    """Yield the figures of a calibration; `settings` tell which thresholds are set by hand."""
    answer, before = calibration.answer, calibration.before
    unanswerable = calibration.cases - calibration.answerable
    cases = plural(calibration.cases, "case")
    yield f"{calibration.engine}: {cases}, {calibration.answerable} with an answer and {unanswerable} without"
    left_out = {"failed": calibration.failed, "got no score": calibration.unscored}
    yield from (f"note: {count} of them {what} and count for nothing" for what, count in left_out.items() if count)
    yield ""
    yield _relevance_line(calibration.relevance)
    yield f"answer      {answer.threshold:.2f}"
    yield ""
    points = []
    for point in calibration.trade_off:
        shares = (point.kept, point.right, point.refused, point.precision, point.balanced)
        mark = ">" if point.threshold == answer.threshold else " "
        points.append([f"{mark} {point.threshold:.2f}", *("" if each is None else f"{each:.2f}" for each in shares)])
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
    """Return a share in whole per cent: 64%."""
    return "none" if value is None else f"{value:.0%}"


def _relevance_line(point: Point | None) -> str:
    if point is None:
        return "relevance   not fitted: no case names a relevant passage that was retrieved, or there are no scores"
    return (
        f"relevance   {point.threshold:.2f} keeps {percent(point.kept)} of the passages that help (at least "
        f"{HELPFUL_KEPT:.0%} was asked for) and takes out {percent(point.refused)} of the others"
    )
