"""What a bare threshold on one score would answer and refuse: the baselines beside the graphs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from local_rag.evaluation.measures import once_graded

if TYPE_CHECKING:
    from local_rag.evaluation.cases import Case

Pair = tuple["Case", Mapping[str, Any]]
"""A case and a record of it that did not fail."""

STEPS = 50
"""Steps of the threshold of a curve, from 0 to 1."""

_SKIPS_FILES = "adaptive"
"""The graph that may answer without a look into the files: how near they are is not known then."""

_NOTHING_FOUND = -1.0  # the lowest cosine there is: refused at every threshold


def cosine_curve(graphs: Mapping[str, Sequence[Pair]]) -> list[dict[str, Any]] | None:
    """A threshold on the best cosine: refuse below it.

    None without both answerable and unanswerable questions, where there is nothing to trade off.
    """
    return _curve(graphs, lambda graph, record: _nearest(record, None if graph == _SKIPS_FILES else _NOTHING_FOUND))


def score_curve(graphs: Mapping[str, Sequence[Pair]]) -> list[dict[str, Any]] | None:
    """A threshold on the best score that the grader gave a passage; None also where no passage has one."""
    return _curve(graphs, lambda graph, record: _best_grade(record))


def _curve(
    graphs: Mapping[str, Sequence[Pair]], score_of: Callable[[str, Mapping[str, Any]], float | None]
) -> list[dict[str, Any]] | None:
    """Shares for each threshold, over the cases that some graph knows a score of; the first such graph counts."""
    scores: dict[str, tuple[bool, float]] = {}
    for graph in sorted(graphs, key=_SKIPS_FILES.__eq__):
        for case, record in graphs[graph]:
            score = score_of(graph, record)
            if case.answerable is not None and score is not None:
                scores.setdefault(case.id, (case.answerable, score))
    answerable = [score for known, score in scores.values() if known]
    unanswerable = [score for known, score in scores.values() if not known]
    if not answerable or not unanswerable:
        return None
    curve = []
    for threshold in (step / STEPS for step in range(STEPS + 1)):
        wrong = sum(score < threshold for score in answerable)
        right = sum(score < threshold for score in unanswerable)
        curve.append(
            {
                "threshold": threshold,
                "answer_rate": 1 - wrong / len(answerable),
                "refusal_recall": right / len(unanswerable),
                "refusal_precision": right / (right + wrong) if right + wrong else None,
            }
        )
    return curve


def _nearest(record: Mapping[str, Any], none: float | None) -> float | None:
    """The best cosine among the passages of the files that the first query brought; `none` where there are none."""
    files = [passage for passage in record["passages"] if passage["origin"] != "web" and passage["score"] is not None]
    first = [float(passage["score"]) for passage in files if passage["query"] == files[0]["query"]]
    return max(first, default=none)


def _best_grade(record: Mapping[str, Any]) -> float | None:
    return max((float(grade["score"]) for grade in once_graded(record) if grade["score"] is not None), default=None)
