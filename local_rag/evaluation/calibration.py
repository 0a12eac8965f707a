"""A calibration: cases are graded and answered without thresholds, and thresholds are fitted to the scores.

The fitted thresholds are kept with the fingerprint of engine and embedder: with another model a score means something
else.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from local_rag.config.calibrated import keep as keep_thresholds
from local_rag.config.calibrated import thresholds_for
from local_rag.config.settings import Settings
from local_rag.config.values import Thresholds
from local_rag.core.errors import DeadlineExceeded, EngineError, LocalRagError, Stopped, UsageError
from local_rag.core.generation import Attempt
from local_rag.core.private_files import make_folder
from local_rag.core.progress import Display
from local_rag.core.verdicts import Relevance
from local_rag.evaluation.answer_metrics import containment
from local_rag.evaluation.corpus import indexed_corpus
from local_rag.evaluation.formats import open_cases, sampled
from local_rag.evaluation.matching import held
from local_rag.evaluation.reliability import bins_of, calibration_error
from local_rag.evaluation.requirements import must_have_extra
from local_rag.evaluation.threshold_fit import (
    HELPFUL_KEPT,
    LabelledScore,
    Point,
    best_threshold,
    cross_fitted,
    has_both_kinds,
    point_at,
    trade_off,
)
from local_rag.graphs.nodes.generation import write as write_answer
from local_rag.runtime.partial_index import part_embedded
from local_rag.runtime.rag import Rag
from local_rag.text import citations
from local_rag.text.answer_texts import is_refusal
from local_rag.text.display import plural, short_path
from local_rag.text.marks import without_marks

if TYPE_CHECKING:
    from langchain_core.documents import Document

    from local_rag.evaluation.cases import Case, CaseSet

T = TypeVar("T")

FEWEST = 10
"""Cases of each kind below which a threshold would be chosen by chance."""
FAILURES_IN_A_ROW = 5
FOLDER = "calibrations"
PICTURES = (".png", ".svg", ".pdf")


@dataclass(frozen=True)
class CalibrationRequest:
    """Which cases, and what becomes of the thresholds. `keep`: the share of answerable questions still answered.

    `partial`: with an index that is embedded in part, too.
    """

    paths: tuple[Path, ...]
    format: str | None = None
    corpus: bool = False
    limit: int | None = None
    seed: int = 0
    keep: float | None = None
    picture: Path | None = None
    dry_run: bool = False
    partial: bool = False

    @property
    def options(self) -> list[str]:
        """Those of the command line that decide which cases are asked, and what becomes of them."""
        values = {"format": self.format, "limit": self.limit, "seed": self.seed or None, "keep": self.keep}
        given = [part for name, value in values.items() if value is not None for part in (f"--{name}", str(value))]
        return [*(["--corpus"] if self.corpus else []), *given]


@dataclass
class Calibration:
    """The fitted thresholds as points of the trade-off; `relevance` is None where there was nothing to fit.

    `failed` and `unscored` count cases that are in none of the points. `most` is the largest share of answerable
    questions that any threshold answers, `before` the point of the threshold until now, `expected` the cross-fitted
    one. `kept_in` is None for a dry run. `embedded` says how much of the index was, where not all of it was.
    `reliability` has bins of scores (`reliability.bins_of`): of passages against the label of each, of answers against
    whether the question has an answer ("questions") and whether the text holds an expected one ("answers"); `ece` has
    their expected calibration errors, None without labels.
    """

    engine: str
    fingerprint: str
    cases: int
    answerable: int
    failed: int
    unscored: int
    relevance: Point | None
    answer: Point
    most: float | None
    before: Point
    keep: float | None
    expected: Point | None
    trade_off: list[Point]
    reliability: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    ece: dict[str, float | None] = field(default_factory=dict)
    picture: Path | None = None
    kept_in: Path | None = None
    embedded: str = ""


@dataclass
class _GradedCase:
    """A case with its passages and their verdicts, and later the score of its answer."""

    case: Case
    documents: list[Document]
    verdicts: list[Relevance]
    answer: LabelledScore | None = None

    def passages_above(self, threshold: float | None) -> list[Document]:
        """The passages that a graph would answer from."""
        return [
            document
            for document, verdict in zip(self.documents, self.verdicts, strict=True)
            if (
                verdict.label == "relevant"
                if threshold is None or verdict.score is None
                else verdict.score >= threshold
            )
        ]


@dataclass
class _Failures:
    """Counts questions that failed; so many one after the other end the calibration."""

    count: int = 0
    in_a_row: int = 0

    @contextmanager
    def counted(self) -> Iterator[None]:
        try:
            yield
            self.in_a_row = 0
        except LocalRagError as error:
            if isinstance(error, Stopped) and not isinstance(error, DeadlineExceeded):
                raise
            self.count, self.in_a_row = self.count + 1, self.in_a_row + 1
            if self.in_a_row == FAILURES_IN_A_ROW:
                raise EngineError(
                    f"{FAILURES_IN_A_ROW} questions in a row failed, the last with: {error}",
                    hint="local-rag doctor looks for the reason; nothing was kept",
                ) from error


def calibrate(settings: Settings, request: CalibrationRequest, display: Display) -> Calibration:
    """Fit thresholds to the cases, draw what they cost and bring, and keep them. Raises UsageError, EngineError."""
    must_have_extra()
    cases = _open(request)
    used = [case for case in sampled(cases.cases, request.limit, request.seed) if case.answerable is not None]
    _must_suffice(used, request.limit)
    _must_be_writable(request.picture)
    if request.corpus:
        settings = indexed_corpus(cases, settings, display)
    without = settings.values.model_copy(update={"thresholds": Thresholds(relevance=0.0, answer=0.0)})
    with Rag.open(replace(settings, values=without)) as rag:
        for line in rag.choice.lines:
            display.say(line)
        why = "so the thresholds would not hold for the whole index"
        embedded = part_embedded(settings, rag.index.status(), why, partial=request.partial)
        graded, failed = _graded(rag, used, display)
        passages = _passage_scores(graded)
        relevance = _relevance(passages)
        _answer(rag, graded, relevance.threshold if relevance else None, display)
        fingerprint, engine = rag.fingerprint, rag.engine.name
    scores = [entry.answer for entry in graded if entry.answer is not None]
    if not has_both_kinds(scores):
        raise EngineError(
            f"{engine} gave no score for the answers of one kind of cases, so there is nothing to fit",
            hint="local-rag models try shows what the model does with the graders",
        )
    threshold = best_threshold(scores, request.keep)
    reliability = _reliability(passages, scores)
    calibration = Calibration(
        engine=engine,
        fingerprint=fingerprint,
        cases=len(used),
        answerable=sum(bool(case.answerable) for case in used),
        failed=failed,
        unscored=len(used) - failed - len(scores),
        relevance=relevance,
        answer=point_at(scores, threshold),
        most=point_at(scores, 0.0).kept,
        before=point_at(scores, _in_force(settings, fingerprint, engine)),
        keep=request.keep,
        embedded=embedded,
        expected=cross_fitted(scores, request.keep, request.seed),
        trade_off=trade_off(scores, threshold),
        reliability=reliability,
        ece={name: calibration_error(bins) for name, bins in reliability.items()},
    )
    calibration.picture = _picture(scores, calibration, settings, request.picture)
    if not request.dry_run:
        calibration.kept_in = _keep(calibration, settings, request, {"cases": len(scores), "from": cases.name})
    return calibration


def _reliability(passages: Sequence[LabelledScore], scores: Sequence[LabelledScore]) -> dict[str, list[dict[str, Any]]]:
    """The bins of all scores against what each may be the chance of."""
    scored = [(score.score, score) for score in scores if score.score is not None]
    return {
        "passages": bins_of((score.score, score.positive) for score in passages if score.score is not None),
        "questions": bins_of((score, of.positive) for score, of in scored),
        "answers": bins_of(
            (score, of.positive and bool(of.right)) for score, of in scored if of.right is not None or not of.positive
        ),
    }


def _keep(calibration: Calibration, settings: Settings, request: CalibrationRequest, about: dict[str, Any]) -> Path:
    """Keep the thresholds with what they were fitted to, and what the command that fits them anew needs."""
    relevance = calibration.relevance.threshold if calibration.relevance else None
    fitted = Thresholds(relevance=relevance, answer=calibration.answer.threshold)
    origin = {"engine": calibration.engine, **about, "on": time.strftime("%Y-%m-%d")}
    origin |= {"files": [str(path.expanduser().absolute()) for path in request.paths], "options": request.options}
    origin |= {"embedded": calibration.embedded} if calibration.embedded else {}
    return keep_thresholds(settings, calibration.fingerprint, fitted, origin)


def _open(request: CalibrationRequest) -> CaseSet:
    try:
        return open_cases(request.paths, request.format)
    except UsageError as error:
        hint = error.hint.replace("local-rag eval CASES", "local-rag calibrate CASES")
        raise UsageError(str(error), hint=hint) from error


def _in_force(settings: Settings, fingerprint: str, engine: str) -> float:
    """The threshold for answers up to now: set, calibrated before, or the engine's own."""
    from local_rag.engines.extractive.selection import ANSWERS

    known = thresholds_for(settings, fingerprint).answer
    return known if known is not None else ANSWERS if engine == "extractive" else 0.0


