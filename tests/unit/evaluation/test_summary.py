"""Every figure of a run, from records written by hand and worked out by hand."""

from __future__ import annotations

import json
from math import log2

import pytest

from local_rag.core.answer import Answer
from local_rag.core.serialization import to_plain
from local_rag.core.verdicts import Usage
from local_rag.evaluation.cases import Case, Target
from local_rag.evaluation.measures import MEASURES
from local_rag.evaluation.summary import summary

RED = Case("red", "What colour?", ("red",), True, (Target("a.txt"), Target("b.txt")), "vectorstore", hops=2)
NINE = Case("nine", "How many?", ("nine", "9"), True, (Target("a.txt"),), "vectorstore")
NEWS = Case("news", "What is new?", (), False, route="web_search")
FUTURE = Case("future", "What will be?", (), False)
LOOSE = Case("loose", "What then?")
CASES = (RED, NINE, NEWS, FUTURE, LOOSE)

ABSTAINED = "The passages do not contain the answer."


def found(case, units, mode="hybrid", seconds=1.0, gains=None):
    gains = {"relevant 1": 1.0} if gains is None else gains
    return {"kind": "retrieval", "case": case.id, "mode": mode, "units": units, "gains": gains, "seconds": seconds}


def answered(case, text, status="grounded", graph="plain", usage=None, seconds=2.0, cited=(), said=(0, 0), **more):
    answer = Answer(case.question, text, status, usage=usage or Usage(), seconds=seconds)
    record = {
        "kind": "answer",
        "case": case.id,
        "graph": graph,
        "answer": to_plain(answer),
        "passages": [],
        "cited": [
            {"number": number, "verified": verified, "holds": holds}
            for number, (verified, holds) in enumerate(cited, start=1)
        ],
        "sentences": {"total": said[0], "verified": said[1]},
        "grades": [],
        "steps": [],
        "events": [],
    }
    return record | more


def refused(case, **more):
    return answered(case, ABSTAINED, "abstained", **more)


def failed(kind, case, **where):
    return {"kind": kind, "case": case.id, **where, "error": "EngineError: no answer"}


def judged(case, verdict, graph="plain"):
    return {"kind": "judgement", "case": case.id, "graph": graph, "verdict": verdict, "why": "", "seconds": 1.0}


def grade(verdict, gold, score=None):
    return {"chunk_id": f"{verdict}{score}{gold}", "verdict": verdict, "score": score, "gold": gold}


def passage(score, query="q", origin="files"):
    return {"chunk_id": str(score), "origin": origin, "score": score, "query": query}


def of_kind(kind):
    """The measures of one kind of record."""
    return [measure for measure in MEASURES.values() if measure.record == kind]


def figures(records, cases=CASES, **more):
    """The summary, which must be JSON without NaN."""
    made = summary(cases, records, **more)
    assert json.loads(json.dumps(made, allow_nan=False)) == made
    return made


def plain_graph(records, cases=CASES):
    return figures(records, cases)["graphs"]["plain"]


def test_cases_are_counted_by_their_labels():
    assert figures([])["cases"] == {
        "total": 5,
        "answerable": 2,
        "unanswerable": 2,
        "unlabelled": 1,
        "with_answers": 2,
        "with_relevant": 2,
        "with_route": 3,
        "multi_hop": 1,
    }


def test_a_run_without_rows_has_no_figure():
    assert figures([]) | {"cases": None} == {
        "cases": None,
        "retrieval": {},
        "routes": None,
        "graphs": {},
        "refusal_curve": None,
        "score_curve": None,
        "failures": [],
    }


