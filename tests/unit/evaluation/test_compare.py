"""Compare two runs on disk case by case: test the pairs, the figures computed by hand, and the messages."""

import json

import pytest
from support.evaluation_run import MANIFEST, answered, failed, judged, searched
from support.screen import shown as lines_shown

from local_rag.core.errors import UsageError
from local_rag.core.serialization import to_json
from local_rag.core.verdicts import Usage
from local_rag.evaluation.cases import Case, Target
from local_rag.evaluation.compare import compare
from local_rag.evaluation.folder import RunFolder
from local_rag.terminal.evaluation import comparison_parts


def case(number, answerable=True):
    labels = {"answers": ("red",), "relevant": (Target("a.txt"),)} if answerable else {}
    return Case(f"c{number}", f"Question {number}?", answerable=answerable, **labels)


def ranked(case, rank, mode="hybrid"):
    return searched(case, [f"x{number}" for number in range(rank - 1)] + ["relevant 1"], mode)


def routed(case, source):
    return {"kind": "route", "case": case.id, "expected": "vectorstore", "source": source}


@pytest.fixture
def run(tmp_path):
    """Make a run folder with these records; keywords change its manifest."""

    def make(name, cases, records, /, **manifest):
        folder = RunFolder.create(tmp_path / name, MANIFEST | manifest, cases)
        for record in records:
            folder.add(record)
        return folder.path

    return make


def figures(pairing):
    return {f"{each.group}: {each.name}": each for each in pairing.figures}


def lines(comparison, width=200):
    return lines_shown(*comparison_parts(comparison), width=width)


def test_each_graph_and_mode_that_both_have_is_paired_with_itself(run):
    cases = [case(number) for number in range(3)]
    both = [answered(one, graph=graph) for graph in ("plain", "crag") for one in cases]
    both += [ranked(one, 1) for one in cases] + [routed(cases[0], "vectorstore")]
    a = run("a", cases, [*both, *(answered(one, graph="self-rag") for one in cases)])
    b = run("b", cases, [*both, *(ranked(one, 2, "dense") for one in cases)])
    found = compare(a, b)
    assert [(each.kind, each.a, each.b) for each in found.paired] == [
        ("answer", "plain", "plain"),
        ("answer", "crag", "crag"),
        ("retrieval", "hybrid", "hybrid"),
        ("route", "vectorstore", "vectorstore"),
    ]
    assert {figure.p for each in found.paired for figure in each.figures} == {None}
    assert any(line.strip().startswith("the same in every case: Answers: contains, ") for line in lines(found))
    assert {"plain", "Retrieval, hybrid", "Router, expected vectorstore"} < set(lines(found))


def test_the_figures_of_a_pair_by_hand(run):
    cases = [case(number) for number in range(5)]
    wrong = "It is blue."
    two, five = ({"usage": Usage(calls)} for calls in (2, 5))
    a = run("a", cases, [answered(one, wrong if number < 3 else "red", **two) for number, one in enumerate(cases)])
    b = run("b", cases, [answered(one, wrong if number == 4 else "red", **five) for number, one in enumerate(cases)])
    (pairing,) = compare(a, b).paired
    held = figures(pairing)["Answers: contains"]
    assert (held.cases, held.ahead_a, held.ahead_b) == (5, 1, 3)
    assert (held.mean_a, held.mean_b, held.difference) == (0.4, 0.8, pytest.approx(0.4))
    assert -0.4 <= held.low < 0.4 < held.high <= 1
    assert held.p == pytest.approx(10 / 16), "2 (1 + 4) / 2^4"
    calls = figures(pairing)["Cost: calls"]
    assert (calls.mean_a, calls.mean_b, calls.low, calls.high, calls.p) == (2, 5, 3, 3, 2 / 32)
    assert (calls.ahead_a, calls.ahead_b) == (5, 0), "fewer are better"
    assert not {"Citations: precision", "Grading of passages: accuracy", "Judge: right"} & set(figures(pairing))
    assert not {"Refusals: precision", "Certainty: sure"} & set(figures(pairing)), "neither way is better"


def test_what_failed_or_is_not_there_is_in_no_figure_and_said(run):
    cases = [case(number) for number in range(4)]
    a = run("a", cases, [failed("answer", cases[0], graph="plain"), *(answered(one) for one in cases[1:])])
    b = run("b", cases, [answered(cases[0]), answered(cases[1]), failed("answer", cases[3], graph="plain")])
    (pairing,) = compare(a, b).paired
    assert (pairing.lost_a, pairing.lost_b) == (1, 2)
    assert {each.cases for each in pairing.figures} == {1}
    assert pairing.title == "plain (left out: 1 case failed or not asked in A and 2 cases failed or not asked in B)"


