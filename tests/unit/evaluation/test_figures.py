"""Test every figure of a run against records and results that were worked out by hand."""

import json
from math import log2

import pytest
from support.evaluation_run import answered, failed, judged, searched

from local_rag.core.verdicts import Usage
from local_rag.evaluation.cases import Case, Target
from local_rag.evaluation.curves import bins_of, calibration_error
from local_rag.evaluation.figures import summary

RED = Case("red", "What colour?", ("red",), True, (Target("a.txt"), Target("b.txt")), "vectorstore", hops=2)
NINE = Case("nine", "How many?", ("nine", "9"), True, (Target("a.txt"),), "vectorstore")
NEWS = Case("news", "What is new?", (), False, route="web_search")
FUTURE = Case("future", "What will be?", (), False)
LOOSE = Case("loose", "What then?")
CASES = (RED, NINE, NEWS, FUTURE, LOOSE)


def refused(case, **more):
    return answered(case, "", **more)


def grade(verdict, gold, score=None):
    return {"chunk_id": f"{verdict}{score}{gold}", "verdict": verdict, "score": score, "gold": gold}


def made(records, cases=CASES):
    """Return the summary after checking that it is JSON without NaN."""
    figures = summary(cases, records)
    assert json.loads(json.dumps(figures, allow_nan=False)) == figures
    return figures


def row(records, group, name="plain"):
    """Return the means of a row of a table, with their numbers of cases."""
    found = made(records)["figures"].get(group, {}).get(name, {})
    return {figure: (pytest.approx(each["mean"]), each["cases"]) for figure, each in found.items()}


def test_a_run_without_records_has_no_figure():
    assert made([]) == {
        "cases": {
            "total": 5,
            "answerable": 2,
            "unanswerable": 2,
            "with_answers": 2,
            "with_relevant": 2,
            "with_route": 3,
        },
        "figures": {},
        "cosine_curve": [],
        "score_curve": [],
        "reliability": {},
        "failures": [],
    }


def test_retrieval_figures_are_means_by_mode():
    both = {"relevant 1": 1.0, "relevant 2": 2.0}
    records = [
        searched(RED, ["x", "relevant 2", "y", "relevant 1"], gains=both),
        searched(NINE, [], seconds=3.0),
        searched(RED, ["relevant 1"], mode="dense", gains=both),
        failed("retrieval", NINE, mode="dense"),
        searched(LOOSE, ["x"], gains={}),
    ]
    hybrid = row(records, "Retrieval", "hybrid")
    assert {name: value for name, value in hybrid.items() if name != "seconds"} == {
        "R@1": (0, 2),
        "R@5": (0.5, 2),
        "R@10": (0.5, 2),
        "R@20": (0.5, 2),
        "R@100": (0.5, 2),
        "MRR": (0.25, 2),
        "nDCG@10": ((2 / log2(3) + 1 / log2(5)) / (2 + 1 / log2(3)) / 2, 2),
    }
    assert row(records, "Retrieval", "dense")["R@5"] == (0.5, 1), "what failed enters no figure"
    seconds = made(records)["figures"]["Retrieval"]["hybrid"]["seconds"]
    assert (seconds["p50"], seconds["cases"]) == (1.0, 3) and seconds["p95"] == pytest.approx(2.8)


def test_the_router_by_what_was_expected():
    routes = [("vectorstore", "vectorstore"), ("vectorstore", None), ("web_search", "vectorstore")]
    records = [
        {"kind": "route", "case": case.id, "expected": expected, "source": source}
        for case, (expected, source) in zip((RED, NINE, NEWS), routes, strict=True)
    ]
    assert row(records, "Router", "vectorstore") == {"right": (0.5, 2), "unread": (0.5, 2)}
    assert row(records, "Router", "web_search") == {"right": (0, 1), "unread": (0, 1)}


def test_answers_count_a_refusal_as_0_and_a_failure_not_at_all():
    records = [answered(RED, "It is red [1].", short="red"), refused(NINE), answered(NEWS, "red"), answered(LOOSE, "x")]
    assert row(records, "Answers") == {
        "contains": (0.5, 2),
        "F1": (2 / 4 / 2, 2),
        "EM": (0, 2),
        "short F1": (0.5, 2),
        "short EM": (0.5, 2),
    }
    assert row([*records, failed("answer", NINE, graph="plain")], "Answers")["contains"] == (1, 1), (
        "the last one counts"
    )
    assert row([answered(RED, "", short="red")], "Answers")["short EM"] == (0, 1), "no words of a refusal count"


def test_levels_of_certainty_say_how_many_of_them_are_right():
    records = [
        answered(RED, "It is red."),
        answered(NINE, "It is blue.", "probably"),
        answered(NEWS, "A war."),
        answered(FUTURE, "A war.", "in doubt"),
        answered(LOOSE, "So."),
    ]
    levels = row(records, "Certainty")
    assert (levels["sure"], levels["probably"], levels["in doubt"]) == ((0.6, 5), (0.2, 5), (0.2, 5))
    assert levels["sure: right"] == (0.5, 2), "of an answer without a label nobody knows"
    assert (levels["probably: right"], levels["in doubt: right"]) == ((0, 1), (0, 1))
    assert levels["sure, not in files"] == (0.5, 2)
    assert row([refused(RED)], "Certainty")["refused"] == (1, 1)