def test_retrieval_alone():
    both = {"relevant 1": 1.0, "relevant 2": 2.0}
    records = [
        found(RED, ["x", "relevant 2", "y", "relevant 1"], gains=both, seconds=1.0),
        found(NINE, [], seconds=3.0),
        found(RED, ["relevant 1"], mode="dense", gains=both),
        failed("retrieval", NINE, mode="dense"),
    ]
    made = figures(records)
    hybrid, dense = made["retrieval"]["hybrid"], made["retrieval"]["dense"]
    assert (hybrid["cases"], hybrid["failed"]) == (2, 0)
    assert hybrid["recall"] == {"1": 0, "3": 0.25, "5": 0.5, "10": 0.5, "20": 0.5, "50": 0.5, "100": 0.5}
    assert hybrid["precision"] == pytest.approx({"1": 0, "3": 1 / 6, "5": 0.2, "10": 0.1})
    assert hybrid["mrr"] == 0.25
    assert hybrid["map"] == pytest.approx((0.5 + 0.5) / 2 / 2)
    assert hybrid["ndcg"] == pytest.approx((2 / log2(3) + 1 / log2(5)) / (2 + 1 / log2(3)) / 2)
    assert hybrid["seconds"] == {"p50": 2.0, "p95": pytest.approx(2.9)}
    assert (dense["cases"], dense["failed"], dense["mrr"], dense["recall"]["100"]) == (1, 1, 1, 0.5)
    assert made["graphs"] == {} and made["routes"] is None
    assert made["failures"] == [
        {"kind": "retrieval", "case": "nine", "mode": "dense", "error": "EngineError: no answer"}
    ]


def test_recall_below_where_the_rankings_were_cut_is_not_known():
    recall = figures([found(RED, ["relevant 1"])], depth=20)["retrieval"]["hybrid"]["recall"]
    assert recall["20"] == 1 and recall["50"] is recall["100"] is None


def test_a_mode_in_which_everything_failed_has_no_figure():
    made = figures([failed("retrieval", RED, mode="words")])["retrieval"]["words"]
    assert (made["cases"], made["failed"], made["mrr"], made["seconds"]["p50"]) == (0, 1, None, None)
    assert set(made["recall"].values()) == {None}


def test_routes_count_an_unparsed_verdict_as_not_right():
    def route(case, source):
        return {"kind": "route", "case": case.id, "expected": case.route, "source": source, "why": "", "seconds": 1}

    made = figures([route(RED, "vectorstore"), route(NINE, None), route(NEWS, "direct"), failed("route", LOOSE)])
    assert made["routes"] == {
        "cases": 3,
        "failed": 1,
        "unparsed": pytest.approx(1 / 3),
        "accuracy": pytest.approx(1 / 3),
        "confusion": {"vectorstore": {"vectorstore": 1, "unparsed": 1}, "web_search": {"direct": 1}},
    }


def test_answers_count_an_abstention_as_0_and_a_failure_not_at_all():
    other = Case("other", "What else?", ("blue sky",), True)
    records = [
        answered(RED, "The red[1]."),
        refused(NINE),
        answered(other, "the blue sea [1]", "partial"),
        answered(NEWS, "red"),
        failed("answer", LOOSE, graph="plain"),
    ]
    made = plain_graph(records, (*CASES, other))
    assert (made["cases"], made["failed"]) == (4, 1)
    assert made["statuses"] == {"grounded": 2, "abstained": 1, "partial": 1}
    assert made["answers"] == {
        "cases": 3,
        "exact_match": pytest.approx(1 / 3),
        "f1": pytest.approx((1 + 0.5) / 3),
        "short_exact_match": None,
        "short_f1": None,
        "containment": pytest.approx(1 / 3),
        "answered": pytest.approx(2 / 3),
        "f1_answered": pytest.approx(0.75),
        "short_f1_answered": None,
        "containment_answered": 0.5,
    }


def test_the_words_of_an_abstention_are_no_answer():
    passages = Case("passages", "What holds it?", ("passages",), True)
    assert plain_graph([refused(passages)], (passages,))["answers"]["containment"] == 0


def test_refusals():
    records = [answered(RED, "blue"), refused(NINE), refused(NEWS), answered(FUTURE, "x"), refused(LOOSE)]
    assert plain_graph(records)["refusals"] == {
        "cases": 4,
        "precision": 0.5,
        "recall": 0.5,
        "f1": 0.5,
        "balanced_accuracy": 0.5,
        "answer_rate": 0.5,
        "right": 1,
        "wrong": 1,
        "missed": 1,
        "answered": 1,
    }


