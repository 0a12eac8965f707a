"""A threshold fitted to labelled scores: what each one answers and refuses, and which one is best.

A threshold is shown on the cases that chose it, so a second figure is cross-fitted: each fold is judged with the
threshold of the others.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from local_rag.evaluation.statistics import mean

FOLDS = 5
"""Parts of the cross-fitting."""
HELPFUL_KEPT = 0.95
"""Share of the helpful passages that a threshold of relevance must keep; the threshold for answers catches the rest."""


@dataclass(frozen=True, slots=True)
class LabelledScore:
    """A score in [0, 1] and whether it should be high: the passage helps, the question has an answer.

    A score of None is refused by the engine itself, whatever the threshold. `right` says whether the answer with this
    score holds an expected one, None where that is not known.
    """

    score: float | None
    positive: bool
    right: bool | None = None

    def reaches(self, threshold: float) -> bool:
        """Whether the score is at least the threshold."""
        return self.score is not None and self.score >= threshold


@dataclass(frozen=True, slots=True)
class Point:
    """What a threshold does: shares in [0, 1], None without a denominator.

    `kept` of the positives are above it, `refused` of the negatives below (the recall of refusals); `precision` is the
    share of negatives below it, `balanced` the mean of kept and refused. `right` is the share of positives that are
    above with a right answer.
    """

    threshold: float
    kept: float | None
    refused: float | None
    precision: float | None
    balanced: float | None
    right: float | None = None


def has_both_kinds(scores: Sequence[LabelledScore]) -> bool:
    """Whether there are positives and negatives, without which no threshold can be fitted."""
    return {score.positive for score in scores} == {True, False}


def point_at(scores: Sequence[LabelledScore], threshold: float) -> Point:
    """What a threshold does with these scores; a score on it is above."""
    below = [score for score in scores if not score.reaches(threshold)]
    kept = mean([score.reaches(threshold) for score in scores if score.positive])
    refused = mean([not score.reaches(threshold) for score in scores if not score.positive])
    known = [score for score in scores if score.positive and score.right is not None]
    return Point(
        threshold,
        kept,
        refused,
        precision=mean([not score.positive for score in below]),
        balanced=None if kept is None or refused is None else (kept + refused) / 2,
        right=mean([bool(score.right) and score.reaches(threshold) for score in known]),
    )


def thresholds(scores: Sequence[LabelledScore]) -> list[float]:
    """Every threshold that makes a difference, lowest first: 0, and the middle between two neighbouring scores."""
    values = sorted({score.score for score in scores if score.score is not None})
    return [0.0, *(round((low + high) / 2, 4) for low, high in pairwise(values))]


def best_threshold(scores: Sequence[LabelledScore], keep: float | None = None) -> float:
    """The lowest threshold that is as good as the best; with `keep`, the highest that keeps such a share.

    The best has the best balance of kept and refused, and one within its standard error is as good: the rule of one
    standard error (Breiman et al., Classification and Regression Trees, 1984, section 3.4.3). Of two that few cases
    cannot tell apart, the lower one answers more. Raises ValueError without a positive and a negative.
    """
    if not has_both_kinds(scores):
        raise ValueError("a threshold needs cases of both kinds")
    points = [point_at(scores, threshold) for threshold in thresholds(scores)]
    if keep is not None:
        good = [point for point in points if (point.kept or 0.0) >= keep]
        best = max((point.refused or 0.0 for point in good), default=0.0)
        return next((point.threshold for point in good if point.refused == best), 0.0)
    top = max(points, key=lambda point: (point.balanced or 0.0, -point.threshold))
    least = (top.balanced or 0.0) - standard_error(scores, top)
    return next(point.threshold for point in points if (point.balanced or 0.0) >= least)


def standard_error(scores: Sequence[LabelledScore], at: Point) -> float:
    """Of the balanced accuracy at a point: that of the mean of two independent shares."""
    positives = sum(score.positive for score in scores)
    kept, refused = at.kept or 0.0, at.refused or 0.0
    return math.sqrt(kept * (1 - kept) / positives + refused * (1 - refused) / (len(scores) - positives)) / 2


def cross_fitted(scores: Sequence[LabelledScore], keep: float | None = None, seed: int = 0) -> Point | None:
    """What to expect on new cases: each fold judged with the threshold of the others; None for too few cases.

    The `threshold` of the point is the mean of the fitted ones.
    """
    folds = _folds(scores, seed)
    if folds is None:
        return None
    judged: list[LabelledScore] = []
    fitted: list[float] = []
    for number, fold in enumerate(folds):
        threshold = best_threshold(
            [score for other in (*folds[:number], *folds[number + 1 :]) for score in other], keep
        )
        fitted.append(threshold)
        judged += [replace(score, score=1.0 if score.reaches(threshold) else None) for score in fold]
    return replace(point_at(judged, 0.5), threshold=round(math.fsum(fitted) / len(fitted), 4))


def trade_off(scores: Sequence[LabelledScore], threshold: float, points: int = 9) -> list[Point]:
    """A few points of the trade-off with the chosen one among them, lowest threshold first."""
    every = thresholds(scores)
    step = max(1, len(every) // (points - 1))
    return [point_at(scores, at) for at in sorted({*every[::step][: points - 1], every[-1], threshold})]


def _folds(scores: Sequence[LabelledScore], seed: int) -> list[list[LabelledScore]] | None:
    """The scores dealt out so that each fold has its share of both kinds; None where one kind has too few."""
    draw = random.Random(seed)
    folds: list[list[LabelledScore]] = [[] for _ in range(FOLDS)]
    for positive in (True, False):
        kind = [score for score in scores if score.positive == positive]
        if len(kind) < FOLDS:
            return None
        draw.shuffle(kind)
        for number in range(FOLDS):
            folds[number] += kind[number::FOLDS]
    return folds
