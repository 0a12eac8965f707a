"""The figures of one case by name: how each is computed, what it means, and which way is better.

`summary` averages them and `comparison` pairs them, over records that did not fail. None: a figure does not apply to
the case, because the label is missing or there is nothing to count.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from local_rag.evaluation.answer_metrics import containment, exact_match, token_f1
from local_rag.evaluation.cases import Case
from local_rag.evaluation.ranking_metrics import average_precision, ndcg, recall, reciprocal_rank
from local_rag.evaluation.statistics import mean
from local_rag.text.marks import without_marks

RecordKind = Literal["retrieval", "route", "answer", "judgement"]
Of = Callable[[Case, Mapping[str, Any]], float | None]


@dataclass(frozen=True)
class Measure:
    """One figure of a case. `of` computes it from the case and a record of the kind `record`.

    A binary one is 0 or 1; `did` then says in the past tense what a 1 means: "B DID it in 7 cases where A did not".
    """

    name: str
    title: str
    meaning: str
    record: RecordKind
    of: Of
    better: Literal["more", "less"] = "more"
    kind: Literal["share", "number", "seconds", "tokens"] = "share"
    did: str = ""

    @property
    def binary(self) -> bool:
        return bool(self.did)


def is_answered(record: Mapping[str, Any]) -> bool:
    """Whether a record of kind "answer" holds an answer, right or wrong, and no abstention."""
    return bool(record["answer"]["status"] != "abstained")


def has_answers(case: Case) -> bool:
    """Whether a text can be compared with reference answers."""
    return bool(case.answers) and case.answerable is not False


def agrees(grade: Mapping[str, Any]) -> bool:
    """Whether a labelled verdict on a passage is right; one that could not be parsed is not."""
    return bool(grade["verdict"] == ("relevant" if grade["gold"] else "irrelevant"))


def once_graded(record: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The verdicts of a question, one for each passage: what a later round finds again was judged already.

    Of several the first that could be parsed counts.
    """
    grades: dict[str, Mapping[str, Any]] = {}
    for grade in record["grades"]:
        if grades.setdefault(grade["chunk_id"], grade)["verdict"] == "unparsed":
            grades[grade["chunk_id"]] = grade
    return list(grades.values())


def _ranked(metric: Callable[[Sequence[str], Mapping[str, float]], float]) -> Of:
    return lambda case, record: metric(record["units"], record["gains"]) if record["gains"] else None


def _written(metric: Callable[[str, Sequence[str]], float]) -> Of:
    """A metric of the text; an abstention counts 0, as an empty prediction does in SQuAD 2.0."""

    def of(case: Case, record: Mapping[str, Any]) -> float | None:
        if not has_answers(case):
            return None
        return metric(without_marks(record["answer"]["text"]), case.answers) if is_answered(record) else 0.0

    return of


def short_answer(answer: Mapping[str, Any]) -> str:
    """The answering words where the engine names them, else the whole text without its marks."""
    return str(answer.get("short") or without_marks(answer["text"]))


def _short(metric: Callable[[str, Sequence[str]], float]) -> Of:
    """A metric of the short answer; an abstention counts 0, as an empty prediction does in SQuAD 2.0."""

    def of(case: Case, record: Mapping[str, Any]) -> float | None:
        if not has_answers(case):
            return None
        return metric(short_answer(record["answer"]), case.answers) if is_answered(record) else 0.0

    return of


def _answered(case: Case, record: Mapping[str, Any]) -> float | None:
    return float(is_answered(record)) if case.answerable else None


def _refused(case: Case, record: Mapping[str, Any]) -> float | None:
    return float(not is_answered(record)) if case.answerable is False else None


def _decided(case: Case, record: Mapping[str, Any]) -> float | None:
    return None if case.answerable is None else float(is_answered(record) == case.answerable)


def _grounded(case: Case, record: Mapping[str, Any]) -> float | None:
    return float(record["answer"]["status"] == "grounded") if is_answered(record) else None


def _verified(case: Case, record: Mapping[str, Any]) -> float | None:
    return mean([citation["verified"] for citation in record["cited"]])


def _cited_rightly(case: Case, record: Mapping[str, Any]) -> float | None:
    return mean([bool(citation["holds"]) for citation in record["cited"]]) if case.relevant else None


def _cited_of_all(case: Case, record: Mapping[str, Any]) -> float | None:
    if not case.relevant or not is_answered(record):
        return None
    return len({target for citation in record["cited"] for target in citation["holds"]}) / len(case.relevant)


def _sentences(case: Case, record: Mapping[str, Any]) -> float | None:
    sentences = record["sentences"]
    return sentences["verified"] / sentences["total"] if sentences["total"] else None