def test_refusals_of_one_class_alone_have_no_figures_of_the_other():
    only = plain_graph([answered(RED, "red"), refused(NINE)])["refusals"]
    assert (only["precision"], only["answer_rate"]) == (0, 0.5)
    assert only["recall"] is only["f1"] is only["balanced_accuracy"] is None
    never = plain_graph([answered(NEWS, "x")])["refusals"]
    assert (never["precision"], never["recall"], never["f1"], never["answer_rate"]) == (None, 0, 0, None)


def test_support_is_what_grounded_is_worth():
    records = [
        answered(RED, "It is red."),
        answered(NINE, "It is nine.", "partial"),
        answered(NEWS, "Much."),  # grounded, and yet no answer can be right
        answered(LOOSE, "Who knows."),  # grounded, and nobody knows whether right
        refused(FUTURE),
    ]
    assert plain_graph(records)["support"] == {"answers": 4, "grounded": 0.75, "precision": 0.5, "recall": 0.5}


def test_citations():
    records = [
        answered(RED, "Red.", cited=[(True, [0]), (False, [0]), (True, [])], said=(3, 2)),
        answered(NINE, "Nine.", cited=[(True, [0])], said=(1, 1)),
        answered(NEWS, "New.", cited=[(False, [])], said=(1, 0)),
        refused(FUTURE),
    ]
    assert plain_graph(records)["citations"] == {
        "answers": 3,
        "verified": pytest.approx(3 / 5),
        "precision": pytest.approx(3 / 4),
        "recall": pytest.approx(2 / 3),
        "sentences": pytest.approx(3 / 5),
    }


def test_grading_with_bins_of_the_scores():
    grades = [
        grade("relevant", True, 1.0),
        grade("relevant", False, 0.95),
        grade("irrelevant", True, 0.2),
        grade("irrelevant", False, 0.25),
        grade("unparsed", True),
        grade("relevant", None, 0.5),
    ]
    records = [answered(RED, "x", grades=grades[:4]), answered(LOOSE, "x", grades=grades[4:])]
    made = plain_graph(records)["grading"]
    bins = made.pop("bins")
    assert made == {
        "verdicts": 6,
        "labelled": 5,
        "accuracy": pytest.approx(2 / 5),
        "false_irrelevant": pytest.approx(1 / 3),
        "ece": pytest.approx((0.275 + 0.475) / 2),
        "unparsed": pytest.approx(1 / 6),
    }
    assert bins == [
        {"from": 0.2, "to": 0.3, "verdicts": 2, "score": pytest.approx(0.225), "relevant": 0.5},
        {"from": 0.9, "to": 1.0, "verdicts": 2, "score": pytest.approx(0.975), "relevant": 0.5},
    ]
    assert plain_graph([answered(RED, "x")])["grading"] is None


def test_cost():
    records = [
        answered(RED, "x", usage=Usage(4, 100, 10, loads=1, retries=1), seconds=1.0),
        refused(NINE, usage=Usage(2, 50, 4, loads=1), seconds=3.0),
        failed("answer", NEWS, graph="plain"),
    ]
    assert plain_graph(records)["cost"] == {
        "calls": 3,
        "prompt_tokens": 75,
        "output_tokens": 7,
        "loads": 2,
        "retries": 1,
        "seconds": {"mean": 2.0, "p50": 2.0, "p95": pytest.approx(2.9)},
    }


def test_the_judge_beside_the_labels():
    other = Case("other", "What else?", ("sky",), True)
    records = [
        answered(RED, "red"),
        answered(NINE, "ten"),
        answered(other, "sky"),
        answered(LOOSE, "x"),
        refused(NEWS),
        judged(RED, "right"),
        judged(NINE, "wrong"),
        judged(other, "wrong"),
        judged(LOOSE, "right"),
        judged(NEWS, "abstained"),
        failed("judgement", FUTURE, graph="plain"),
    ]
    made = figures(records, (*CASES, other))
    # judge: right, wrong, wrong; labels: right, wrong, right: observed 2/3, by chance 1/3 2/3 + 2/3 1/3
    assert made["graphs"]["plain"]["judge"] == {
        "verdicts": 4,
        "unparsed": 0,
        "right": 0.5,
        "labelled": 3,
        "agreement": pytest.approx(2 / 3),
        "kappa": pytest.approx((2 / 3 - 4 / 9) / (1 - 4 / 9)),
    }
    assert [one["case"] for one in made["failures"]] == ["future"]