def _must_suffice(cases: Sequence[Case], limit: int | None) -> None:
    answerable, others = (sum(case.answerable is kind for case in cases) for kind in (True, False))
    if min(answerable, others) < FEWEST:
        raise UsageError(
            f"a calibration needs at least {FEWEST} cases with an answer and {FEWEST} without, and there are "
            f"{answerable} and {others}",
            hint="a higher --limit, or none"
            if limit is not None
            else "local-rag eval make CASES.jsonl --count 50 --unanswerable 50   and your own questions beside them",
        )


def _must_be_writable(picture: Path | None) -> None:
    """Raises UsageError before minutes of work, not after them."""
    if picture is None:
        return
    if picture.suffix.lower() not in PICTURES:
        raise UsageError(f"a picture ends in {', '.join(PICTURES)}, not in {picture.name!r}", hint="--picture plot.png")
    folder = picture.expanduser().absolute().parent
    if not folder.is_dir():
        raise UsageError(f"there is no folder {short_path(folder)} for the picture", hint="--picture plot.png")


def _graded(rag: Rag, cases: Sequence[Case], display: Display) -> tuple[list[_GradedCase], int]:
    """Retrieve and grade every case, and how many failed. Raises EngineError where one failure follows the other."""
    graded: list[_GradedCase] = []
    failures = _Failures()
    for case in _told(cases, "grading passages", display):
        with failures.counted(), rag.context().scope():
            documents = rag.index.search(case.question, rag.settings.values.k)
            verdicts = rag.engine.relevance(case.question, documents, scored=True) if documents else []
            graded.append(_GradedCase(case, documents, verdicts))
    return graded, failures.count


