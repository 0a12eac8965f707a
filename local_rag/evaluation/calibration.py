"""A calibration as a door does it: cases are asked without thresholds, and the thresholds fitted to their scores.

What is found is kept in the config folder with the fingerprint of the engine and its embedder: with another model the
same number would mean something else.
"""

from __future__ import annotations

import hashlib
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from local_rag.config.calibrated import keep as keep_thresholds
from local_rag.config.calibrated import thresholds_for
from local_rag.config.settings import Settings, Thresholds
from local_rag.core.errors import DeadlineExceeded, EngineError, LocalRagError, Stopped, UsageError
from local_rag.core.generation import NOT_IN_PASSAGES, Attempt
from local_rag.core.verdicts import Relevance
from local_rag.evaluation.answer_metrics import containment
from local_rag.evaluation.corpus import index_of
from local_rag.evaluation.formats import open_cases, sampled
from local_rag.evaluation.matching import held
from local_rag.evaluation.threshold_fit import HELPFUL_KEPT, Point, Scored, chosen, cross_fitted, point, shown
from local_rag.graphs.nodes.generation import write as write_answer
from local_rag.runtime.indexing import sync_progress
from local_rag.runtime.rag import Rag, open_embedder
from local_rag.terminal.live import say_engine
from local_rag.terminal.progress import LINE_EVERY, TerminalDisplay
from local_rag.terminal.show import write, write_json
from local_rag.text import citations
from local_rag.text.display import plural, short_path
from local_rag.text.marks import without_marks

if TYPE_CHECKING:
    from langchain_core.documents import Document
    from rich.console import Console

    from local_rag.evaluation.cases import Case

FEWEST = 10
"""Cases of each kind below which a threshold would be chosen by chance."""
IN_A_ROW = 5
FOLDER = "calibrations"
PICTURES = (".png", ".svg", ".pdf")


@dataclass(frozen=True)
class CalibrationWish:
    """What a person asked for. `keep`: the share of answerable questions that must still be answered."""

    paths: tuple[Path, ...]
    format: str | None = None
    corpus: bool = False
    limit: int | None = None
    seed: int = 0
    keep: float | None = None
    picture: Path | None = None
    dry_run: bool = False


@dataclass
class _Asked:
    """A case with its passages and their verdicts, and later the score of its answer."""

    case: Case
    documents: list[Document]
    verdicts: list[Relevance]
    scored: Scored | None = None


@dataclass
class _Failures:
    """A question that fails counts for nothing; so many one after the other end the calibration."""

    count: int = 0
    in_a_row: int = 0

    @contextmanager
    def one(self) -> Iterator[None]:
        try:
            yield
            self.in_a_row = 0
        except LocalRagError as error:
            if isinstance(error, Stopped) and not isinstance(error, DeadlineExceeded):
                raise
            self.count, self.in_a_row = self.count + 1, self.in_a_row + 1
            if self.in_a_row == IN_A_ROW:
                raise EngineError(
                    f"{IN_A_ROW} questions in a row failed, the last with: {error}",
                    hint="local-rag doctor looks for the reason; nothing was kept",
                ) from error