def test_a_judge_that_nobody_could_read_has_nothing_to_say_of_the_answers():
    made = plain_graph([answered(RED, "red"), judged(RED, "unparsed")])["judge"]
    assert (made["verdicts"], made["unparsed"], made["labelled"]) == (1, 1, 0)
    assert made["right"] is made["agreement"] is made["kappa"] is None
    assert plain_graph([answered(RED, "red")])["judge"] is None


def test_the_refusal_curve_takes_what_the_first_query_brought():
    records = [
        answered(RED, "x", graph="adaptive", passages=[passage(0.99)]),
        answered(RED, "x", passages=[passage(0.6), passage(0.8), passage(0.9, "another query")]),
        refused(NINE, passages=[passage(0.3)]),
        answered(NEWS, "x", passages=[passage(0.95, origin="web"), passage(0.5)]),
        refused(FUTURE),  # nothing was found: refused at any threshold
        answered(LOOSE, "x", passages=[passage(0.1)]),
    ]
    curve = {one["threshold"]: one for one in figures(records)["refusal_curve"]}
    assert len(curve) == 51

    def at(threshold):
        return tuple(curve[threshold][name] for name in ("answer_rate", "refusal_recall", "refusal_precision"))

    assert at(0) == (1, 0.5, 1)
    assert at(0.3) == (1, 0.5, 1)
    assert at(0.4) == (0.5, 0.5, 0.5)
    assert at(0.7) == (0.5, 1, pytest.approx(2 / 3))
    assert at(1) == (0, 1, 0.5)


def test_there_is_no_refusal_curve_without_both_kinds_of_questions():
    assert figures([answered(RED, "x", passages=[passage(0.6)])])["refusal_curve"] is None
    web = answered(NEWS, "x", graph="adaptive", passages=[passage(0.9, origin="web")])
    assert figures([answered(RED, "x", graph="adaptive", passages=[passage(0.6)]), web])["refusal_curve"] is None


def test_the_last_row_wins_and_rows_of_other_cases_are_left_out():
    elsewhere = Case("elsewhere", "Where?", ("there",), True)
    records = [
        failed("answer", RED, graph="plain"),
        answered(NINE, "9"),
        answered(RED, "red"),
        failed("answer", NINE, graph="plain"),
        answered(elsewhere, "there"),
        answered(RED, "blue", graph="crag"),
    ]
    made = figures(records)
    plain_one, crag = made["graphs"]["plain"], made["graphs"]["crag"]
    assert (plain_one["cases"], plain_one["failed"], plain_one["answers"]["exact_match"]) == (1, 1, 1)
    assert (crag["cases"], crag["answers"]["exact_match"]) == (1, 0)
    assert made["failures"] == [{"kind": "answer", "case": "nine", "graph": "plain", "error": "EngineError: no answer"}]


def test_a_graph_that_failed_everywhere_has_no_figure():
    made = plain_graph([failed("answer", RED, graph="plain")])
    assert (made["cases"], made["failed"], made["statuses"]) == (0, 1, {})
    assert set(made["answers"].values()) == {0, None}
    assert made["cost"]["calls"] is made["cost"]["seconds"]["p95"] is made["citations"]["verified"] is None


def test_measures_have_what_a_reader_needs():
    for name, measure in MEASURES.items():
        assert name == measure.name and measure.title and measure.meaning
        assert not measure.binary or measure.kind == "share"
    assert {one.name for one in of_kind("judgement")} == {"judged"}


