"""The papers' parts inside the graphs: every option and threshold as a row, and what outlives a failure."""

from dataclasses import replace
from itertools import count

import pytest
from langchain_core.documents import Document
from langgraph.checkpoint.memory import InMemorySaver
from support.fakes import FakeCorpus, ScriptedEngine, passage
from support.graph_runs import QUESTION, asked_of, final_state, ids, labels, parts, run

from local_rag.config.values import Adaptive, Crag, SelfRag, Thresholds
from local_rag.core.errors import EngineError, Stopped
from local_rag.core.protocols import NOT_IN_PASSAGES, Turn
from local_rag.core.verdicts import Relevance, Thought
from local_rag.graphs import GRAPHS, compiled
from local_rag.graphs.nodes.queries import REMEMBERED
from local_rag.graphs.rules import action_by_scores
from local_rag.text.metadata import is_certain

GRADED = "retrieve grade_documents"
AGAIN = f"transform_query {GRADED}"
FINE = "It costs 100 euros [1]."
SEPARATE, DRAFTS = {"self_rag": SelfRag(final_grade="separate")}, {"self_rag": SelfRag(candidates=2)}
EACH = {"self_rag": SelfRag(retrieve="each")}
CONSTRAINED = {"self_rag": SelfRag(candidates=2, hard_constraint=True)}
MIXED = f"{FINE} It is blue [1]."


# --- CRAG's actions -----------------------------------------------------------------------------------------------


def scores(*values, label="relevant"):
    return [Relevance(label, value) for value in values]


@pytest.mark.parametrize(
    ("verdicts", "action"),
    [
        (scores(0.81), "correct"),
        (scores(0.8), "ambiguous"),
        (scores(0.01, 0.02, 0.81), "correct"),
        (scores(0.05), "ambiguous"),
        (scores(0.049, 0.0), "incorrect"),
        (scores(0.049, 0.5), "ambiguous"),
        ([], "incorrect"),
        (scores(None), "correct"),
        (scores(None, label="irrelevant"), "incorrect"),
        (scores(None, label="unparsed"), "ambiguous"),
        (scores(0.9, label="irrelevant"), "correct"),
    ],
)
def test_the_papers_rule_on_the_scores(verdicts, action):
    assert action_by_scores(verdicts, 0.8, 0.05) == action


def test_an_ambiguous_verdict_without_a_relevant_passage_keeps_what_is_not_clearly_out():
    _, state, _ = run("crag", relevant=["nnnn"], scores=[[0.3, 0.01, 0.05, 0.04]], crag=Crag(trigger="thresholds"))
    assert ids(state["documents"]) == ["1", "3"], "0.05 is not below the lower one"


# --- thresholds over the tutorials' yes and no --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("letters", "given", "threshold", "kept"),
    [
        ("yyyy", [0.9, 0.6, 0.5, 0.4], None, "1234"),
        ("nyyn", [0.9, 0.6, 0.5, 0.4], 0.5, "123"),
        ("yyyy", [None, 0.1, None, 0.1], 0.5, "13"),
        ("???n", [0.9] * 3, 0.5, ""),
    ],
)
def test_a_threshold_of_relevance_decides_over_the_word(letters, given, threshold, kept):
    _, state, _ = run(
        "self-rag", relevant=[letters], scores=[given], rewrites=0, thresholds=Thresholds(relevance=threshold)
    )
    found = [one.chunk_id for one in state["decisions"] if one.kind == "relevance" and one.verdict == "relevant"]
    assert "".join(found) == kept


@pytest.mark.parametrize(
    ("grades", "threshold", "wiring", "status"),
    [
        ([("fully", 5, (), 0.4)], None, {}, "grounded"),
        ([("fully", 5, (), 0.4)], 0.5, {}, "abstained"),
        ([("fully", 5, (), 0.5)], 0.5, {}, "grounded"),
        ([("fully", 5, (), None)], 0.5, {}, "grounded"),
        ([("fully", 5, (), 0.4)], 0.5, DRAFTS, "abstained"),
        ([("partially", 5, ("partially",), 0.05)], 0.5, {"generations": 1, "strict": True}, "abstained"),
        ([("no", 5, ("no",), 0.05)], 0.5, {"generations": 1}, "abstained"),
        ([("fully", 0), ("unparsed", 4)], 0.75, SEPARATE, "grounded"),  # 1.0 · (0.5 + 1) / 2
        ([("fully", 0), ("unparsed", 4)], 0.76, SEPARATE, "abstained"),
    ],
)
def test_an_answer_below_its_threshold_is_not_given(grades, threshold, wiring, status):
    _, state, _ = run("self-rag", grades=grades, rewrites=0, thresholds=Thresholds(answer=threshold), **wiring)
    assert state["status"] == status


