"""Compute curves over a score: what a threshold on it answers and refuses, and whether it is a probability."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import fsum
from typing import Any

from local_rag.evaluation.cases import Case
from local_rag.evaluation.statistics import mean

Pair = tuple[Case, Mapping[str, Any]]
"""A case and a record of it that did not fail."""

STEPS = 50
"""The number of steps of a curve's threshold, from 0 to 1."""

BINS = 10
"""The number of equally wide bins of scores (Guo et al., On calibration of modern neural networks, ICML 2017)."""

_SKIPS_FILES = "adaptive"
"""The graph that may answer without searching the files, so that their similarity is unknown."""

_NOTHING_FOUND = -1.0  # the lowest cosine there is: refused at every threshold


def once_graded(record: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return one verdict per passage of a question: the first that could be parsed.

    A passage that a later round finds again was judged already.
    """
    grades: dict[str, Mapping[str, Any]] = {}
    for grade in record["grades"]:
        if grades.setdefault(grade["chunk_id"], grade)["verdict"] == "unparsed":
            grades[grade["chunk_id"]] = grade
    return list(grades.values())


def cosine_curve(graphs: Mapping[str, Sequence[Pair]]) -> list[dict[str, float]]:
    """Return the curve of a threshold on the best cosine: refuse below it."""
    return _curve(graphs, lambda graph, record: _nearest(record, None if graph == _SKIPS_FILES else _NOTHING_FOUND))


def score_curve(graphs: Mapping[str, Sequence[Pair]]) -> list[dict[str, float]]:
    """Return the curve of a threshold on the grader's best score for a passage; empty if there are no scores."""
    return _curve(graphs, lambda graph, record: max(_scores(record), default=None))


def _curve(
    graphs: Mapping[str, Sequence[Pair]], score_of: Callable[[str, Mapping[str, Any]], float | None]
) -> list[dict[str, float]]:
    """Return the shares for each threshold, over the cases with a score; the first graph that has one counts.

    The curve is empty without both answerable and unanswerable questions, because there is nothing to trade off.
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
    """Return the best cosine among the passages from files for the first query, or `none` if there are none."""
    files = [passage for passage in record["passages"] if passage["origin"] != "web" and passage["score"] is not None]
    first = [float(passage["score"]) for passage in files if passage["query"] == files[0]["query"]]
    return max(first, default=none)


def _scores(record: Mapping[str, Any]) -> list[float]:
    return [float(grade["score"]) for grade in once_graded(record) if grade["score"] is not None]


def bins_of(scored: Iterable[tuple[float, bool]]) -> list[dict[str, Any]]:
    """Return the non-empty bins of (score, label): mean score and share with the label; 1 is in the last bin."""
    bins: dict[int, list[tuple[float, bool]]] = {}
    for score, label in scored:
        bins.setdefault(min(max(int(score * BINS), 0), BINS - 1), []).append((score, label))
    return [
        {"count": len(held), "score": mean([score for score, _ in held]), "right": mean([label for _, label in held])}
        for _, held in sorted(bins.items())
    ]


def calibration_error(bins: Sequence[Mapping[str, Any]]) -> float | None:
    """Return the expected calibration error (ECE) in [0, 1]: the mean distance of score and share over all scores.

    Naeini et al., Obtaining well calibrated probabilities using Bayesian binning, AAAI 2015, with equally wide bins as
    in Guo et al. 2017, equation 3. Return None without scores.
    """
    total = sum(entry["count"] for entry in bins)
    return fsum(entry["count"] * abs(entry["score"] - entry["right"]) for entry in bins) / total if total else None
