"""The figures of a run, from its cases and records. A figure whose denominator is 0 is None: unknown, and never a zero.

`cases` beside a figure counts what it is over, `failed` what is not in it: what failed enters no figure. Retrieval and
answers are never averaged together, and there is no overall score.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from local_rag.evaluation.cases import Case
from local_rag.evaluation.folder import Key, key_of
from local_rag.evaluation.measures import MEASURES, agrees, has_answers, is_answered, once_graded
from local_rag.evaluation.ranking_metrics import ndcg, precision, recall
from local_rag.evaluation.refusal_curves import Pair, cosine_curve, score_curve
from local_rag.evaluation.reliability import bins_of, calibration_error
from local_rag.evaluation.statistics import kappa, mean, percentile

Figures = dict[str, Any]

RECALL_AT, PRECISION_AT = (1, 3, 5, 10, 20, 50, 100), (1, 3, 5, 10)


def summary(cases: Sequence[Case], records: Iterable[Mapping[str, Any]], depth: int | None = None) -> Figures:
    """All figures, as JSON knows them. The last record about a thing counts; records of other cases are left out.

    `depth` is how many things a ranking was cut to, None if it was not: recall further down is not known.
    """
    by_id = {case.id: case for case in cases}
    last: dict[Key, Mapping[str, Any]] = {key_of(record): record for record in records if record["case"] in by_id}
    good: dict[tuple[str, str], list[Pair]] = {}
    failed: Counter[tuple[str, str]] = Counter()
    for (kind, case, where), record in last.items():
        pairs = good.setdefault((kind, where), [])
        failed[kind, where] += "error" in record
        if "error" not in record:
            pairs.append((by_id[case], record))
    graphs = [where for kind, where in good if kind == "answer"]
    answered = {graph: good["answer", graph] for graph in graphs}
    return {
        "cases": _counts(cases),
        "retrieval": {
            mode: _retrieval(pairs, failed[kind, mode], depth)
            for (kind, mode), pairs in good.items()
            if kind == "retrieval"
        },
        "routes": _routes(good["route", ""], failed["route", ""]) if ("route", "") in good else None,
        "graphs": {
            graph: _graph(pairs, good.get(("judgement", graph)), failed["answer", graph])
            for graph, pairs in answered.items()
        },
        "refusal_curve": cosine_curve(answered),
        "score_curve": score_curve(answered),
        "failures": [_failure(record) for record in last.values() if "error" in record],
    }


def _counts(cases: Sequence[Case]) -> Figures:
    return {
        "total": len(cases),
        "answerable": sum(case.answerable is True for case in cases),
        "unanswerable": sum(case.answerable is False for case in cases),
        "unlabelled": sum(case.answerable is None for case in cases),
        "with_answers": sum(map(has_answers, cases)),
        "with_relevant": sum(bool(case.relevant) for case in cases),
        "with_route": sum(case.route is not None for case in cases),
        "multi_hop": sum(case.hops > 1 for case in cases),
    }


def _failure(record: Mapping[str, Any]) -> Figures:
    return {key: record[key] for key in ("kind", "case", "graph", "mode", "error") if key in record}


def _values(name: str, pairs: Iterable[Pair]) -> list[float]:
    """A measure of each case that it applies to."""
    of = MEASURES[name].of
    return [value for case, record in pairs if (value := of(case, record)) is not None]


def _mean(name: str, pairs: Iterable[Pair]) -> float | None:
    return mean(_values(name, pairs))


def _share(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def _retrieval(pairs: Sequence[Pair], failed: int, depth: int | None) -> Figures:
    pairs = [(case, record) for case, record in pairs if record["gains"]]
    ranked = [(record["units"], record["gains"]) for _, record in pairs]
    seconds = _values("search_seconds", pairs)

    def at(metric: Callable[..., float], k: int) -> float | None:
        return mean([metric(*ranking, k) for ranking in ranked]) if depth is None or k <= depth else None

    return {
        "cases": len(pairs),
        "failed": failed,
        "recall": {str(k): at(recall, k) for k in RECALL_AT},
        "precision": {str(k): at(precision, k) for k in PRECISION_AT},
        "mrr": _mean("rr", pairs),
        "ndcg": at(ndcg, 10),
        "map": _mean("ap", pairs),
        "seconds": {"p50": percentile(seconds, 0.5), "p95": percentile(seconds, 0.95)},
    }


def _routes(pairs: Sequence[Pair], failed: int) -> Figures:
    """A verdict that could not be parsed is not right."""
    confusion: dict[str, Counter[str]] = {}
    for _, record in pairs:
        confusion.setdefault(str(record["expected"]), Counter())[record["source"] or "unparsed"] += 1
    return {
        "cases": len(pairs),
        "failed": failed,
        "unparsed": _share(sum(record["source"] is None for _, record in pairs), len(pairs)),
        "accuracy": _mean("route", pairs),
        "confusion": {expected: dict(given) for expected, given in confusion.items()},
    }


def _graph(pairs: Sequence[Pair], judged: Sequence[Pair] | None, failed: int) -> Figures:
    return {
        "cases": len(pairs),
        "failed": failed,
        "statuses": dict(Counter(record["answer"]["status"] for _, record in pairs)),
        "answers": _answers(pairs),
        "refusals": _refusals(pairs),
        "support": _support(pairs),
        "citations": _citations(pairs),
        "grading": _grading([grade for _, record in pairs for grade in once_graded(record)]),
        "fallback_corpus": _fallback_corpus(pairs),
        "cost": _cost(pairs),
        "judge": None if judged is None else _judge(judged, pairs),
    }


def _answers(pairs: Sequence[Pair]) -> Figures:
    """Over all with reference answers an abstention counts 0, as in SQuAD 2.0; `_answered` leaves them out.

    Short answers have figures of their own where the engine names the answering words, else None.
    """
    pairs = [(case, record) for case, record in pairs if has_answers(case)]
    answered = [(case, record) for case, record in pairs if is_answered(record)]
    named = pairs if any(record["answer"].get("short") for _, record in answered) else []
    return {
        "cases": len(pairs),
        "exact_match": _mean("exact_match", pairs),
        "f1": _mean("f1", pairs),
        "short_exact_match": _mean("short_exact_match", named),
        "short_f1": _mean("short_f1", named),
        "containment": _mean("containment", pairs),
        "answered": _share(len(answered), len(pairs)),
        "f1_answered": _mean("f1", answered),
        "short_f1_answered": _mean("short_f1", answered if named else []),
        "containment_answered": _mean("containment", answered),
    }


def _refusals(pairs: Sequence[Pair]) -> Figures:
    """Whether to answer at all, as a decision of two classes; precision and recall are those of "refuse"."""
    refused, answered = _values("refused", pairs), _values("answered", pairs)
    right, given = round(sum(refused)), round(sum(answered))
    missed, wrong = len(refused) - right, len(answered) - given
    recall, answer_rate = _share(right, len(refused)), _share(given, len(answered))
    return {
        "cases": len(refused) + len(answered),
        "precision": _share(right, right + wrong),
        "recall": recall,
        "f1": None if recall is None else _share(2 * right, 2 * right + wrong + missed),
        "balanced_accuracy": None if recall is None or answer_rate is None else (recall + answer_rate) / 2,
        "answer_rate": answer_rate,
        "right": right,
        "wrong": wrong,
        "missed": missed,
        "answered": given,
    }


def _support(pairs: Sequence[Pair]) -> Figures:
    """What the status "grounded" is worth. To an unanswerable question no answer is right, however grounded."""
    answered = [(case, record) for case, record in pairs if is_answered(record)]
    known = [
        (record["answer"]["status"] == "grounded", bool(MEASURES["containment"].of(case, record)))
        for case, record in answered
        if has_answers(case) or case.answerable is False
    ]
    return {
        "answers": len(answered),
        "grounded": _mean("grounded", answered),
        "precision": mean([right for grounded, right in known if grounded]),
        "recall": mean([grounded for grounded, right in known if right]),
    }


def _citations(pairs: Sequence[Pair]) -> Figures:
    """Shares of all citations, targets and sentences of the run: a long answer weighs more than a short one."""
    answered = [(case, record) for case, record in pairs if is_answered(record)]
    cited = [(case, citation) for case, record in answered for citation in record["cited"]]
    targets = [(case, record) for case, record in answered if case.relevant]
    cited_targets = sum(
        len({target for citation in record["cited"] for target in citation["holds"]}) for _, record in targets
    )
    return {
        "answers": len(answered),
        "verified": mean([bool(citation["verified"]) for _, citation in cited]),
        "precision": mean([bool(citation["holds"]) for case, citation in cited if case.relevant]),
        "recall": _share(cited_targets, sum(len(case.relevant) for case, _ in targets)),
        "sentences": _share(
            sum(record["sentences"]["verified"] for _, record in answered),
            sum(record["sentences"]["total"] for _, record in answered),
        ),
    }


def _grading(grades: Sequence[Mapping[str, Any]]) -> Figures | None:
    """A verdict that could not be parsed is not right, but no false "irrelevant" either: it has a share of its own."""
    if not grades:
        return None
    labelled = [grade for grade in grades if grade["gold"] is not None]
    bins = bins_of((grade["score"], grade["gold"]) for grade in labelled if grade["score"] is not None)
    return {
        "verdicts": len(grades),
        "labelled": len(labelled),
        "accuracy": mean([agrees(grade) for grade in labelled]),
        "false_irrelevant": mean([grade["verdict"] == "irrelevant" for grade in labelled if grade["gold"]]),
        "unparsed": mean([grade["verdict"] == "unparsed" for grade in grades]),
        "ece": calibration_error(bins),
        "bins": bins,
    }


def _fallback_corpus(pairs: Sequence[Pair]) -> Figures | None:
    """How many questions a fallback corpus was searched for, and how many answers cite it; None where none was."""
    answers = [record["answer"] for _, record in pairs]
    searched = sum(bool(answer.get("fallback_corpus")) for answer in answers)
    cited = sum(any(citation.get("fallback_corpus") for citation in answer["citations"]) for answer in answers)
    return {"searched": searched, "cited": cited} if searched else None


def _cost(pairs: Sequence[Pair]) -> Figures:
    seconds = _values("seconds", pairs)
    usages = [record["answer"]["usage"] for _, record in pairs]
    return {
        "calls": _mean("calls", pairs),
        "prompt_tokens": _mean("prompt_tokens", pairs),
        "output_tokens": _mean("output_tokens", pairs),
        "loads": sum(usage["loads"] for usage in usages),
        "retries": sum(usage["retries"] for usage in usages),
        "seconds": {"mean": mean(seconds), "p50": percentile(seconds, 0.5), "p95": percentile(seconds, 0.95)},
    }


def _judge(judged: Sequence[Pair], pairs: Sequence[Pair]) -> Figures:
    """The judge's verdicts, and how they agree with the labels: does the answer contain a reference answer?

    Abstentions were not shown to it, and count in none of these.
    """
    shown = [(case, record) for case, record in judged if record["verdict"] != "abstained"]
    read = [(case, record["verdict"] == "right") for case, record in shown if record["verdict"] != "unparsed"]
    label = {case.id: MEASURES["containment"].of(case, record) for case, record in pairs if is_answered(record)}
    both = [(right, bool(label[case.id])) for case, right in read if label.get(case.id) is not None]
    return {
        "verdicts": len(shown),
        "unparsed": _share(len(shown) - len(read), len(shown)),
        "right": mean([right for _, right in read]),
        "labelled": len(both),
        "agreement": mean([right == labelled for right, labelled in both]),
        "kappa": kappa(both),
    }