# --- the early notebook's wiring ----------------------------------------------------------------------------------


def test_each_separate_grader_is_asked_its_own_question():
    _, state, deps = run("self-rag", grades=[("fully", 0), ("unparsed", 5)], **SEPARATE)
    assert [asked[-1] for asked in asked_of(deps.engine, "grade")] == ["support", "usefulness"]
    assert (state["grade"].support, state["grade"].usefulness) == ("fully", 5)


# --- candidates ---------------------------------------------------------------------------------------------------


def test_each_candidate_has_its_own_passages_and_marks_of_the_whole():
    _, state, deps = run(
        "self-rag",
        drafts=["One [1].", "Two [1][2]."],
        grades=[("no", 1, ("no",)), ("fully", 5, ("fully",))],
        **DRAFTS,
    )
    assert [ids(asked[1]) for asked in asked_of(deps.engine, "answer")] == [["1", "3"], ["2", "4"]]
    assert state["generation"] == "Two. [1]"
    assert ids(state["documents"])[0] in ("2", "4")
    assert len(asked_of(deps.engine, "grade")) == 2, "the chosen one is not graded again"
    assert labels(state, "candidate") == ["1", "2"]


@pytest.mark.parametrize(
    ("grades", "given", "best"),
    [
        ([("fully", 3), ("partially", 3)], [0.5, 0.5], "One"),
        ([("partially", 5), ("fully", 5)], [0.5, 0.5], "Two"),
        ([("fully", 5), ("fully", 1)], [0.5, 0.5], "One"),  # 1.0 + 0.5 against 1.0 - 0.5
        ([("fully", 4), ("fully", 4)], [0.5, 0.6], "Two"),
        ([("fully", 4), ("fully", 4)], [0.9, None], "Two"),  # without a score it counts as relevant
        ([("partially", 5), ("fully", 3)], [0.9, 0.1], "One"),  # 0.9 + 0.5 + 0.5 against 0.1 + 1.0 + 0.0
        ([("partially", 5), ("fully", 5)], [0.7, 0.3], "Two"),  # 0.7 + 0.5 against 0.3 + 1.0
    ],
)
def test_candidates_are_ranked_by_the_papers_weights(grades, given, best):
    _, state, _ = run("self-rag", grades=grades, scores=[given], found=2, generations=1, rewrites=0, **DRAFTS)
    assert labels(state, "rank_candidates") == ["chosen"]
    ranked = {one.verdict: one.score for one in state["decisions"] if one.kind == "candidate"}
    assert max(ranked, key=ranked.get) == {"One": "1", "Two": "2"}[best]


@pytest.mark.parametrize("graph", GRAPHS)
def test_a_document_that_the_question_names_is_a_decision(graph):
    passages = [passage(1, named="plan"), passage(2, source="/notes/1.md", named="plan"), passage(3)]
    decisions = [graded for graded in run(graph, corpus=FakeCorpus(passages))[1]["decisions"] if graded.source]
    (named,) = [graded for graded in decisions if graded.kind == "document"]
    assert (named.verdict, named.why, named.source) == ("named", "by the words 'plan'", "/notes/1.md")


# --- several steps ------------------------------------------------------------------------------------------------

AUTO, ALWAYS = {"adaptive": Adaptive(complexity="auto")}, {"adaptive": Adaptive(complexity="multi")}


def thinking(count):
    return [Thought(f"Thought {number}.") for number in range(count)]


@pytest.mark.parametrize(
    ("steps", "per_step", "collected", "there", "searches"),
    [
        (10, 6, 15, 40, [6, 6, 3]),  # 15 in all
        (2, 6, 15, 40, [6, 6]),  # two steps of reasoning
        (10, 6, 15, 8, [6, 6]),  # nothing new comes
        (20, 1, 30, 40, [1] * 20),  # twenty steps, which fit under LangGraph's own limit
    ],
)
def test_steps_and_passages_are_bounded(steps, per_step, collected, there, searches):
    method = Adaptive(complexity="multi", per_step=per_step, collected=collected)
    _, state, deps = run("adaptive", thoughts=thinking(30), found=there, steps=steps, adaptive=method)
    assert [k for _, k, *_ in deps.index.queries][: len(searches)] == searches
    assert len(state["documents"]) == min(sum(searches), there, collected)


