"""Define the figures of a run in one table: how each is computed for a case, its meaning, and its place.

A report has their means over the cases of a run, a comparison pairs them case by case. Failures are in no figure, and a
figure does not apply to a case (None) if the label is missing or there is nothing to count. Retrieval and answers are
never averaged together, and there is no overall score.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, get_args

from local_rag.core.answer import Certainty
from local_rag.evaluation.cases import Case
from local_rag.evaluation.curves import Pair, bins_of, cosine_curve, once_graded, score_curve
from local_rag.evaluation.folder import Key, key_of
from local_rag.evaluation.metrics import (
    containment,
    exact_match,
    ndcg,
    recall,
    reciprocal_rank,
    token_f1,
)
from local_rag.evaluation.statistics import mean, percentile
from local_rag.text.marks import without_marks

Record = Mapping[str, Any]
Of = Callable[[Case, Record], float | None]
Form = Literal["share", "count", "number", "seconds"]

RECALL_AT = (1, 5, 10, 20, 100)
LEVELS = tuple(level for level in get_args(Certainty) if level)


@dataclass(frozen=True)
class Figure:
    """Define one figure; `of` computes it from a case and a record of the kind that its group counts.

    `better` is the better direction, None for a figure without one, which is not compared. `balanced` weighs answerable
    and unanswerable cases as if there were equally many. A `count` is 1 or 0, and its sum is shown.
    """

    group: str
    name: str
    of: Of
    meaning: str
    form: Form = "share"
    better: Literal["more", "less"] | None = "more"
    balanced: bool = False

    def values(self, pairs: Iterable[Pair]) -> dict[str, float]:
        """Return the figure of each case to which it applies, by the ID of the case."""
        known = [(case, value) for case, record in pairs if (value := self.of(case, record)) is not None]
        if self.balanced:
            kinds = Counter(case.answerable for case, _ in known)
            weights = {kind: len(known) / (2 * number) for kind, number in kinds.items()}
            known = [(case, value * weights[case.answerable]) for case, value in known if len(kinds) == 2]
        return {case.id: value for case, value in known}


# --- what a record says


def is_answered(record: Record) -> bool:
    """Return whether a record of kind "answer" has an answer, right or wrong, and no abstention."""
    return bool(record["answer"]["status"] != "abstained")


def has_answers(case: Case) -> bool:
    """Return whether a text can be compared with reference answers."""
    return bool(case.answers) and case.answerable is not False


def is_right(case: Case, record: Record) -> bool | None:
    """Return whether an answer contains a reference answer; it never is right if the files do not answer the question.

    Return None if that is unknown, and for an abstention.
    """
    if not is_answered(record) or not (has_answers(case) or case.answerable is False):
        return None
    return has_answers(case) and bool(containment(without_marks(record["answer"]["text"]), case.answers))


def _ranked(metric: Callable[[Sequence[str], Mapping[str, float]], float]) -> Of:
    return lambda case, record: metric(record["units"], record["gains"]) if record["gains"] else None


def _at(metric: Callable[[Sequence[str], Mapping[str, float], int], float], k: int) -> Of:
    return _ranked(lambda units, gains: metric(units, gains, k))


def _written(metric: Callable[[str, Sequence[str]], float], *, short: bool = False) -> Of:
    """Return a metric of the text, or with `short` of the answering words if the engine names them.

    An abstention counts 0, as an empty prediction does in SQuAD 2.0.
    """

    def of(case: Case, record: Record) -> float | None:
        if not has_answers(case):
            return None
        text = (record["answer"].get("short") if short else "") or without_marks(record["answer"]["text"])
        return metric(text, case.answers) if is_answered(record) else 0.0

    return of


def _decided(case: Case, record: Record, answerable: Sequence[bool] = (True, False)) -> float | None:
    return float(is_answered(record) == case.answerable) if case.answerable in answerable else None


def _certainty(record: Record) -> str:
    return str(record["answer"].get("certainty", "")) if is_answered(record) else ""


def _shown_as(level: str) -> Of:
    return lambda case, record: float(_certainty(record) == level)


def _right_at(level: str) -> Of:
    def of(case: Case, record: Record) -> float | None:
        right = is_right(case, record) if _certainty(record) == level else None
        return None if right is None else float(right)

    return of


def _cited_of_all(case: Case, record: Record) -> float | None:
    if not case.relevant or not is_answered(record):
        return None
    return len({target for citation in record["cited"] for target in citation["holds"]}) / len(case.relevant)


def _backed(case: Case, record: Record) -> float | None:
    sentences = record["sentences"]
    return sentences["verified"] / sentences["total"] if sentences["total"] else None


def _agreed(case: Case, record: Record) -> float | None:
    known = record.get("right") is not None and record["verdict"] in ("right", "wrong")
    return float((record["verdict"] == "right") == record["right"]) if known else None


def _used(name: str) -> Of:
    return lambda case, record: float(record["answer"]["usage"][name])


# --- the table

KINDS = {"Retrieval": "retrieval", "Router": "route", "Judge": "judgement"}
"""The kind of record that a group counts, if it is not "answer"."""

FIGURES = (
    *(
        Figure("Retrieval", f"R@{k}", _at(recall, k), f"share of what is relevant among the first {k} (trec_eval)")
        for k in RECALL_AT
    ),
    Figure("Retrieval", "MRR", _ranked(reciprocal_rank), "1 / rank of the first relevant thing (Voorhees 1999)"),
    Figure("Retrieval", "nDCG@10", _ranked(ndcg),
           "gain / log2(rank + 1) over that of the best order (Järvelin & Kekäläinen 2002)"),
    Figure("Retrieval", "seconds", lambda case, record: float(record["seconds"]), "seconds of a search",
           "seconds", "less"),
    Figure("Router", "right", lambda case, record: float(record["source"] == record["expected"]),
           "the router chose the source that the case names"),
    Figure("Router", "unread", lambda case, record: float(record["source"] is None),
           "its verdict could not be read", better=None),
    Figure("Answers", "contains", _written(containment),
           "the text contains a reference answer, normalised alike; a refusal counts 0, here and in the next ones"),
    Figure("Answers", "F1", _written(token_f1), "words shared with the best reference answer (Rajpurkar et al. 2016)"),
    Figure("Answers", "EM", _written(exact_match),
           "the text is a reference answer after SQuAD's normalisation; near 0 where whole sentences are quoted"),
    Figure("Answers", "short F1", _written(token_f1, short=True),
           "F1 of the answering words, by the script of SQuAD 2.0; of an engine that names none: of the text"),
    Figure("Answers", "short EM", _written(exact_match, short=True), "exact match of the answering words, likewise"),
    *(
        figure
        for level in LEVELS
        for figure in (
            Figure("Certainty", level, _shown_as(level),
                   f"answers shown as “{level}”", "count", None),
            Figure("Certainty", f"{level}: right", _right_at(level),
                   "share of these that hold a reference answer; none does where the files do not answer"),
        )
    ),
    Figure("Certainty", "sure, not in files",
           lambda case, record: float(_certainty(record) == "sure") if case.answerable is False else None,
           "questions that the files do not answer, and that got an answer shown as “sure”", "count", "less"),
    Figure("Certainty", "without files", lambda case, record: float(record["answer"]["status"] == "direct"),
           "answered from what the model knows", "count", None),
    Figure("Certainty", "refused", lambda case, record: float(not is_answered(record)),
           "said that the files do not answer the question", "count", None),
    Figure("Refusals", "answered", partial(_decided, answerable=(True,)), "share of answerable questions answered"),
    Figure("Refusals", "refused", partial(_decided, answerable=(False,)), "share of unanswerable questions refused"),
    Figure("Refusals", "balanced", _decided, "mean of these two (balanced accuracy); chance gets .500", balanced=True),
    Figure("Refusals", "precision",
           lambda case, record: None if is_answered(record) or case.answerable is None else float(not case.answerable),
           "share of refusals that were right", better=None),
    Figure("Citations", "verified", lambda case, record: mean([citation["verified"] for citation in record["cited"]]),
           "share of an answer's citations whose quote carries the sentence (by code)"),
    Figure("Citations", "precision",
           lambda case, record: mean([bool(each["holds"]) for each in record["cited"]]) if case.relevant else None,
           "share of its citations whose passage holds something relevant"),
    Figure("Citations", "recall", _cited_of_all, "share of what is relevant that it cites"),
    Figure("Citations", "sentences", _backed, "share of its sentences with a verified citation"),
    Figure("Grading of passages", "accuracy",
           lambda case, record: mean([grade["verdict"] == ("relevant" if grade["gold"] else "irrelevant")
                                      for grade in once_graded(record) if grade["gold"] is not None]),
           "share of a question's verdicts that agree with the labels; a file that is named alone labels no passage"),
    Figure("Grading of passages", "false irrelevant",
           lambda case, record: mean([grade["verdict"] == "irrelevant"
                                      for grade in once_graded(record) if grade["gold"]]),
           "share of its passages labelled relevant that were called irrelevant", better="less"),
    Figure("Grading of passages", "unread",
           lambda case, record: mean([grade["verdict"] == "unparsed" for grade in once_graded(record)]),
           "share of its verdicts that could not be read", better="less"),
    Figure("Fallback corpus", "searched", lambda case, record: float(bool(record["answer"].get("fallback_corpus"))),
           "questions for which it was searched, in place of the web", "count", None),
    Figure("Fallback corpus", "cited",
           lambda case, record: float(any(each.get("fallback_corpus") for each in record["answer"]["citations"])),
           "answers that cite something of it", "count", None),
    Figure("Judge", "right",
           lambda case, record: {"right": 1.0, "wrong": 0.0, "abstained": 0.0}.get(record["verdict"]),
           "the judge called the answer right; a refusal is not"),
    Figure("Judge", "agreement", _agreed, "share of its verdicts that agree with whether the text contains an answer",
           better=None),
    Figure("Judge", "unread",
           lambda case, record: None if record["verdict"] == "abstained" else float(record["verdict"] == "unparsed"),
           "share of the judge's verdicts that could not be read", better=None),
    Figure("Cost", "seconds", lambda case, record: float(record["answer"]["seconds"]), "seconds of a question",
           "seconds", "less"),
    Figure("Cost", "calls", _used("calls"), "calls to a language model, mean per question", "number", "less"),
    Figure("Cost", "read", _used("prompt_tokens"), "prompt tokens, mean per question", "number", "less"),
    Figure("Cost", "written", _used("output_tokens"), "output tokens, mean per question", "number", "less"),
)  # fmt: skip
"""All figures in the order in which they are shown."""


# --- all of a run


def last_records(cases: Sequence[Case], records: Iterable[Record]) -> dict[Key, Record]:
    """Return the last record about each thing; records of other cases are left out."""
    known = {case.id for case in cases}
    return {key_of(record): record for record in records if record["case"] in known}


def good_pairs(cases: Sequence[Case], records: Iterable[Record]) -> dict[tuple[str, str], list[Pair]]:
    """Return the records without failure, with their cases, by kind and graph (or mode, or expected route)."""
    by_id = {case.id: case for case in cases}
    pairs: dict[tuple[str, str], list[Pair]] = {}
    for (kind, case, where), record in last_records(cases, records).items():
        if "error" not in record:
            pairs.setdefault((kind, where or str(record["expected"])), []).append((by_id[case], record))
    return pairs


def summary(cases: Sequence[Case], records: Sequence[Record]) -> dict[str, Any]:
    """Return all figures as JSON values: by group, then by graph or mode, each with its mean and number of cases."""
    pairs = good_pairs(cases, records)
    answers = {where: of for (kind, where), of in pairs.items() if kind == "answer"}
    tables: dict[str, dict[str, dict[str, Any]]] = {}
    for figure in FIGURES:
        for (kind, where), of in pairs.items():
            if kind == KINDS.get(figure.group, "answer") and (values := [*figure.values(of).values()]):
                found: dict[str, Any] = {"mean": mean(values), "cases": len(values)}
                if figure.form == "seconds":
                    found |= {"p50": percentile(values, 0.5), "p95": percentile(values, 0.95)}
                tables.setdefault(figure.group, {}).setdefault(where, {})[figure.name] = found
    return {
        "cases": {
            "total": len(cases),
            "answerable": sum(case.answerable is True for case in cases),
            "unanswerable": sum(case.answerable is False for case in cases),
            "with_answers": sum(map(has_answers, cases)),
            "with_relevant": sum(bool(case.relevant) for case in cases),
            "with_route": sum(case.route is not None for case in cases),
        },
        "figures": tables,
        "cosine_curve": cosine_curve(answers),
        "score_curve": score_curve(answers),
        "reliability": {
            graph: bins_of(
                (grade["score"], grade["gold"])
                for _, record in of
                for grade in once_graded(record)
                if None not in (grade["gold"], grade["score"])
            )
            for graph, of in answers.items()
        },
        "failures": [
            {key: record[key] for key in ("kind", "case", "graph", "mode", "error") if key in record}
            for record in last_records(cases, records).values()
            if "error" in record
        ],
    }
