"""Thresholds from labelled scores: what each would refuse and answer, and which one to take.

A threshold is chosen on the very cases it is then shown on, so a second figure is computed by cross-fitting: each fold
is judged with the threshold that the others chose.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

FOLDS = 5
"""Parts of the cross-fitting."""
HELPFUL_KEPT = 0.95
"""Share of the helpful passages that a threshold of relevance must keep: a passage that is lost is an answer lost, and
one too many is caught by the threshold for answers."""


@dataclass(frozen=True, slots=True)
class Scored:
    """A score in [0, 1] and whether it should be high: the passage helps, the question has an answer.

    None is what the engine refuses by itself, whatever the threshold. `right` says whether the answer that got this
    score holds an expected one, None where that is not known.
    """

    score: float | None
    positive: bool
    right: bool | None = None


@dataclass(frozen=True, slots=True)
class Point:
    """What a threshold does: shares in [0, 1], None without a denominator.

    `kept` of the positives are above it, `refused` of the negatives below (the recall of refusals); `precision` is how
    many of those below are negatives, `balanced` the mean of kept and refused. `right` is the share of positives that
    are above with a right answer.
    """

    threshold: float
    kept: float | None
    refused: float | None
    precision: float | None
    balanced: float | None
    right: float | None = None


def point(scored: Sequence[Scored], threshold: float) -> Point:
    """What a threshold does with these scores; a score on it is above."""
    above = [one for one in scored if _reaches(one, threshold)]
    below = [one for one in scored if not _reaches(one, threshold)]
    positives, negatives = sum(one.positive for one in scored), sum(not one.positive for one in scored)
    kept = _share(sum(one.positive for one in above), positives)
    refused = _share(sum(not one.positive for one in below), negatives)
    known = [one for one in scored if one.positive and one.right is not None]
    return Point(
        threshold,
        kept,
        refused,
        _share(sum(not one.positive for one in below), len(below)),
        None if kept is None or refused is None else (kept + refused) / 2,
        _share(sum(bool(one.right) for one in known if _reaches(one, threshold)), len(known)),
    )


def _reaches(one: Scored, threshold: float) -> bool:
    return one.score is not None and one.score >= threshold


def thresholds(scored: Sequence[Scored]) -> list[float]:
    """Every threshold that makes a difference, lowest first: 0, and the middle between two neighbouring scores."""
    values = sorted({one.score for one in scored if one.score is not None})
    return [0.0, *(round((low + high) / 2, 4) for low, high in pairwise(values))]


def chosen(scored: Sequence[Scored], keep: float | None = None) -> float:
    """The lowest threshold that is as good as the best; with `keep`, the highest that keeps such a share.

    The best has the best balance of kept and refused, and one within its standard error is as good: the rule of one
    standard error (Breiman et al., Classification and Regression Trees, 1984, section 3.4.3). A few cases cannot tell
    the two apart, and the lower one answers more. Raises ValueError without a positive and a negative.
    """
    if not any(one.positive for one in scored) or all(one.positive for one in scored):
        raise ValueError("a threshold needs cases of both kinds")
    points = [point(scored, one) for one in thresholds(scored)]
    if keep is not None:
        good = [one for one in points if (one.kept or 0.0) >= keep]
        best = max((one.refused or 0.0 for one in good), default=0.0)
        return next((one.threshold for one in good if one.refused == best), 0.0)
    top = max(points, key=lambda one: (one.balanced or 0.0, -one.threshold))
    least = (top.balanced or 0.0) - standard_error(scored, top)
    return next(one.threshold for one in points if (one.balanced or 0.0) >= least)


def standard_error(scored: Sequence[Scored], at: Point) -> float:
    """Of the balanced accuracy at a point: that of the mean of two independent shares."""
    positives, negatives = sum(one.positive for one in scored), sum(not one.positive for one in scored)
    kept, refused = at.kept or 0.0, at.refused or 0.0
    return math.sqrt(kept * (1 - kept) / positives + refused * (1 - refused) / negatives) / 2


def cross_fitted(scored: Sequence[Scored], keep: float | None = None, seed: int = 0) -> Point | None:
    """What is to be expected on new cases: each fold with the threshold of the others; None for too few cases.

    The `threshold` of the point is the mean of those chosen.
    """
    folds = _folds(scored, seed)
    if folds is None:
        return None
    moved: list[Scored] = []
    found: list[float] = []
    for number, fold in enumerate(folds):
        rest = [one for other, part in enumerate(folds) if other != number for one in part]
        threshold = chosen(rest, keep)
        found.append(threshold)
        moved += [Scored(1.0 if _reaches(one, threshold) else None, one.positive, one.right) for one in fold]
    whole = point(moved, 0.5)
    mean = round(sum(found) / len(found), 4)
    return Point(mean, whole.kept, whole.refused, whole.precision, whole.balanced, whole.right)


def shown(scored: Sequence[Scored], threshold: float, rows: int = 9) -> list[Point]:
    """A few points of the trade-off with the chosen one among them, lowest threshold first."""
    every = thresholds(scored)
    step = max(1, len(every) // (rows - 1))
    wanted = sorted({*every[::step][: rows - 1], every[-1], threshold})
    return [point(scored, one) for one in wanted]


def _folds(scored: Sequence[Scored], seed: int) -> list[list[Scored]] | None:
    """The cases dealt out so that each fold has its share of both kinds; None where one kind has too few."""
    draw = random.Random(seed)
    folds: list[list[Scored]] = [[] for _ in range(FOLDS)]
    for positive in (True, False):
        kind = [one for one in scored if one.positive == positive]
        if len(kind) < FOLDS:
            return None
        draw.shuffle(kind)
        for place, one in enumerate(kind):
            folds[place % FOLDS].append(one)
    return folds


def _share(count: int, of: int) -> float | None:
    return count / of if of else None
