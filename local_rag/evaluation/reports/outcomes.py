"""How each question ended, in words that a page can filter by, and the cases where a run was bad."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from local_rag.evaluation.answer_metrics import containment
from local_rag.evaluation.measures import has_answers, is_answered
from local_rag.text import without_marks

if TYPE_CHECKING:
    from local_rag.evaluation.cases import Case

RIGHT, WRONG, INVENTED = "right", "wrong", "answered wrongly"
REFUSED_RIGHTLY, REFUSED_WRONGLY = "refused rightly", "refused wrongly"
UNCHECKED, FAILED = "not checked", "failed"
FOUND, MISSED = "found in the first 10", "not in the first 10"

OUTCOMES = {
    RIGHT: "the answer contains a reference answer",
    WRONG: "it contains none",
    INVENTED: "the files do not say, and it answered all the same",
    REFUSED_RIGHTLY: "the files do not say, and it said so",
    REFUSED_WRONGLY: "the files do say, and it gave no answer",
    UNCHECKED: "the case has no label to compare with",
    FAILED: "no answer came, because of an error",
}
"""What can become of a question, and what that means."""

SEARCHED = {
    FOUND: "something relevant is among the first ten things found",
    MISSED: "nothing relevant is among them",
    UNCHECKED: "the case names nothing relevant",
    FAILED: "no result came, because of an error",
}
"""What can become of a search alone."""

GOOD, BAD = {RIGHT, REFUSED_RIGHTLY, FOUND}, {WRONG, INVENTED, REFUSED_WRONGLY, MISSED, FAILED}

FIRST = 10
"""Rank up to which a search counts as having found something: a person looks no further."""


def outcome(case: Case, row: Mapping[str, Any]) -> str:
    """How a row of kind "answer" ended: one of OUTCOMES."""
    if "error" in row:
        return FAILED
    if not is_answered(row):
        return {True: REFUSED_WRONGLY, False: REFUSED_RIGHTLY, None: UNCHECKED}[case.answerable]
    if case.answerable is False:
        return INVENTED
    if not has_answers(case):
        return UNCHECKED
    return RIGHT if containment(without_marks(row["answer"]["text"]), case.answers) else WRONG


def tone(ended: str) -> str:
    """Whether an outcome is "good" or "bad"; empty where it is neither."""
    return "good" if ended in GOOD else "bad" if ended in BAD else ""


def searched(row: Mapping[str, Any]) -> str:
    """How a row of kind "retrieval" ended: one of SEARCHED."""
    if "error" in row:
        return FAILED
    if not row["gains"]:
        return UNCHECKED
    first = next(iter(ranks(row)), None)
    return FOUND if first is not None and first <= FIRST else MISSED


def ranks(row: Mapping[str, Any]) -> list[int]:
    """The ranks, from 1, at which a row of kind "retrieval" found something relevant."""
    return [rank for rank, unit in enumerate(row["units"], start=1) if unit in row["gains"]]


def worst(cases: Sequence[Case], rows: Iterable[Mapping[str, Any]]) -> dict[str, dict[Case, list[str]]]:
    """Where it is bad: per kind of mistake the cases, in their order, each with the graphs that made it."""
    by_id = {case.id: case for case in cases}
    found: dict[str, dict[str, list[str]]] = {REFUSED_WRONGLY: {}, INVENTED: {}, WRONG: {}}
    for row in rows:
        if row["kind"] == "answer" and row["case"] in by_id:
            ended = outcome(by_id[row["case"]], row)
            if ended in found:
                found[ended].setdefault(row["case"], []).append(row["graph"])
    return {
        mistake: {case: graphs[case.id] for case in cases if case.id in graphs} for mistake, graphs in found.items()
    }
