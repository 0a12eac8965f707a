"""Two runs on disk, compared case by case: what is paired, the figures by hand, and the words."""

from __future__ import annotations

import json

import pytest
from support.screen import shown as lines_shown

from local_rag.core.answer import Answer
from local_rag.core.errors import UsageError
from local_rag.core.serialization import to_plain
from local_rag.core.verdicts import Usage
from local_rag.evaluation.cases import Case, Target
from local_rag.evaluation.comparison import compare
from local_rag.evaluation.difference import Difference, amount, corrected, difference, p_text, verdict_of
from local_rag.evaluation.folder import RunFolder
from local_rag.evaluation.measures import MEASURES
from local_rag.terminal.evaluation import comparison_parts

MANIFEST = {
    "format": 1,
    "started": "2025-01-01T10:00:00",
    "command": ["local-rag", "eval"],
    "cases": {"path": "/home/me/cases.jsonl", "sha256": "c0ffee", "total": 4, "used": 4},
    "k": 4,
    "engine": {"name": "extractive", "describe": "extractive", "why": "no server"},
    "index": {"path": "/home/me/index", "fingerprint": "abc"},
    "settings": {"k": 4, "limits.seconds": 300},
    "models_yaml": {"sha256": "123", "text": "embedders:"},
    "versions": {"local-rag": "0.1.0"},
}


def case(number, answerable=True):
    labels = {"answers": ("red",), "relevant": (Target("a.txt"),)} if answerable else {}
    return Case(f"c{number}", f"Question {number}?", answerable=answerable, **labels)


def answered(case, text="It is red.", graph="plain", seconds=1.0, calls=0):
    answer = Answer(case.question, text, "grounded" if text else "abstained", usage=Usage(calls), seconds=seconds)
    return {
        "kind": "answer",
        "case": case.id,
        "graph": graph,
        "answer": to_plain(answer),
        "passages": [],
        "cited": [],
        "sentences": {"total": 0, "verified": 0},
        "grades": [],
    }


def failed(case, graph="plain"):
    return {"kind": "answer", "case": case.id, "graph": graph, "error": "EngineError: no answer"}


def ranked(case, rank, mode="hybrid"):
    units = [f"x{number}" for number in range(rank - 1)] + ["relevant 1"]
    record = {"kind": "retrieval", "case": case.id, "mode": mode, "units": units, "seconds": 0.01}
    return record | {"gains": {"relevant 1": 1.0}}


def judged(case, verdict, graph="plain"):
    return {"kind": "judgement", "case": case.id, "graph": graph, "verdict": verdict}


def routed(case, source):
    return {"kind": "route", "case": case.id, "expected": "vectorstore", "source": source}


def evaluator(weights):
    return {"name": "minilm", "fingerprint": f"{weights}1", "weights": weights * 16, "base": "", "base_sha256": ""}


@pytest.fixture
def run(tmp_path):
    """Makes a run folder of a name, with these records; what else is named differs in its manifest."""

    def make(name, cases, records, /, **manifest):
        folder = RunFolder.create(tmp_path / name, MANIFEST | manifest, cases)
        for record in records:
            folder.add(record)
        return folder.path

    return make


def figures(paired):
    return {one.measure: one for one in paired.figures}


def test_each_graph_and_mode_that_both_have_is_paired_with_itself(run):
    cases = [case(number) for number in range(3)]
    both = [answered(one, graph=graph) for graph in ("plain", "crag") for one in cases]
    both += [ranked(one, 1) for one in cases] + [routed(cases[0], "vectorstore")]
    a = run("a", cases, [*both, *(answered(one, graph="self-rag") for one in cases)])
    b = run("b", cases, [*both, *(ranked(one, 2, "dense") for one in cases)])
    found = compare(a, b)
    assert [(one.what, one.a, one.b) for one in found.paired] == [
        ("graphs", "plain", "plain"),
        ("graphs", "crag", "crag"),
        ("retrieval", "hybrid", "hybrid"),
        ("router", "", ""),
    ]
    assert found.alone == ("self-rag (only in A)", "dense (only in B)")
    shown = "\n".join(lines_shown(*comparison_parts(found)))
    assert "Not compared: self-rag (only in A) and dense (only in B)." in shown
    assert "\nThe router\n" in shown
    assert "right route: the same in 1 case" not in shown  # what is the same is named together
    assert "  the same in every case: right route" in shown


