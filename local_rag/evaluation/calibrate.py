"""Calibrate: grade and answer cases without thresholds, and fit thresholds to the scores.

The fitted thresholds are stored with the fingerprint of engine and embedder, because another model's scores mean
something else.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from langchain_core.documents import Document

from local_rag.config.calibrated import keep as keep_thresholds
from local_rag.config.calibrated import thresholds_for
from local_rag.config.settings import Settings
from local_rag.config.values import Thresholds
from local_rag.core.cancel import scope
from local_rag.core.errors import DeadlineExceeded, EngineError, LocalRagError, Stopped, UsageError
from local_rag.core.progress import Display
from local_rag.core.protocols import Attempt
from local_rag.core.verdicts import Relevance
from local_rag.evaluation.cases import Case
from local_rag.evaluation.curves import bins_of, calibration_error
from local_rag.evaluation.matching import held
from local_rag.evaluation.metrics import containment
from local_rag.evaluation.runner import IN_A_ROW
from local_rag.evaluation.sets import indexed_corpus, open_cases, sampled
from local_rag.evaluation.thresholds import (
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
from local_rag.runtime.opening import part_embedded
from local_rag.runtime.rag import Rag
from local_rag.text import citations
from local_rag.text.answer_language import is_refusal
from local_rag.text.display import plural
from local_rag.text.marks import without_marks

T = TypeVar("T")
R = TypeVar("R")

FEWEST = 10
"""The minimum number of cases of each kind; with fewer, chance would choose the threshold."""


@dataclass(frozen=True)
class CalibrationRequest:
    """Name the cases and options; `keep` is the share of answerable questions that must still be answered."""

    paths: tuple[Path, ...]
    format: str | None = None
    corpus: bool = False
    limit: int | None = None
    seed: int = 0
    keep: float | None = None
    dry_run: bool = False

    @property
    def options(self) -> list[str]:
        """Return the command-line options that select cases and decide about thresholds."""
        values = {"format": self.format, "limit": self.limit, "seed": self.seed or None, "keep": self.keep}
        given = [part for name, value in values.items() if value is not None for part in (f"--{name}", str(value))]
        return [*(["--corpus"] if self.corpus else []), *given]


@dataclass(frozen=True)
class Calibration:
    """Hold the fitted thresholds as points of the trade-off; `relevance` is None if it could not be fitted.

    `failed` and `unscored` count cases that no point includes. `before` is the point of the threshold until now,
    `expected` the cross-fitted point. `ece` has the expected calibration errors of the scores of passages and answers,
    None without labels. `kept_in` is None for a dry run.
    """

    engine: str
    fingerprint: str
    cases: int
    answerable: int
    failed: int
    unscored: int
    relevance: Point | None
    answer: Point
    before: Point
    keep: float | None
    expected: Point | None
    trade_off: list[Point]
    ece: dict[str, float | None]
    kept_in: Path | None = None


def calibrate(settings: Settings, request: CalibrationRequest, display: Display) -> Calibration:
    """Fit thresholds to the cases and store them; raise UsageError or EngineError."""
    cases = open_cases(request.paths, request.format)
    used = [case for case in sampled(cases.cases, request.limit, request.seed) if case.answerable is not None]
    _must_suffice(used, request.limit)
    if request.corpus:
        settings = indexed_corpus(cases, settings, display)
    without = settings.values.model_copy(update={"thresholds": Thresholds(relevance=0.0, answer=0.0)})
    with Rag.open(replace(settings, values=without)) as rag:
        for line in rag.choice.lines:
            display.say(line)
        why = "so the thresholds would not hold for the whole index"
        part_embedded(settings, rag.index.status(), why)
        graded = _asked(used, "grading passages", rag, display, partial(_graded, rag))
        passages = [score for entry in graded for score in entry.passage_scores()]
        relevance = point_at(passages, best_threshold(passages, HELPFUL_KEPT)) if has_both_kinds(passages) else None
        least = relevance.threshold if relevance else None
        asked = _asked(graded, "answering", rag, display, lambda each: _score(rag, each.case, each.above(least)))
        answers = [score for score in asked if score is not None]
        fingerprint, engine, before = rag.fingerprint, rag.engine.name, _in_force(settings, rag)
    if not has_both_kinds(answers):
        raise EngineError(
            f"{engine} gave no score for the answers of one kind of cases, so there is nothing to fit",
            hint="local-rag models try shows what the model does with the graders",
        )
    threshold = best_threshold(answers, request.keep)
    calibration = Calibration(
        engine=engine,
        fingerprint=fingerprint,
        cases=len(used),
        answerable=sum(bool(case.answerable) for case in used),
        failed=len(used) - len(asked),
        unscored=len(asked) - len(answers),
        relevance=relevance,
        answer=point_at(answers, threshold),
        before=point_at(answers, before),
        keep=request.keep,
        expected=cross_fitted(answers, request.keep, request.seed),
        trade_off=trade_off(answers, threshold),
        ece={"passages": _ece((each.score, each.positive) for each in passages), "answers": _ece(_right(answers))},
    )
    if request.dry_run:
        return calibration
    fitted = Thresholds(relevance=relevance.threshold if relevance else None, answer=threshold)
    files = [str(path.expanduser().absolute()) for path in request.paths]
    origin = {"engine": engine, "cases": len(answers), "from": cases.name, "on": time.strftime("%Y-%m-%d")}
    origin |= {"files": files, "options": request.options}
    return replace(calibration, kept_in=keep_thresholds(settings, fingerprint, fitted, origin))


def _must_suffice(cases: Sequence[Case], limit: int | None) -> None:
    answerable, others = (sum(case.answerable is kind for case in cases) for kind in (True, False))
    if min(answerable, others) < FEWEST:
        raise UsageError(
            f"a calibration needs at least {FEWEST} cases with an answer and {FEWEST} without, and there are "
            f"{answerable} and {others}",
            hint="a higher --limit, or none"
            if limit is not None
            else "local-rag eval make CASES.jsonl   and your own questions beside them, with and without an answer",
        )


def _in_force(settings: Settings, rag: Rag) -> float:
    """Return the threshold for answers until now: a set one, a calibrated one, or the engine's own."""
    known = thresholds_for(settings, rag.fingerprint).answer
    if known is not None:
        return known
    return rag.evaluator.calibration.answers if rag.evaluator and not rag.engine.writes else 0.0