def calibrate(settings: Settings, wish: CalibrationWish, console: Console, *, json: bool = False) -> int:
    """Fit thresholds to the cases, show what they cost and bring, and keep them; 0. Raises UsageError, EngineError."""
    try:
        cases = open_cases(wish.paths, wish.format, None)
    except UsageError as error:
        hint = error.hint.replace("local-rag eval CASES", "local-rag calibrate CASES")
        raise UsageError(str(error), hint=hint) from error
    used = [case for case in sampled(cases.cases, wish.limit, wish.seed) if case.answerable is not None]
    _must_suffice(used, wish.limit)
    _must_be_writable(wish.picture)
    if wish.corpus:
        with sync_progress(TerminalDisplay(console)) as progress:
            settings = index_of(
                cases, settings, open_embedder(settings, TerminalDisplay(console)), whole=False, progress=progress
            )
    open_to_all = settings.values.model_copy(update={"thresholds": Thresholds(relevance=0.0, answer=0.0)})
    with Rag.open(replace(settings, values=open_to_all)) as rag:
        say_engine(console, rag)
        asked, failed = _graded(rag, used, console)
        relevance = _relevance(asked)
        _answered(rag, asked, relevance.threshold if relevance else None, console)
        fingerprint, engine = rag.fingerprint, rag.engine.name
    before = _in_force(settings, fingerprint, engine)
    answers = [one.scored for one in asked if one.scored is not None]
    _must_have_scores(answers, engine)
    found = Thresholds(relevance=relevance.threshold if relevance else None, answer=chosen(answers, wish.keep))
    report = _report(used, failed, answers, relevance, found, wish, engine, fingerprint, before)
    report["picture"] = str(_picture(answers, found, settings, wish, engine, fingerprint))
    if not wish.dry_run:
        about = {"engine": engine, "cases": len(answers), "from": cases.name, "on": time.strftime("%Y-%m-%d")}
        report["kept_in"] = str(keep_thresholds(settings, fingerprint, found, about))
    if json:
        write_json(report)
    else:
        _say(report, settings)
    return 0


def _in_force(settings: Settings, fingerprint: str, engine: str) -> float:
    """The threshold for answers up to now: set, calibrated before, or the engine's own."""
    from local_rag.engines.extractive.engine import ANSWERS

    known = thresholds_for(settings, fingerprint).answer
    return known if known is not None else ANSWERS if engine == "extractive" else 0.0


def _must_suffice(cases: Sequence[Case], limit: int | None) -> None:
    kinds = {kind: sum(case.answerable is kind for case in cases) for kind in (True, False)}
    if min(kinds.values()) < FEWEST:
        raise UsageError(
            f"a calibration needs at least {FEWEST} cases with an answer and {FEWEST} without, and there are "
            f"{kinds[True]} and {kinds[False]}",
            hint="a higher --limit, or none"
            if limit is not None
            else "local-rag eval make CASES.jsonl --count 50 --unanswerable 50   and your own questions beside them",
        )


def _must_be_writable(picture: Path | None) -> None:
    """Better said before minutes of work than after them."""
    if picture is None:
        return
    if picture.suffix.lower() not in PICTURES:
        raise UsageError(f"a picture ends in {', '.join(PICTURES)}, not in {picture.name!r}", hint="--picture plot.png")
    if not picture.expanduser().absolute().parent.is_dir():
        raise UsageError(
            f"there is no folder {short_path(picture.absolute().parent)} for the picture", hint="--picture plot.png"
        )


def _must_have_scores(answers: Sequence[Scored], engine: str) -> None:
    if not any(one.positive for one in answers) or all(one.positive for one in answers):
        raise EngineError(
            f"{engine} gave no score for the answers of one kind of cases, so there is nothing to fit",
            hint="local-rag models try shows what the model does with the graders",
        )


def _graded(rag: Rag, cases: Sequence[Case], console: Console) -> tuple[list[_Asked], int]:
    """Retrieve and grade every case. Raises EngineError where one failure follows the other."""
    asked: list[_Asked] = []
    tell, guard = _teller(console, "grading passages", len(cases)), _Failures()
    for number, case in enumerate(cases):
        tell(number)
        with guard.one(), rag.context().scope():
            documents = rag.index.search(case.question, rag.settings.values.k)
            verdicts = rag.engine.relevance(case.question, documents, scored=True) if documents else []
            asked.append(_Asked(case, documents, verdicts))
    return asked, guard.count


def _relevance(asked: Sequence[_Asked]) -> Point | None:
    """The threshold for passages, where the cases say which ones help and the engine gives scores."""
    scored = [
        Scored(verdict.score, bool(held(one.case, document)))
        for one in asked
        if one.case.relevant or one.case.answerable is False
        for document, verdict in zip(one.documents, one.verdicts, strict=True)
        if verdict.score is not None
    ]
    if not any(one.positive for one in scored) or all(one.positive for one in scored):
        return None
    return point(scored, chosen(scored, HELPFUL_KEPT))