def test_the_figures_of_a_pair_by_hand(run):
    from scipy import stats

    cases = [case(number) for number in range(5)]
    wrong = "It is blue."
    a = run("a", cases, [answered(one, wrong if number < 3 else "red", calls=2) for number, one in enumerate(cases)])
    b = run("b", cases, [answered(one, wrong if number == 4 else "red", calls=5) for number, one in enumerate(cases)])
    (paired,) = compare(a, b).paired
    held = figures(paired)["containment"]
    assert (held.cases, held.differ, held.only_a, held.only_b) == (5, 4, 1, 3)
    assert (held.mean_a, held.mean_b, held.difference) == (0.4, 0.8, pytest.approx(0.4))
    assert -0.4 <= held.low < 0.4 < held.high <= 1
    assert held.p == stats.binomtest(1, 4).pvalue
    calls = figures(paired)["calls"]
    assert (calls.mean_a, calls.mean_b, calls.low, calls.high, calls.p) == (2, 5, 3, 3, 2 / 32)
    assert figures(paired)["unparsed"].p is None
    assert not {"citation_precision", "grading", "judged", "refused"} & set(figures(paired))  # nothing to compare


def test_what_failed_or_is_not_there_is_in_no_figure_and_said(run):
    cases = [case(number) for number in range(4)]
    a = run("a", cases, [failed(cases[0]), *(answered(one) for one in cases[1:])])
    b = run("b", cases, [answered(cases[0]), answered(cases[1]), failed(cases[3])])
    (paired,) = compare(a, b).paired
    assert (paired.lost_a, paired.lost_b) == (1, 2)
    assert {one.cases for one in paired.figures} == {1}
    head = next(line for line in lines_shown(*comparison_parts(compare(a, b))) if line.startswith("Answers, plain"))
    assert head.endswith("(left out: 1 case failed or was not asked in A and 2 cases failed or were not asked in B)")


def test_a_case_that_failed_first_and_not_the_second_time_counts(run):
    cases = [case(0)]
    a = run("a", cases, [failed(cases[0]), answered(cases[0])])
    (paired,) = compare(a, run("b", cases, [answered(cases[0])])).paired
    assert (paired.lost_a, figures(paired)["answered"].cases) == (0, 1)


def test_only_common_cases_are_paired(run):
    a = run("a", [case(1), case(2)], [answered(case(1)), answered(case(2))])
    b = run("b", [case(2), case(3), case(4)], [answered(case(number)) for number in (2, 3, 4)])
    found = compare(a, b)
    assert (found.cases, found.only_a, found.only_b, found.relabelled) == (1, 1, 2, 0)
    over = "Their questions differ: 1 only in A, 2 only in B. Compared: the 1 case in both."
    assert over in lines_shown(*comparison_parts(found))
    with pytest.raises(UsageError, match="no case in common: A has 2 and B 1, of other questions"):
        compare(a, run("c", [case(9)], [answered(case(9))]))


def test_another_question_under_the_same_id_is_left_out_and_other_labels_are_said(run):
    a = run("a", [case(1), case(2)], [answered(case(1)), answered(case(2))])
    other = Case("c1", "Question 9?", ("red",), True)
    found = compare(a, run("b", [other, case(2)], [answered(other), answered(case(2))]))
    assert (found.cases, found.only_a, found.only_b) == (1, 1, 1)
    assert {figure.cases for figure in found.paired[0].figures} == {1}
    a = run("d", [case(1)], [answered(case(1))])
    with pytest.raises(UsageError, match="no case in common"):
        compare(a, run("e", [other], [answered(other)]))
    relabelled = Case("c1", "Question 1?", ("blue",), True)
    found = compare(a, run("c", [relabelled], [answered(relabelled)]))
    assert found.relabelled == 1
    assert figures(found.paired[0])["containment"].difference == -1
    lines = "\n".join(lines_shown(*comparison_parts(found)))
    assert "1 case with other labels in A than in B, each measured by its own." in lines


def test_single_graphs_of_another_name_are_paired_and_named(run):
    cases = [case(1)]
    a, b = run("a", cases, [answered(cases[0])]), run("b", cases, [answered(cases[0], graph="crag")])
    assert [(one.a, one.b) for one in compare(a, b).paired] == [("plain", "crag")]
    assert "Answers, plain (A) and crag (B)" in lines_shown(*comparison_parts(compare(a, b)))