def test_the_thought_is_the_next_query_unless_a_better_one_is_named():
    thoughts = [Thought("Ada knew Bob."), Thought("Bob", query="Bob birthplace"), Thought("", True)]
    _, _, deps = run("adaptive", thoughts=thoughts, found=30, **ALWAYS)
    assert [query for query, *_ in deps.index.queries] == [QUESTION, "Ada knew Bob.", "Bob birthplace"]


def test_the_router_hears_of_several_steps_only_where_they_are_on_offer():
    for method, offered in ((AUTO, [True]), ({}, []), (ALWAYS, [])):
        _, _, deps = run("adaptive", **method)
        assert [asked[2].multi for asked in asked_of(deps.engine, "route")] == offered


@pytest.mark.parametrize(("about", "certain"), [
    ({}, True),
    ({"computed": True, "doubt": ""}, True),
    ({"computed": True, "doubt": "several columns may be meant"}, False),
    ({"computed": True, "doubt": "", "by_model": True}, False),
])  # fmt: skip
def test_only_text_and_what_rules_computed_without_a_doubt_stands_in_place_of_an_answer(about, certain):
    assert is_certain(Document("It is blue.", metadata=about)) is certain


@pytest.mark.parametrize(("grades_by", "written"), [("evaluator", 1), ("model", 3)])
def test_what_the_evaluator_rejects_a_model_does_not_write_again(grades_by, written):
    engine = ScriptedEngine(drafts=["It is blue [1].", "It is red [1]."], grades=[("no", 1)], grades_by=grades_by)
    _, _, deps = run("self-rag", engine, generations=3)
    assert len([attempt for *_, attempt in asked_of(deps.engine, "answer") if not attempt.quotes]) == written


# --- memory -------------------------------------------------------------------------------------------------------


def test_the_engine_is_shown_the_last_turns_as_they_were_understood():
    turns = [{"question": f"And {n}?", "asked": f"Whole {n}?", "answer": f"So {n}."} for n in range(REMEMBERED + 3)]
    options, deps = parts()
    state = final_state(compiled("plain", options), replace(deps, turns=turns))
    ((_, _, shown),) = asked_of(deps.engine, "standalone")
    assert shown == tuple(Turn(f"Whole {n}?", f"So {n}.") for n in range(3, REMEMBERED + 3))
    assert len(state["turns"]) == len(turns) + 1, "those that are not shown are kept"


def test_a_question_that_was_stopped_when_its_answer_was_there_is_not_remembered():
    options, deps = parts(at=lambda task: task == "grade" and deps.cancel.stop())
    app, config = compiled("self-rag", options, InMemorySaver()), {"configurable": {"thread_id": "1"}}
    with pytest.raises(Stopped):
        final_state(app, deps, config=config)
    assert not app.get_state(config).values["turns"]


# --- strict, sentence by sentence ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("strict", "sentences", "usefulness", "text", "status"),
    [
        (False, ("fully", "no"), 5, MIXED, "partial"),
        (True, ("fully", "no"), 5, FINE, "grounded"),
        (True, ("fully", "no"), 3, FINE, "partial"),
        (True, ("no", "fully"), 5, "It is blue [1].", "partial"),  # its citation cannot be verified
        (True, ("no", "no"), 5, NOT_IN_PASSAGES, "abstained"),
        (True, ("partially", "fully"), 5, MIXED, "partial"),
        (True, (), 5, MIXED, "partial"),
    ],
)
def test_strict_takes_out_what_has_no_support(strict, sentences, usefulness, text, status):
    overall = "no" if set(sentences) == {"no"} else "partially"
    grades = [(overall, usefulness, sentences)]
    _, state, _ = run("self-rag", drafts=[MIXED], grades=grades, generations=1, strict=strict)
    assert (state["generation"], state["status"]) == (text, status)


@pytest.mark.parametrize(
    ("again", "status", "text"),
    [(("fully", 5), "grounded", FINE), (("fully", 3), "partial", FINE), (("fully", 1), "abstained", NOT_IN_PASSAGES)],
)
def test_what_a_removal_leaves_is_asked_for_its_own_usefulness(again, status, text):
    """The sentence that answered may be the one that is gone."""
    script = {"drafts": [MIXED], "grades": [("partially", 5, ("fully", "no")), again], "generations": 1}
    for method in ({"strict": True}, CONSTRAINED | {"found": 1, "rewrites": 0}):
        _, state, deps = run("self-rag", **script, **method)
        removed = [] if status == "abstained" else ["It is blue."]
        assert (state["status"], state["generation"], state["removed"]) == (status, text, removed)
        assert asked_of(deps.engine, "grade")[-1][2:] == (FINE, "usefulness")