def _graded_rightly(case: Case, record: Mapping[str, Any]) -> float | None:
    return mean([agrees(grade) for grade in once_graded(record) if grade["gold"] is not None])


def _routed(case: Case, record: Mapping[str, Any]) -> float | None:
    return float(record["source"] == record["expected"])


def _judged(case: Case, record: Mapping[str, Any]) -> float | None:
    """An abstention is not shown to the judge; beside an answer that was, it is none that is right."""
    return {"right": 1.0, "wrong": 0.0, "abstained": 0.0}.get(record["verdict"])


def _used(name: str) -> Of:
    return lambda case, record: float(record["answer"]["usage"][name])


_ALL = (
    # --- retrieval
    Measure("recall@5", "recall@5", "share of what is relevant among the first 5 (trec_eval: recall_5)",
            "retrieval", _ranked(lambda units, gains: recall(units, gains, 5))),
    Measure("recall@10", "recall@10", "share of what is relevant among the first 10 (trec_eval: recall_10)",
            "retrieval", _ranked(lambda units, gains: recall(units, gains, 10))),
    Measure("ndcg", "nDCG@10", "discounted gain of the first 10 over the best order's", "retrieval", _ranked(ndcg)),
    Measure("rr", "reciprocal rank", "1 / rank of the first relevant thing", "retrieval", _ranked(reciprocal_rank)),
    Measure("ap", "average precision", "mean precision at each relevant thing",
            "retrieval", _ranked(average_precision)),
    Measure("search_seconds", "seconds per search", "seconds of a search",
            "retrieval", lambda case, record: float(record["seconds"]), "less", "seconds"),
    # --- the router
    Measure("route", "right route", "the router chose the source that the case names",
            "route", _routed, did="chose the right route"),
    # --- answers
    Measure("exact_match", "exact match",
            "the text is a reference answer, after SQuAD's normalisation; an abstention counts 0",
            "answer", _written(exact_match), did="gave exactly a reference answer"),
    Measure("f1", "token F1", "words shared with the best reference answer; an abstention counts 0",
            "answer", _written(token_f1)),
    Measure("containment", "contains an answer",
            "the text contains a reference answer, normalised alike; an abstention counts 0",
            "answer", _written(containment), did="gave a text with a reference answer in it"),
    Measure("short_exact_match", "short answer, exact match",
            "the answering words are a reference answer, after SQuAD's normalisation; of an engine that names none: "
            "the text", "answer", _short(exact_match), did="gave a reference answer in short"),
    Measure("short_f1", "short answer, token F1",
            "words that the short answer shares with the best reference answer; of an engine that names none: the text",
            "answer", _short(token_f1)),
    Measure("answered", "answered where possible", "an answerable question was answered, rightly or not",
            "answer", _answered, did="answered"),
    Measure("refused", "refused where right", "an unanswerable question was refused",
            "answer", _refused, did="refused"),
    Measure("decision", "right to answer or refuse",
            "answered where the files have the answer, refused where they have not",
            "answer", _decided, did="decided rightly whether to answer"),
    Measure("grounded", "called grounded", "an answer that the graph itself calls grounded",
            "answer", _grounded, did="called its answer grounded"),
    Measure("verified", "citations verified", "share of an answer's citations that code could verify",
            "answer", _verified),
    Measure("citation_precision", "citation precision",
            "share of an answer's citations whose passage holds something relevant", "answer", _cited_rightly),
    Measure("citation_recall", "citation recall", "share of what is relevant that an answer cites",
            "answer", _cited_of_all),
    Measure("sentences", "sentences backed", "share of an answer's sentences with a verified citation",
            "answer", _sentences),
    Measure("grading", "grader accuracy", "share of a question's verdicts on passages that agree with the labels",
            "answer", _graded_rightly),
    Measure("judged", "judged right", "the judge called the answer right; an abstention is not",
            "judgement", _judged, did="was called right by the judge"),
    # --- cost
    Measure("unparsed", "unparsed verdicts", "verdicts per question that stayed unusable after a retry",
            "answer", _used("unparsed"), "less", "number"),
    Measure("calls", "calls to a model", "calls to a language model per question",
            "answer", _used("calls"), "less", "number"),
    Measure("prompt_tokens", "prompt tokens", "tokens of all prompts of a question",
            "answer", _used("prompt_tokens"), "less", "tokens"),
    Measure("output_tokens", "output tokens", "tokens written for a question",
            "answer", _used("output_tokens"), "less", "tokens"),
    Measure("seconds", "seconds", "seconds of a question",
            "answer", lambda case, record: float(record["answer"]["seconds"]), "less", "seconds"),
)  # fmt: skip

MEASURES: Mapping[str, Measure] = {measure.name: measure for measure in _ALL}
"""By name, in the order in which they are shown."""