def test_two_graphs_or_modes_of_one_run(run):
    cases = [case(number) for number in range(6)]
    records = [answered(one, "It is blue.") for one in cases] + [answered(one, graph="crag") for one in cases]
    records += [ranked(one, 1) for one in cases] + [ranked(one, 4, "dense") for one in cases]
    records += [judged(one, "wrong") for one in cases] + [judged(one, "right", "crag") for one in cases]
    a = run("a", cases, records)
    (graphs,) = compare(a, a, graph_a="plain", graph_b="crag").paired
    assert figures(graphs)["containment"].difference == figures(graphs)["judged"].difference == 1
    (modes,) = compare(a, a, graph_a="hybrid", graph_b="dense").paired
    assert figures(modes)["rr"].difference == -0.75
    with pytest.raises(UsageError, match="A and B are the same run") as raised:
        compare(a, a)
    assert raised.value.hint.endswith("--graph-a plain --graph-b crag")
    with pytest.raises(UsageError, match="the same run"):
        compare(a, a, graph_a="plain")
    with pytest.raises(
        UsageError, match=r"contains no graph or mode 'adaptive'; it contains plain, crag, hybrid and dense"
    ):
        compare(a, a, graph_a="plain", graph_b="adaptive")
    with pytest.raises(UsageError, match="plain and dense cannot be compared"):
        compare(a, a, graph_a="plain", graph_b="dense")


def test_one_name_is_meant_for_both_runs(run):
    cases = [case(1)]
    records = [answered(cases[0]), answered(cases[0], graph="crag")]
    found = compare(run("a", cases, records), run("b", cases, records), graph_b="crag")
    assert [(one.a, one.b) for one in found.paired] == [("crag", "crag")] and found.alone == ()


def test_runs_that_cannot_be_compared(run, tmp_path):
    cases = [case(1)]
    a = run("a", cases, [answered(cases[0]), answered(cases[0], graph="crag")])
    with pytest.raises(UsageError, match="holds no run of local-rag eval") as raised:
        compare(a, tmp_path)
    assert raised.value.hint
    other = run("b", cases, [answered(cases[0], graph="adaptive")])
    with pytest.raises(UsageError, match="no graph in common: A has plain and crag; B has adaptive"):
        compare(a, other)
    with pytest.raises(UsageError, match="have no case that succeeded in both"):
        compare(a, run("c", cases, [failed(cases[0]), failed(cases[0], "crag")]))
    with pytest.raises(UsageError, match="B has nothing yet"):
        compare(a, run("d", cases, []))


def test_what_differs_in_how_they_were_made(run):
    cases = [case(1)]
    a = run("a", cases, [answered(cases[0])])
    b = run(
        "b",
        cases,
        [answered(cases[0])],
        started="2025-02-02T10:00:00",
        command=["something", "else"],
        cases=MANIFEST["cases"] | {"path": "/elsewhere", "sha256": "decaf"},
        k=8,
        settings={"k": 8, "limits.seconds": 300},
        engine={"name": "ollama", "describe": "ollama, m\x1b[31m", "why": "named"},
        index={"path": "/elsewhere", "fingerprint": "abc"},
        models_yaml={"sha256": "456", "text": "other"},
        versions={"local-rag": "0.1.0", "torch": "2.0"},
        judge="m",
    )
    found = compare(a, b)
    assert [(one.name, one.a, one.b) for one in found.made] == [
        ("cases.sha256", "c0ffee", "decaf"),
        ("k", 4, 8),
        ("engine.name", "extractive", "ollama"),
        ("engine.describe", "extractive", "ollama, m\x1b[31m"),
        ("judge", None, "m"),
        ("models_yaml.sha256", "123", "456"),
        ("versions.torch", None, "2.0"),
    ]
    shown = "\n".join(lines_shown(*comparison_parts(found)))
    assert "  judge: none in A, m in B" in shown
    assert "\x1b" not in shown
    assert compare(a, run("c", cases, [answered(cases[0])])).made == ()


def many(run, right_a, right_b, count=40):
    cases = [case(number) for number in range(count)]

    def records(right, seconds):
        return [
            answered(one, "red" if number < right else "blue", seconds=seconds + number % 3)
            for number, one in enumerate(cases)
        ]

    return compare(run(f"a{right_a}", cases, records(right_a, 1.0)), run(f"b{right_b}", cases, records(right_b, 0.5)))