def test_refusals_count_only_cases_known_to_be_answerable_or_not():
    records = [answered(RED, "red"), refused(NINE), refused(NEWS), answered(FUTURE, "a war"), refused(LOOSE)]
    assert row(records, "Refusals") == {
        "answered": (0.5, 2),
        "refused": (0.5, 2),
        "balanced": (0.5, 4),
        "precision": (0.5, 2),
    }
    uneven = [answered(RED, "red"), answered(NINE, "9"), refused(NEWS)]
    assert row(uneven, "Refusals")["balanced"] == (1, 3), "one of three cases weighs as much as the two"
    assert row([*uneven[:2], answered(NEWS, "x")], "Refusals")["balanced"] == (0.5, 3)
    assert "balanced" not in row(uneven[:2], "Refusals")


def test_citations_are_means_over_answers():
    long = answered(RED, "red", cited=[(True, [0]), *[(True, [])] * 9], said=(10, 5))
    records = [long, answered(NINE, "nine", cited=[(True, [0])], said=(1, 1)), refused(NEWS)]
    assert row(records, "Citations") == {
        "verified": (1, 2),
        "precision": (0.55, 2),
        "recall": (0.75, 2),
        "sentences": (0.75, 2),
    }


def test_grading_once_per_passage_with_bins_of_the_scores():
    grades = [
        grade("relevant", True, 0.9),
        grade("relevant", False, 0.8),
        grade("irrelevant", True, 0.1),
        grade("unparsed", None),
        grade("irrelevant", None),
    ]
    records = [answered(RED, "red", grades=[*grades, grades[0]])]
    assert row(records, "Grading of passages") == {
        "accuracy": (1 / 3, 1),
        "false irrelevant": (0.5, 1),
        "unread": (0.2, 1),
    }
    (low, middle, high) = made(records)["reliability"]["plain"]
    assert (low["count"], low["right"], middle["score"], high["right"]) == (1, 1, 0.8, 1)
    twice = [grade("unparsed", True, None) | {"chunk_id": "1"}, grade("relevant", True) | {"chunk_id": "1"}]
    assert row([answered(RED, "red", grades=twice)], "Grading of passages")["unread"] == (0, 1)


def test_the_calibration_error_weighs_each_bin_by_what_it_holds():
    assert calibration_error([]) is None
    assert calibration_error(bins_of([(0.75, True)] * 3 + [(0.75, False)])) == pytest.approx(0.0)
    mixed = [(0.95, True)] * 2 + [(0.25, True), (0.25, False), (1.0, True)]
    assert calibration_error(bins_of(mixed)) == pytest.approx((3 * (1 - 2.9 / 3) + 2 * 0.25) / 5)


def test_the_judge_and_the_cost():
    records = [answered(RED, "red", usage=Usage(4, 100, 10)), refused(NINE), answered(NEWS, "x")]
    records += [judged(RED, "right") | {"right": True}, judged(NINE, "abstained"), judged(NEWS, "unparsed")]
    assert row(records, "Judge") == {"right": (0.5, 2), "agreement": (1, 1), "unread": (0.5, 2)}
    cost = row(records, "Cost")
    assert (cost["calls"], cost["read"], cost["seconds"]) == ((4 / 3, 3), (100 / 3, 3), (2, 3))


def test_the_curves_take_what_the_question_itself_brought():
    def passages(*scores):
        first = [{"chunk_id": str(s), "origin": "files", "score": s, "query": "q"} for s in scores]
        return [*first, {"chunk_id": "late", "origin": "files", "score": 0.99, "query": "rewritten"}]

    web = {"chunk_id": "w", "origin": "web", "score": 1.0, "query": "q"}
    records = [
        answered(RED, "red", passages=[web, *passages(0.2, 0.7)], grades=[grade("relevant", True, 0.8)]),
        answered(NEWS, "x", passages=passages(0.5), grades=[grade("irrelevant", False, 0.3)]),
    ]
    at = {point["threshold"]: (point["answered"], point["refused"]) for point in made(records)["cosine_curve"]}
    assert (at[0.5], at[0.6], at[0.8]) == ((1, 0), (1, 1), (0, 1))
    at = {point["threshold"]: (point["answered"], point["refused"]) for point in made(records)["score_curve"]}
    assert (at[0.3], at[0.4], at[0.9]) == ((1, 0), (1, 1), (0, 1))
    assert made(records[:1])["cosine_curve"] == [], "nothing to trade off"
    nothing = [answered(RED, "red", passages=passages(0.6)), refused(NEWS), refused(FUTURE, graph="adaptive")]
    assert made(nothing)["cosine_curve"][0] == {"threshold": 0.0, "answered": 1.0, "refused": 1.0}


def test_the_last_record_wins_and_those_of_other_cases_are_left_out():
    records = [failed("answer", RED, graph="plain"), answered(RED, "red"), answered(NINE, "9")]
    assert row(records, "Answers")["contains"] == (1, 2)
    assert made(records, (NINE,))["figures"]["Answers"]["plain"]["contains"]["cases"] == 1
    (failure,) = made([failed("answer", RED, graph="plain")])["failures"]
    assert failure == {"kind": "answer", "case": "red", "graph": "plain", "error": "EngineError: no answer"}