def _passage_scores(graded: Sequence[_GradedCase]) -> list[LabelledScore]:
    """The scores of passages, where the cases say which ones help and the engine gives scores."""
    return [
        LabelledScore(verdict.score, bool(held(entry.case, document)))
        for entry in graded
        if entry.case.relevant or entry.case.answerable is False
        for document, verdict in zip(entry.documents, entry.verdicts, strict=True)
        if verdict.score is not None
    ]


def _relevance(scores: Sequence[LabelledScore]) -> Point | None:
    """The threshold for passages; None without scores of both kinds."""
    return point_at(scores, best_threshold(scores, HELPFUL_KEPT)) if has_both_kinds(scores) else None


def _answer(rag: Rag, graded: Sequence[_GradedCase], threshold: float | None, display: Display) -> None:
    """Answer every case from the passages above the threshold, and grade the answer."""
    failures = _Failures()
    for entry in _told(graded, "answering", display):
        with failures.counted(), rag.context().scope():
            entry.answer = _score(rag, entry.case, entry.passages_above(threshold))


def _score(rag: Rag, case: Case, documents: Sequence[Document]) -> LabelledScore | None:
    """The score of an answer as a graph would check it; None for one that got none from its grader."""
    positive = bool(case.answerable)
    right = False if case.answers else None
    text = ""
    if documents:
        text = write_answer(case.question, documents, Attempt(), rag.context(), lambda event: None)[0]
    generation = citations.check(text, documents).text
    if not generation or is_refusal(generation):
        return LabelledScore(None, positive, right)
    grade = rag.engine.grade(case.question, documents, generation)
    if grade.score is None:
        return None
    if case.answers:
        right = bool(containment(without_marks(generation), case.answers))
    return LabelledScore(grade.score, positive, right)


def _picture(scores: Sequence[LabelledScore], calibration: Calibration, settings: Settings, path: Path | None) -> Path:
    from local_rag.evaluation.reports.calibration_chart import calibration_chart
    from local_rag.evaluation.reports.drawings import save

    if path is None:
        folder = settings.data_folder / FOLDER
        make_folder(folder)
        path = folder / f"{hashlib.sha256(calibration.fingerprint.encode()).hexdigest()[:12]}.png"
    try:
        chart = calibration_chart(scores, calibration.answer.threshold, calibration.engine, calibration.reliability)
        return save(chart, path)
    except (OSError, ValueError) as error:
        raise UsageError(
            f"the picture cannot be written to {short_path(path)}: {error}", hint="--picture FILE.png, .svg or .pdf"
        ) from error


def _told(items: Sequence[T], doing: str, display: Display) -> Iterator[T]:
    """The items, with how many are done shown as they are taken."""
    display.say(f"{doing} of {plural(len(items), 'case')}…")
    with display.progress(doing) as show:
        for number, item in enumerate(items):
            show(number / len(items), f"{doing}: {number} of {plural(len(items), 'case')}")
            yield item