def test_strict_shows_nothing_that_could_not_be_checked():
    with pytest.raises(EngineError, match="no usable verdict on the answer, and with --strict nothing unchecked is"):
        run("self-rag", grades=[("unparsed", 0)], generations=1, strict=True)


@pytest.mark.parametrize(
    ("graph", "source", "options"),
    [
        ("self-rag", "", {}),
        ("self-rag", "", {"rewrites": 0}),
        ("adaptive", "vectorstore", {}),
        ("crag", "", {}),
        ("crag", "", {"web": True}),
        ("crag", "", {"crag": Crag(trigger="thresholds")}),
        ("adaptive", "web_search", {"web": True}),
    ],
)
def test_no_usable_verdict_at_all_is_a_failure_and_no_word_of_the_files(graph, source, options):
    with pytest.raises(EngineError, match=r"no usable verdict on any of \d passages?") as met:
        run(graph, relevant=["?"], source=source, **options)
    assert "it said nothing" in str(met.value) or "web" in options
    assert "local-rag models try" in met.value.hint


@pytest.mark.parametrize("later", ["n", "y"])
def test_a_later_usable_verdict_counts(later):
    _, state, _ = run("self-rag", relevant=["?", later], found=8, rewrites=1)
    assert state["status"] == {"n": "abstained", "y": "grounded"}[later]


def failing(task, at=1):
    """What breaks an engine down in one of its tasks, the first time or later."""
    times = count(1)

    def fall_over(asked):
        if asked == task and next(times) >= at:
            raise EngineError("the model fell over", hint="ollama serve")

    return fall_over


@pytest.mark.parametrize(
    ("graph", "task", "at", "options"),
    [
        *((graph, "grade", 1, {}) for graph in ("self-rag", "adaptive", "crag")),
        ("self-rag", "usefulness", 1, {"grades": [("fully", 0)]} | SEPARATE),
        ("self-rag", "support", 1, SEPARATE),
        ("self-rag", "answer", 2, {"grades": [("partially", 5)]}),
        ("self-rag", "grade", 2, {"grades": [("partially", 5)]}),
        ("self-rag", "rewrite", 1, {"grades": [("fully", 3)]}),
        ("self-rag", "answer", 2, {"grades": [("fully", 0, ("fully",))], "next": ["continue"]} | EACH),
        ("self-rag", "grade", 1, {"found": 1} | DRAFTS),
    ],
)
def test_an_answer_outlives_every_later_failure(graph, task, at, options):
    path, state, _ = run(graph, at=failing(task, at), **options)
    assert (state["generation"], state["status"]) == (FINE, "partial") and path.endswith("give_up")
    assert state["reason"].startswith("the engine failed: the model fell over; ")


@pytest.mark.parametrize(
    ("task", "options"), [("answer", {}), ("rewrite", {"relevant": ["n"]}), ("grade", {"strict": True})]
)
def test_a_failure_without_an_answer_is_one(task, options):
    with pytest.raises(EngineError, match="the model fell over"):
        run("self-rag", at=failing(task), **options)


def test_sentences_that_could_not_be_checked_are_shown_as_unchecked():
    two = "It costs 100 euros [1]. It costs 200 euros [2]."
    script = {"drafts": [two], "grades": [("partially", 5, ("fully", "unparsed"))]}
    path, state, _ = run("self-rag", **script)
    assert (state["generation"], state["status"]) == (two, "partial")
    assert state["reason"] == "1 of 2 sentences could not be checked"
    assert path == f"{GRADED} generate grade_generation give_up", "writing again would not help"
    _, state, _ = run("self-rag", **script, strict=True)
    assert (state["generation"], state["removed"]) == ("It costs 100 euros [1].", ["It costs 200 euros."])
    assert "without confirmed support taken out" in state["reason"]


@pytest.mark.parametrize(("method", "late"), [(DRAFTS, "grade"), (SEPARATE, "support")])
def test_what_was_graded_already_is_shown_where_the_clock_ends_then(method, late):
    _, state, _ = run("self-rag", found=1, late=late, **method)
    assert state["status"] == "partial" and "out of time" in state["reason"]
