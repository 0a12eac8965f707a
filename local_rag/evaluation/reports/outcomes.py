"""How each question ended, in words that a page can filter by, and the cases where a run was bad."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from local_rag.evaluation.answer_metrics import containment
from local_rag.evaluation.measures import has_answers, is_answered
from local_rag.text.display import plural
from local_rag.text.marks import without_marks

if TYPE_CHECKING:
    from local_rag.evaluation.cases import Case

RIGHT, WRONG, INVENTED = "right", "wrong", "answered wrongly"
REFUSED_RIGHTLY, REFUSED_WRONGLY = "refused rightly", "refused wrongly"
CITED, ELSEWHERE, NOWHERE = "cites the right place", "cites another place", "cites no place"
UNCHECKED, FAILED = "not checked", "failed"
FOUND, MISSED = "found in the first 10", "not in the first 10"

OUTCOMES = {
    RIGHT: "the answer contains a reference answer",
    WRONG: "the answer contains no reference answer",
    INVENTED: "the files do not say, and it answered all the same",
    REFUSED_RIGHTLY: "the files do not say, and it said so",
    REFUSED_WRONGLY: "the files do say, and it gave no answer",
    CITED: "no reference answer to compare with, and it cites a place that the case names",
    ELSEWHERE: "no reference answer to compare with, and it cites none of the places that the case names",
    NOWHERE: "no reference answer to compare with, the case names places, and it cites nothing",
    UNCHECKED: "the case has no label to compare with",
    FAILED: "no answer came, because of an error",
}
"""What can become of a question, and what that means."""

TITLES = {
    WRONG: "Wrong answers",
    INVENTED: "Not answerable, and answered",
    REFUSED_WRONGLY: "Answerable, and refused",
    ELSEWHERE: "Cites another place",
    NOWHERE: "Cites no place",
}
"""The kinds of mistakes, in the order in which they are told."""

SEARCHED = {
    FOUND: "something relevant is among the first ten things found",
    MISSED: "nothing relevant is among them",
    UNCHECKED: "the case names nothing relevant",
    FAILED: "no result came, because of an error",
}
"""What can become of a search alone."""

GOOD, BAD = {RIGHT, REFUSED_RIGHTLY, CITED, FOUND}, {*TITLES, MISSED, FAILED}
_ORDER = (WRONG, INVENTED, REFUSED_WRONGLY, FAILED, ELSEWHERE, NOWHERE, MISSED)

FIRST = 10
"""Rank up to which a search counts as having found something: a person looks no further."""


def outcome(case: Case, record: Mapping[str, Any]) -> str:
    """How a record of kind "answer" ended: one of OUTCOMES."""
    if "error" in record:
        return FAILED
    if not is_answered(record):
        return {True: REFUSED_WRONGLY, False: REFUSED_RIGHTLY, None: UNCHECKED}[case.answerable]
    if case.answerable is False:
        return INVENTED
    if not has_answers(case):
        return _citing(case, record)
    return RIGHT if containment(without_marks(record["answer"]["text"]), case.answers) else WRONG


def _citing(case: Case, record: Mapping[str, Any]) -> str:
    """Where an answer stands that can only be judged by its place."""
    if not case.relevant:
        return UNCHECKED
    if not record["cited"]:
        return NOWHERE
    return CITED if any(citation["holds"] for citation in record["cited"]) else ELSEWHERE


def urgency(outcomes: Iterable[str]) -> int:
    """What cases are sorted by: wrong ones first, then refused wrongly, failed, the rest."""
    return min((_ORDER.index(ending) for ending in outcomes if ending in _ORDER), default=len(_ORDER))


def tone(ending: str) -> str:
    """Whether an outcome is "good" or "bad"; empty where it is neither."""
    return "good" if ending in GOOD else "bad" if ending in BAD else ""


def searched(record: Mapping[str, Any]) -> str:
    """How a record of kind "retrieval" ended: one of SEARCHED."""
    if "error" in record:
        return FAILED
    if not record["gains"]:
        return UNCHECKED
    first = next(iter(ranks(record)), None)
    return FOUND if first is not None and first <= FIRST else MISSED


def ranks(record: Mapping[str, Any]) -> list[int]:
    """The ranks, from 1, at which a record of kind "retrieval" found something relevant."""
    return [rank for rank, unit in enumerate(record["units"], start=1) if unit in record["gains"]]


def worst(cases: Sequence[Case], records: Iterable[Mapping[str, Any]]) -> dict[str, dict[Case, list[str]]]:
    """Where it is bad: per kind of mistake the cases, in their order, each with the graphs that made it."""
    mistakes: dict[str, dict[Case, list[str]]] = {mistake: {} for mistake in TITLES}
    for case, graph, ending in _endings(cases, records):
        if ending in mistakes:
            mistakes[ending].setdefault(case, []).append(graph)
    order = {case: number for number, case in enumerate(cases)}
    return {
        mistake: dict(sorted(by_case.items(), key=lambda entry: order[entry[0]]))
        for mistake, by_case in mistakes.items()
        if by_case
    }


def unblamed(cases: Sequence[Case], records: Iterable[Mapping[str, Any]]) -> str:
    """What can be said where `worst` names nothing; no praise where no label could have told a mistake."""
    endings = [ending for _, _, ending in _endings(cases, records)]
    judged = sum(ending not in (UNCHECKED, FAILED) for ending in endings)
    if not judged:
        labelled = any(case.answers or case.relevant for case in cases)
        why = "no question with labels came to an end" if labelled else "no case has reference answers or places"
        return f"Nothing here could be wrong: {why}."
    good = f"No mistake by the labels, in {plural(judged, 'answer or refusal', 'answers and refusals')}"
    rest = len(endings) - judged
    return f"{good}; {rest:,} more could not be checked, or failed." if rest else f"{good}."


def _endings(cases: Sequence[Case], records: Iterable[Mapping[str, Any]]) -> Iterator[tuple[Case, str, str]]:
    """Case, graph and outcome of each answer."""
    by_id = {case.id: case for case in cases}
    for record in records:
        if record["kind"] == "answer" and record["case"] in by_id:
            case = by_id[record["case"]]
            yield case, record["graph"], outcome(case, record)