def _answered(rag: Rag, asked: Sequence[_Asked], threshold: float | None, console: Console) -> None:
    """Answer every case from what the threshold leaves, and grade the answer. What refuses by itself scores 0."""
    tell, guard = _teller(console, "answering", len(asked)), _Failures()
    for number, one in enumerate(asked):
        tell(number)
        kept = [
            document
            for document, verdict in zip(one.documents, one.verdicts, strict=True)
            if (
                verdict.label == "relevant"
                if threshold is None or verdict.score is None
                else verdict.score >= threshold
            )
        ]
        with guard.one(), rag.context().scope():
            one.scored = _score(rag, one.case, kept)


def _score(rag: Rag, case: Case, documents: Sequence[Document]) -> Scored | None:
    """The score of an answer as a graph would check it; None for one that got none from its grader."""
    positive = bool(case.answerable)
    right = False if case.answers else None
    text = write_answer(case.question, documents, Attempt(), rag.context(), _silent)[0] if documents else ""
    generation = citations.check(text, documents).text
    if generation in ("", NOT_IN_PASSAGES):
        return Scored(None, positive, right)
    grade = rag.engine.grade(case.question, documents, generation)
    if grade.score is None:
        return None
    if case.answers:
        right = bool(containment(without_marks(generation), case.answers))
    return Scored(grade.score, positive, right)


def _silent(event: object) -> None:
    """A calibration shows no drafts."""


def _report(
    cases: Sequence[Case],
    failed: int,
    answers: Sequence[Scored],
    relevance: Point | None,
    found: Thresholds,
    wish: CalibrationWish,
    engine: str,
    fingerprint: str,
    before: float,
) -> dict[str, Any]:
    assert found.answer is not None
    return {
        "engine": engine,
        "fingerprint": fingerprint,
        "cases": len(cases),
        "answerable": sum(bool(case.answerable) for case in cases),
        "failed": failed,
        "unscored": len(cases) - failed - len(answers),
        "relevance": relevance,
        "answer": point(answers, found.answer),
        "most": point(answers, 0.0).kept,
        "before": point(answers, before),
        "keep": wish.keep,
        "expected": cross_fitted(answers, wish.keep, wish.seed),
        "trade_off": shown(answers, found.answer),
    }


def _picture(
    answers: Sequence[Scored],
    found: Thresholds,
    settings: Settings,
    wish: CalibrationWish,
    engine: str,
    fingerprint: str,
) -> Path:
    from local_rag.evaluation.reports.drawings import save
    from local_rag.evaluation.reports.trade_off import trade_off_chart

    path = wish.picture
    if path is None:
        folder = settings.data_folder / FOLDER
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        path = folder / f"{hashlib.sha256(fingerprint.encode()).hexdigest()[:12]}.png"
    assert found.answer is not None
    try:
        return save(trade_off_chart(answers, found.answer, engine), path)
    except (OSError, ValueError) as error:
        raise UsageError(
            f"the picture cannot be written to {short_path(path)}: {error}", hint="--picture FILE.png, .svg or .pdf"
        ) from error


def _say(report: dict[str, Any], settings: Settings) -> None:
    from local_rag.evaluation.reports.trade_off import lines

    for line in lines(report):
        write(line)
    for name in ("relevance", "answer"):
        if settings.origin[f"thresholds.{name}"] != "default":
            write(f"note: thresholds.{name} is set by {settings.origin[f'thresholds.{name}']}, which stays stronger")


def _teller(console: Console, doing: str, total: int) -> Any:
    """A line at the beginning and then now and then."""
    last = time.monotonic() - LINE_EVERY

    def tell(done: int) -> None:
        nonlocal last
        if time.monotonic() - last >= LINE_EVERY or done == 0:
            last = time.monotonic()
            line = f"{doing}: {done} of {plural(total, 'case')}"
            console.print(line, markup=False, highlight=False, soft_wrap=True)
            sys.stderr.flush()

    return tell
