"""A calibration: cases are graded and answered without thresholds, and thresholds are fitted to the scores.

The fitted thresholds are kept with the fingerprint of engine and embedder: with another model a score means something
else.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from local_rag.config.calibrated import keep as keep_thresholds
from local_rag.config.calibrated import thresholds_for
from local_rag.config.settings import Settings
from local_rag.config.values import Thresholds
from local_rag.core.errors import EngineError, UsageError, reason_of
from local_rag.core.private_files import make_folder
from local_rag.core.progress import Display
from local_rag.evaluation.corpus import indexed_corpus
from local_rag.evaluation.formats import open_cases, sampled
from local_rag.evaluation.reliability import bins_of, calibration_error
from local_rag.evaluation.requirements import must_have_extra
from local_rag.evaluation.scored_cases import graded_cases, passage_scores, score_answers
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
from local_rag.runtime.opening import part_embedded
from local_rag.runtime.rag import Rag
from local_rag.text.display import short_path

if TYPE_CHECKING:
    from local_rag.evaluation.cases import Case, CaseSet

FEWEST = 10
"""Cases of each kind below which a threshold would be chosen by chance."""
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
        graded, failed = graded_cases(rag, used, display)
        passages = passage_scores(graded)
        relevance = _relevance(passages)
        score_answers(rag, graded, relevance.threshold if relevance else None, display)
        fingerprint, engine, before = rag.fingerprint, rag.engine.name, _in_force(settings, rag)
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
        before=point_at(scores, before),
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


def _in_force(settings: Settings, rag: Rag) -> float:
    """The threshold for answers up to now: set, calibrated before, or the engine's own."""
    known = thresholds_for(settings, rag.fingerprint).answer
    if known is not None:
        return known
    return rag.evaluator.calibration.answers if rag.engine.name == "extractive" and rag.evaluator else 0.0


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


def _relevance(scores: Sequence[LabelledScore]) -> Point | None:
    """The threshold for passages; None without scores of both kinds."""
    return point_at(scores, best_threshold(scores, HELPFUL_KEPT)) if has_both_kinds(scores) else None


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
            f"the picture cannot be written to {short_path(path)}: {reason_of(error)}",
            hint="--picture FILE.png, .svg or .pdf",
        ) from error
