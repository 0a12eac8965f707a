"""Curves over a score: what a bare threshold on it would answer and refuse, and whether it is a probability."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import fsum
from typing import Any

from local_rag.evaluation.cases import Case
from local_rag.evaluation.statistics import mean

Pair = tuple[Case, Mapping[str, Any]]
"""A case and a record of it that did not fail."""

STEPS = 50
"""Steps of the threshold of a curve, from 0 to 1."""

BINS = 10
"""Bins of scores, equally wide in [0, 1] (Guo et al., On calibration of modern neural networks, ICML 2017)."""

_SKIPS_FILES = "adaptive"
"""The graph that may answer without a look into the files: how near they are is not known then."""

_NOTHING_FOUND = -1.0  # the lowest cosine there is: refused at every threshold


def once_graded(record: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The verdicts of a question, one for each passage: what a later round finds again was judged already.

    Of several the first that could be parsed counts.
    """
    grades: dict[str, Mapping[str, Any]] = {}
    for grade in record["grades"]:
        if grades.setdefault(grade["chunk_id"], grade)["verdict"] == "unparsed":
            grades[grade["chunk_id"]] = grade
    return list(grades.values())


def cosine_curve(graphs: Mapping[str, Sequence[Pair]]) -> list[dict[str, float]]:
    """A threshold on the best cosine: refuse below it."""
    return _curve(graphs, lambda graph, record: _nearest(record, None if graph == _SKIPS_FILES else _NOTHING_FOUND))


def score_curve(graphs: Mapping[str, Sequence[Pair]]) -> list[dict[str, float]]:
    """A threshold on the best score that the grader gave a passage; empty also where no passage has one."""
    return _curve(graphs, lambda graph, record: max(_scores(record), default=None))


def _curve(
    graphs: Mapping[str, Sequence[Pair]], score_of: Callable[[str, Mapping[str, Any]], float | None]
) -> list[dict[str, float]]:
    """Shares for each threshold, over the cases that some graph knows a score of; the first such graph counts.

    Empty without both answerable and unanswerable questions, where there is nothing to trade off.
    """
    scores: dict[str, tuple[bool, float]] = {}
    for graph in sorted(graphs, key=_SKIPS_FILES.__eq__):
        for case, record in graphs[graph]:
            score = score_of(graph, record)
            if case.answerable is not None and score is not None:
                scores.setdefault(case.id, (case.answerable, score))
    answerable, others = ([score for known, score in scores.values() if known is kind] for kind in (True, False))
    if not answerable or not others:
        return []
    return [
        {
            "threshold": threshold,
            "answered": sum(score >= threshold for score in answerable) / len(answerable),
            "refused": sum(score < threshold for score in others) / len(others),
        }
        for threshold in (step / STEPS for step in range(STEPS + 1))
    ]


def _nearest(record: Mapping[str, Any], none: float | None) -> float | None:
    """The best cosine among the passages of the files that the first query brought; `none` where there are none."""
    files = [passage for passage in record["passages"] if passage["origin"] != "web" and passage["score"] is not None]
    first = [float(passage["score"]) for passage in files if passage["query"] == files[0]["query"]]
    return max(first, default=none)


def _scores(record: Mapping[str, Any]) -> list[float]:
    return [float(grade["score"]) for grade in once_graded(record) if grade["score"] is not None]


def bins_of(scored: Iterable[tuple[float, bool]]) -> list[dict[str, Any]]:
    """The bins that hold anything, of (score, label): mean score and share with the label. 1 is in the last one."""
    bins: dict[int, list[tuple[float, bool]]] = {}
    for score, label in scored:
        bins.setdefault(min(max(int(score * BINS), 0), BINS - 1), []).append((score, label))
    return [
        {"count": len(held), "score": mean([score for score, _ in held]), "right": mean([label for _, label in held])}
        for _, held in sorted(bins.items())
    ]


def calibration_error(bins: Sequence[Mapping[str, Any]]) -> float | None:
    """Expected calibration error (ECE), in [0, 1]: how far score and share lie apart, mean over all that is scored.

    Naeini et al., Obtaining well calibrated probabilities using Bayesian binning, AAAI 2015, with equally wide bins as
    in Guo et al. 2017, equation 3. None of nothing.
    """
    total = sum(entry["count"] for entry in bins)
    return fsum(entry["count"] * abs(entry["score"] - entry["right"]) for entry in bins) / total if total else None