def test_the_measures_of_a_case():
    record = answered(
        RED,
        "Red.",
        cited=[(True, [0]), (False, [])],
        said=(2, 1),
        usage=Usage(3, 30, 5, unparsed=1),
        seconds=1.5,
        grades=[grade("relevant", True), grade("relevant", None), grade("unparsed", False)],
    )
    values = {one.name: one.of(RED, record) for one in of_kind("answer")}
    assert values == {
        "exact_match": 1,
        "f1": 1,
        "short_exact_match": 1,
        "short_f1": 1,
        "containment": 1,
        "answered": 1,
        "refused": None,
        "decision": 1,
        "grounded": 1,
        "verified": 0.5,
        "citation_precision": 0.5,
        "citation_recall": 0.5,
        "sentences": 0.5,
        "grading": 0.5,
        "unparsed": 1,
        "calls": 3,
        "prompt_tokens": 30,
        "output_tokens": 5,
        "seconds": 1.5,
    }
    silent = {
        name for name, one in MEASURES.items() if one.record == "answer" and one.of(LOOSE, refused(LOOSE)) is None
    }
    assert silent == set(values) - {"unparsed", "calls", "prompt_tokens", "output_tokens", "seconds"}


def with_short(record, words):
    """The record of an engine that names the answering words."""
    return record | {"answer": record["answer"] | {"short": words}}


def test_short_answers_are_measured_apart_from_the_text():
    long = answered(RED, "The car in the picture is red [1].")
    assert MEASURES["short_f1"].of(RED, with_short(long, "The red")) == 1
    assert MEASURES["short_exact_match"].of(RED, with_short(long, "red car")) == 0
    assert MEASURES["short_f1"].of(RED, with_short(long, "red car")) == pytest.approx(2 / 3)
    assert MEASURES["short_f1"].of(RED, with_short(long, "")) == MEASURES["f1"].of(RED, long), "no words are named"
    assert MEASURES["short_f1"].of(RED, with_short(refused(RED), "red")) == 0, "an abstention is an empty prediction"
    assert MEASURES["short_f1"].of(NEWS, with_short(long, "red")) is None
    records = [with_short(long, "red"), with_short(refused(NINE), "")]
    made = plain_graph(records)["answers"]
    assert (made["short_exact_match"], made["short_f1"], made["short_f1_answered"]) == (0.5, 0.5, 1.0)


def test_the_curve_of_the_graders_scores_takes_the_best_passage_of_a_question():
    grades = [grade("relevant", True, 0.9), grade("irrelevant", False, 0.1)]
    records = [answered(RED, "x", grades=grades), answered(NEWS, "x", grades=[grade("relevant", False, 0.3)])]
    curve = {point["threshold"]: point for point in figures(records)["score_curve"]}
    assert curve[0.5] == {"threshold": 0.5, "answer_rate": 1, "refusal_recall": 1, "refusal_precision": 1}
    assert curve[0.2]["refusal_recall"] == 0 and curve[0.2]["refusal_precision"] is None
    assert figures([answered(RED, "x"), answered(NEWS, "x")])["score_curve"] is None, "nothing was graded"


@pytest.mark.parametrize(("verdict", "value"), [("right", 1), ("wrong", 0), ("abstained", 0), ("unparsed", None)])
def test_the_judge_of_a_case(verdict, value):
    assert MEASURES["judged"].of(RED, judged(RED, verdict)) == value


def test_an_abstention_has_no_citations_to_miss():
    records = [answered(RED, "red [1]", cited=[(True, [0])]), refused(NINE)]
    assert plain_graph(records)["citations"]["recall"] == 1 / 2, "of the two places of RED; NINE was not answered"
    assert MEASURES["citation_recall"].of(NINE, refused(NINE)) is None


def test_the_bare_threshold_sees_what_the_question_itself_brought():
    records = [
        answered(RED, "red", passages=[passage(0.3, RED.question), passage(0.9, "red, rewritten")]),
        refused(NEWS, passages=[passage(0.1, NEWS.question)]),
    ]
    curve = {record["threshold"]: record["answer_rate"] for record in figures(records)["refusal_curve"]}
    assert (curve[0.3], curve[0.32]) == (1.0, 0.0), "the rewritten query came later"