def _ece(scored: Iterator[tuple[float | None, bool]]) -> float | None:
    return calibration_error(bins_of((score, right) for score, right in scored if score is not None))


def _right(answers: Sequence[LabelledScore]) -> Iterator[tuple[float | None, bool]]:
    """Yield the score of each answer that is known to be right or wrong, and which it is."""
    for each in answers:
        if each.right is not None or not each.positive:
            yield each.score, each.positive and bool(each.right)


# --- scores


@dataclass
class _Graded:
    """Hold a case with its passages and the verdicts on them."""

    case: Case
    documents: list[Document]
    verdicts: list[Relevance]

    def passage_scores(self) -> Iterator[LabelledScore]:
        """Yield the scores of passages that have a label; an engine without scores yields none."""
        for document, verdict in zip(self.documents, self.verdicts, strict=True):
            if verdict.score is not None and (self.case.relevant or self.case.answerable is False):
                yield LabelledScore(verdict.score, bool(held(self.case, document)))

    def above(self, threshold: float | None) -> list[Document]:
        """Return the passages from which a graph would answer at this threshold."""
        return [
            document
            for document, verdict in zip(self.documents, self.verdicts, strict=True)
            if (
                verdict.label == "relevant"
                if threshold is None or verdict.score is None
                else verdict.score >= threshold
            )
        ]


def _asked(items: Sequence[T], doing: str, rag: Rag, display: Display, ask: Callable[[T], R]) -> list[R]:
    """Return the result for each item, without failed ones; raise EngineError after several failures in a row."""
    found: list[R] = []
    in_a_row = 0
    display.say(f"{doing} of {plural(len(items), 'case')}…")
    with display.progress(doing) as show:
        for number, item in enumerate(items):
            show(number / len(items), f"{doing}: {number} of {plural(len(items), 'case')}")
            try:
                with scope(rag.context().cancel):
                    found.append(ask(item))
                in_a_row = 0
            except LocalRagError as error:
                if isinstance(error, Stopped) and not isinstance(error, DeadlineExceeded):
                    raise
                in_a_row += 1
                if in_a_row == IN_A_ROW:
                    raise EngineError(
                        f"{IN_A_ROW} questions in a row failed, the last with: {error}",
                        hint="local-rag doctor looks for the reason; nothing was kept",
                    ) from error
    return found


def _graded(rag: Rag, case: Case) -> _Graded:
    documents = rag.corpus.search(case.question, rag.settings.values.k)
    return _Graded(case, documents, rag.engine.relevance(case.question, documents) if documents else [])


def _score(rag: Rag, case: Case, documents: Sequence[Document]) -> LabelledScore | None:
    """Return the score of an answer as a graph would check it; None if the grader gave no score."""
    positive, right = bool(case.answerable), False if case.answers else None
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