def test_the_words_for_what_can_be_told_and_what_cannot(run):
    (paired,) = many(run, 10, 34).paired
    held, seconds, answered_all = (figures(paired)[name] for name in ("containment", "seconds", "answered"))
    assert held.verdict.startswith("B is better by 0.600 (0.450 to 0.750): A gave a text with a reference answer in it")
    assert held.verdict.endswith("in 0 cases where B did not, B in 24 where A did not, p < 0.001")
    assert seconds.verdict == "B needs 0.50 s less"
    assert answered_all.verdict == "the same in all 40 cases"
    (close,) = many(run, 20, 22).paired
    assert figures(close)["containment"].verdict == (
        "no difference can be told with 40 cases: A gave a text with a reference answer in it in 0 cases where B did "
        "not, B in 2 where A did not, p = 0.50"
    )


def test_holm_takes_back_what_may_be_chance():
    found = [difference(MEASURES["f1"], [(0.0, 0.1)] * 6, 0), *[difference(MEASURES["calls"], [(1, 2), (2, 1)], 0)] * 4]
    first, *_ = corrected(found)
    assert first.p == 2 / 64 and first.adjusted == pytest.approx(5 * 2 / 64)
    assert first.verdict == "B may be better by 0.100: p = 0.031; but one of 5 figures may look so by chance"
    assert corrected(found[:1])[0].verdict == "B is better by 0.100"


def test_what_is_the_same_everywhere_is_not_among_those_tested():
    same = difference(MEASURES["f1"], [(0.5, 0.5)] * 3, 0)
    other = difference(MEASURES["f1"], [(0.0, 0.1)] * 6, 0)
    assert [one.adjusted for one in corrected([same, same, other])] == [None, None, 2 / 64]
    assert difference(MEASURES["f1"], [], 0) is None


@pytest.mark.parametrize(
    ("name", "mean", "low", "high", "words"),
    [
        ("f1", -0.04, -0.07, -0.01, "A is better by 0.040 (0.010 to 0.070)"),
        ("calls", 1.5, 1.0, 2.0, "A needs 1.50 less (1.00 to 2.00)"),
        ("search_seconds", -0.004, -0.006, -0.002, "B needs 4.0 ms less (2.0 ms to 6.0 ms)"),
        ("prompt_tokens", -1200.4, -1500, -900, "B needs 1,200 less (900 to 1,500)"),
    ],
)
def test_who_is_better_and_by_how_much(name, mean, low, high, words):
    measure = MEASURES[name]
    found = Difference(name, measure.title, 9, 9, 0.0, mean, mean, low, high, p=0.001, adjusted=0.01)
    assert verdict_of(measure, found, 3) == words


def test_amounts_and_p_values_as_they_are_written():
    assert amount(MEASURES["f1"], -0.0001, "+") == "+0.000"
    assert amount(MEASURES["seconds"], 12.3) == "12.30 s"
    assert [p_text(p) for p in (0.00002, 0.0344, 0.344, 1)] == ["p < 0.001", "p = 0.034", "p = 0.34", "p = 1.00"]


@pytest.mark.parametrize("width", [50, 80, 120])
def test_lines_fit_the_terminal(run, width):
    shown = lines_shown(*comparison_parts(many(run, 10, 34)), width=width)
    assert all(len(line) <= width for line in shown)
    assert "+0.450 to +0.750" in " ".join(" ".join(shown).split())


def test_json_and_the_same_seed_gives_the_same(run):
    cases = [case(number) for number in range(8)]
    a = run("a", cases, [ranked(one, number + 1) for number, one in enumerate(cases)])
    b = run("b", cases, [ranked(one, 9 - number) for number, one in enumerate(cases)])
    once, again = (json.dumps(to_plain(compare(a, b, seed=3)), allow_nan=False) for _ in range(2))
    assert once == again
    made = json.loads(once)
    assert made["paired"][0]["figures"][0]["verdict"] and made["seed"] == 3


def test_runs_that_other_weights_read_are_named_as_such(run):
    cases = [case(1), case(2)]
    records = [answered(one) for one in cases]
    old, new = (run(name, cases, records, evaluator=evaluator(name)) for name in ("aaaa", "bbbb"))
    without, early = run("without", cases, records, evaluator=None), run("early", cases, records)
    comparison = compare(old, new)
    said = "Other evaluators: minilm (aaaaaaaaaaaa…) in A, minilm (bbbbbbbbbbbb…) in B; differences may be theirs."
    assert comparison.evaluators == said
    assert {difference.name for difference in comparison.made} == {"evaluator.fingerprint", "evaluator.weights"}
    assert said in " ".join(lines_shown(*comparison_parts(comparison), width=200))
    assert "none in A" in compare(without, new).evaluators
    assert compare(old, early).evaluators.endswith("none in B; differences may be theirs.")
    assert compare(without, early).evaluators == ""
