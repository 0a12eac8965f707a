"""Fit a threshold to labelled scores, and show what each threshold answers and refuses.

A threshold looks too good on the cases that chose it, so a second figure is cross-fitted: each fold is judged with the
threshold of the other folds.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from local_rag.evaluation.statistics import mean

FOLDS = 5
"""The number of folds of the cross-fitting."""
POINTS = 8
"""The number of points of a trade-off, besides its last and its chosen one."""
HELPFUL_KEPT = 0.95
"""The minimum share of helpful passages above a threshold of relevance; the threshold for answers rejects the rest."""


@dataclass(frozen=True, slots=True)
class LabelledScore:
    """Hold a score in [0, 1] and whether it should be high: the passage helps, or the question has an answer.

    None is a refusal by the engine itself, at any threshold. `right` says whether the answer with this score contains
    an expected one, None if that is unknown.
    """

    score: float | None
    positive: bool
    right: bool | None = None

    def reaches(self, threshold: float) -> bool:
        """Return whether the score is at least the threshold."""
        return self.score is not None and self.score >= threshold


@dataclass(frozen=True, slots=True)
class Point:
    """Hold the effect of a threshold as shares in [0, 1], None without a denominator.

    `kept` is the share of positives above it, `refused` that of negatives below it (the recall of refusals).
    `precision` is the share of negatives among all below it, `balanced` the mean of kept and refused. `right` is the
    share of positives that are above it with a right answer.
    """

    threshold: float
    kept: float | None
    refused: float | None
    precision: float | None
    balanced: float | None
    right: float | None = None


def has_both_kinds(scores: Sequence[LabelledScore]) -> bool:
    """Return whether there are positives and negatives, which fitting a threshold needs."""
    return {score.positive for score in scores} == {True, False}


def point_at(scores: Sequence[LabelledScore], threshold: float) -> Point:
    """Return the effect of a threshold on these scores; a score equal to it counts as above."""
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
    """Return all thresholds with different effects, lowest first: 0, and the middle between neighbouring scores."""
    values = sorted({score.score for score in scores if score.score is not None})
    return [0.0, *(round((low + high) / 2, 4) for low, high in pairwise(values))]


def best_threshold(scores: Sequence[LabelledScore], keep: float | None = None) -> float:
    """Return the lowest threshold that is as good as the best; with `keep`, only among those that keep that share.

    The best threshold has the best balance of kept and refused, and one within its standard error is as good: the rule
    of one standard error (Breiman et al., Classification and Regression Trees, 1984, section 3.4.3). If few cases
    cannot tell two apart, the lower one answers more. With `keep`, the best one is the lowest that refuses most. Raise
    ValueError without a positive and a negative.
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
    """Return the standard error of the balanced accuracy at a point: the mean of two independent shares."""
    positives = sum(score.positive for score in scores)
    kept, refused = at.kept or 0.0, at.refused or 0.0
    return math.sqrt(kept * (1 - kept) / positives + refused * (1 - refused) / (len(scores) - positives)) / 2


def cross_fitted(scores: Sequence[LabelledScore], keep: float | None = None, seed: int = 0) -> Point | None:
    """Return the effect to expect on new cases, with each fold judged by the others' threshold; None for too few cases.

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


def trade_off(scores: Sequence[LabelledScore], threshold: float) -> list[Point]:
    """Return a few points of the trade-off, including the chosen one, lowest threshold first."""
    every = thresholds(scores)
    step = max(1, len(every) // POINTS)
    return [point_at(scores, at) for at in sorted({*every[::step][:POINTS], every[-1], threshold})]


def _folds(scores: Sequence[LabelledScore], seed: int) -> list[list[LabelledScore]] | None:
    """Deal the scores into folds with equal shares of both kinds; return None if one kind has too few."""
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