def test_only_common_questions_are_paired_and_other_labels_are_said(run):
    a = run("a", [case(1), case(2)], [answered(case(1)), answered(case(2))])
    other, relabelled = Case("c1", "Question 9?", ("red",), True), Case("c2", "Question 2?", ("blue",), True)
    b = run("b", [other, relabelled, case(3)], [answered(each) for each in (other, relabelled, case(3))])
    found = compare(a, b)
    assert (found.cases, found.only_a, found.only_b, found.relabelled) == (1, 1, 2, 1)
    assert figures(found.paired[0])["Answers: contains"].difference == -1
    assert lines(found)[3:5] == [
        "Compared: 1 case; left out: 1 only in A, 2 only in B.",
        "1 case with other labels in A than in B, each measured by its own.",
    ]
    with pytest.raises(UsageError, match="no case in common: A has 2 and B 1, of other questions"):
        compare(a, run("c", [case(9)], [answered(case(9))]))


def test_graphs_and_modes_of_other_names_are_paired_where_they_are_named(run):
    cases = [case(number) for number in range(6)]
    records = [answered(one, "It is blue.") for one in cases] + [answered(one, graph="crag") for one in cases]
    records += [ranked(one, 1) for one in cases] + [ranked(one, 4, "dense") for one in cases]
    records += [judged(one, "wrong") for one in cases] + [judged(one, "right", "crag") for one in cases]
    a = run("a", cases, records)
    (graphs,) = compare(a, a, graph_a="plain", graph_b="crag").paired
    assert figures(graphs)["Answers: contains"].difference == figures(graphs)["Judge: right"].difference == 1
    assert graphs.title == "plain (A) and crag (B)"
    (modes,) = compare(a, a, graph_a="hybrid", graph_b="dense").paired
    assert figures(modes)["Retrieval: MRR"].difference == -0.75
    for same in ({}, {"graph_a": "plain"}):
        with pytest.raises(UsageError, match="A and B are the same run"):
            compare(a, a, **same)
    b = run("b", cases, [answered(one, graph="self-rag") for one in cases])
    assert [(each.a, each.b) for each in compare(a, b, graph_a="crag", graph_b="self-rag").paired] == [
        ("crag", "self-rag")
    ]
    single = run("c", cases, [answered(one) for one in cases])
    assert [(each.a, each.b) for each in compare(single, b).paired] == [("plain", "self-rag")]
    with pytest.raises(UsageError, match="no graph in common: A has plain, crag, hybrid and dense; B has self-rag"):
        compare(a, b)
    with pytest.raises(UsageError, match="plain and dense cannot be compared"):
        compare(a, a, graph_a="plain", graph_b="dense")
    with pytest.raises(UsageError, match="no case that succeeded in both"):
        compare(run("d", cases, [answered(cases[0])]), run("e", cases, [answered(cases[1])]))


def test_what_differs_in_how_they_were_made_by_the_names_of_the_settings(run):
    cases = [case(1)]
    a = run("a", cases, [answered(cases[0])])
    other = {
        "k": 9,
        "judge": "other",
        "settings": {"limits.seconds": 60, "ollama.host": "elsewhere"},
        "index": MANIFEST["index"] | {"path": "/elsewhere", "content": "x"},
        "evaluator": "own",
    }
    found = compare(a, run("b", cases, [answered(cases[0])], **other))
    assert found.made == {
        "k": (6, 9),
        "evaluator": (None, "own"),
        "index.content": ("c0ffee", "x"),
        "limits.seconds": (300, 60),
        "judge": ("qwen3:8b", "other"),
    }
    assert "  k: 6 in A, 9 in B" in lines(found)
    assert json.loads(to_json(found))["cases"] == 1


def many(run, right_a, right_b, names="ab"):
    cases, sides = [case(number) for number in range(40)], zip(names, (right_a, right_b), strict=True)
    folders = [run(n, cases, [answered(c, "red" if i < r else "blue") for i, c in enumerate(cases)]) for n, r in sides]
    return compare(*folders)


def test_what_can_be_told_and_what_may_be_chance(run):
    found = many(run, 4, 34)
    told = figures(found.paired[0])
    assert told["Answers: contains"].verdict == "B is better" and told["Answers: contains"].corrected < 0.001
    assert told["Refusals: answered"].p is None
    few = figures(many(run, 20, 22, names=("c", "d")).paired[0])["Answers: contains"]
    assert few.verdict == "may be chance" and few.p == 0.5 and few.corrected == 1.0
    (row,) = [line.split() for line in lines(found) if "contains" in line]
    assert row[:6] == ["Answers:", "contains", "40", ".100", ".850", "+.750"] and row[-3:] == ["B", "is", "better"]
    assert "0 : 30" in " ".join(row) and "< .001" in " ".join(row)
