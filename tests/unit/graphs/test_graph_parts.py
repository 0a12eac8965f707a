"""The papers' parts inside the graphs: every option, threshold and label as a row, and budgets for any verdicts."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langgraph.checkpoint.memory import InMemorySaver
from support.fakes import FakeCorpus, ScriptedEngine, passage
from support.graph_runs import QUESTION, asked_of, final_state, ids, labels, parts, run

from local_rag.config.values import Adaptive, Crag, SelfRag, Thresholds, Values
from local_rag.core.cancel import Cancel
from local_rag.core.errors import EngineError, Stopped
from local_rag.core.protocols import NOT_IN_PASSAGES, Rewrite, Turn
from local_rag.core.question_memory import QuestionMemory
from local_rag.core.verdicts import Relevance, Thought
from local_rag.graphs import GRAPHS, compiled
from local_rag.graphs.deps import Deps, Options, recursion_limit
from local_rag.graphs.nodes.queries import REMEMBERED
from local_rag.graphs.rules import action_by_scores
from local_rag.web.search import Off

GRADED = "retrieve grade_documents"
AGAIN = f"transform_query {GRADED}"
FINE = "It costs 100 euros [1]."
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


BY_SCORES = {"crag": Crag(trigger="thresholds")}


def test_an_ambiguous_verdict_without_a_relevant_passage_keeps_what_is_not_clearly_out():
    engine = ScriptedEngine(relevant=["nnnn"], scores=[[0.3, 0.01, 0.05, 0.04]])
    _, state, _ = run("crag", engine, **BY_SCORES)
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
    engine = ScriptedEngine(relevant=[letters], scores=[given])
    _, state, _ = run("self-rag", engine, rewrites=0, thresholds=Thresholds(relevance=threshold))
    found = [one.chunk_id for one in state["decisions"] if one.kind == "relevance" and one.verdict == "relevant"]
    assert "".join(found) == kept


@pytest.mark.parametrize(
    ("score", "threshold", "status"),
    [(0.4, None, "grounded"), (0.4, 0.5, "abstained"), (0.5, 0.5, "grounded"), (None, 0.5, "grounded")],
)
def test_an_answer_below_its_threshold_is_not_given(score, threshold, status):
    engine = ScriptedEngine(grades=[("fully", 5, (), score)])
    _, state, _ = run("self-rag", engine, rewrites=0, thresholds=Thresholds(answer=threshold))
    assert state["answer"].status == status


# --- the early notebook's wiring ----------------------------------------------------------------------------------

SEPARATE = {"self_rag": SelfRag(final_grade="separate")}
WRITTEN = "generate grade_generation_v_documents"
FINAL = f"{WRITTEN} prepare_for_final_grade grade_generation_v_question"


def test_each_separate_grader_is_asked_its_own_question():
    _, state, deps = run("self-rag", ScriptedEngine(grades=[("fully", 0), ("unparsed", 5)]), **SEPARATE)
    assert [asked[2] for asked in asked_of(deps.engine, "grade")] == ["support", "usefulness"]
    assert (state["grade"].support, state["grade"].usefulness) == ("fully", 5)


@pytest.mark.parametrize(("threshold", "status"), [(0.75, "grounded"), (0.76, "abstained")])
def test_the_score_of_separate_grades_is_made_of_both(threshold, status):
    engine = ScriptedEngine(grades=[("fully", 0), ("unparsed", 4)])  # 1.0 · (0.5 + 1) / 2
    method = SEPARATE | {"thresholds": Thresholds(answer=threshold)}
    _, state, _ = run("self-rag", engine, rewrites=0, **method)
    assert state["answer"].status == status


# --- candidates ---------------------------------------------------------------------------------------------------


def drafts(count, **more):
    return {"self_rag": SelfRag(candidates=count, **more)}


def test_each_candidate_has_its_own_passages_and_marks_of_the_whole():
    engine = ScriptedEngine(drafts=["One [1].", "Two [1][2]."], grades=[("no", 1, ("no",)), ("fully", 5, ("fully",))])
    path, state, _ = run("self-rag", engine, **drafts(2))
    assert path == f"{GRADED} generate rank_candidates grade_generation"
    given = [ids(asked[1]) for asked in asked_of(engine, "answer")]
    assert given == [["1", "3"], ["2", "4"]]
    assert state["generation"] == "Two [1][2]."
    assert ids(state["documents"]) == ["2", "4", "1", "3"]
    assert state["tries"]["generations"] == 1
    assert len(asked_of(engine, "grade")) == 2, "the chosen one is not graded again"
    assert labels(state, "candidate") == ["1", "2"]
    assert state["usage"].calls == len(asked_of(engine, "grade")) + 3, "what candidates cost is counted once"


@pytest.mark.parametrize(
    ("grades", "given", "best"),
    [
        ([("fully", 3), ("partially", 3)], [0.5, 0.5], "One"),
        ([("partially", 5), ("fully", 5)], [0.5, 0.5], "Two"),
        ([("fully", 5), ("fully", 1)], [0.5, 0.5], "One"),  # 1.0 + 0.5 against 1.0 - 0.5
        ([("fully", 4), ("fully", 4)], [0.5, 0.6], "Two"),
        ([("partially", 5), ("fully", 3)], [0.9, 0.1], "One"),  # 0.9 + 0.5 + 0.5 against 0.1 + 1.0 + 0.0
        ([("partially", 5), ("fully", 5)], [0.7, 0.3], "Two"),  # 0.7 + 0.5 against 0.3 + 1.0
    ],
)
def test_candidates_are_ranked_by_the_papers_weights(grades, given, best):
    engine = ScriptedEngine(drafts=["One [1].", "Two [1]."], grades=grades, scores=[given], relevant=["yy"])
    _, state, _ = run("self-rag", engine, found=2, generations=1, rewrites=0, **drafts(2))
    (chosen,) = [one for one in state["decisions"] if one.kind == "rank_candidates"]
    assert chosen.verdict == "chosen"
    ranked = {one.verdict: one.score for one in state["decisions"] if one.kind == "candidate"}
    assert max(ranked, key=ranked.get) == {"One": "1", "Two": "2"}[best]


@pytest.mark.parametrize("graph", ["plain", "self-rag", "crag", "adaptive"])
def test_a_document_that_the_question_names_is_a_decision(graph):
    passages = [passage(1, named="plan"), passage(2, source="/notes/1.md", named="plan"), passage(3)]
    decisions = [graded for graded in run(graph, corpus=FakeCorpus(passages))[1]["decisions"] if graded.source]
    (named,) = [graded for graded in decisions if graded.kind == "document"]
    assert (named.verdict, named.why, named.source) == ("named", "by the words 'plan'", "/notes/1.md")


def test_passages_without_a_score_count_as_relevant_in_a_rank():
    engine = ScriptedEngine(scores=[[0.4, None, None, None]])
    _, state, _ = run("self-rag", engine, **drafts(2))
    assert [draft.relevance for draft in state["candidates"]] == [0.7, 1.0]


def test_a_candidate_below_the_threshold_of_answers_is_not_given():
    engine = ScriptedEngine(grades=[("fully", 5, (), 0.4)])
    _, state, _ = run("self-rag", engine, rewrites=0, thresholds=Thresholds(answer=0.5), **drafts(2))
    assert state["answer"].status == "abstained"


@pytest.mark.parametrize(
    ("sentences", "status"), [(("fully", "no"), "grounded"), (("partially", "no"), "partial"), ((), "partial")]
)
def test_the_hard_constraint_drops_sentences_without_support_and_says_so(sentences, status):
    engine = ScriptedEngine(drafts=[MIXED], grades=[("partially", 5, sentences)])
    _, state, _ = run("self-rag", engine, found=1, generations=1, **drafts(2, hard_constraint=True))
    text, removed = (FINE, ("It is blue.",)) if sentences else (MIXED, ())
    assert (state["generation"], state["answer"].status, state["answer"].removed) == (text, status, removed)


# --- several steps ------------------------------------------------------------------------------------------------

AUTO, ALWAYS = {"adaptive": Adaptive(complexity="auto")}, {"adaptive": Adaptive(complexity="multi")}
END = "generate grade_generation"


def thinking(count):
    return [Thought(f"Thought {number}.") for number in range(count)]


@pytest.mark.parametrize(
    ("steps", "per_step", "collected", "there", "searches"),
    [
        (10, 6, 15, 40, [6, 6, 3]),  # 15 in all
        (2, 6, 15, 40, [6, 6]),  # two steps of reasoning
        (10, 6, 15, 8, [6, 6]),  # nothing new comes
        (10, 1, 15, 40, [1] * 10),  # ten steps
    ],
)
def test_steps_and_passages_are_bounded(steps, per_step, collected, there, searches):
    corpus = FakeCorpus([passage(n) for n in range(1, there + 1)])
    method = Adaptive(complexity="multi", per_step=per_step, collected=collected)
    _, state, _ = run("adaptive", ScriptedEngine(thoughts=thinking(30)), corpus=corpus, steps=steps, adaptive=method)
    assert [k for _, k, *_ in corpus.queries][: len(searches)] == searches
    assert len(state["documents"]) == min(sum(searches), there, collected)
    assert len({one.metadata["chunk_id"] for one in state["documents"]}) == len(state["documents"])
    assert state["tries"]["steps"] <= steps


def test_the_thought_is_the_next_query_unless_a_better_one_is_named():
    corpus = FakeCorpus([passage(n) for n in range(1, 31)])
    engine = ScriptedEngine(
        thoughts=[Thought("Ada knew Bob."), Thought("Bob", query="Bob birthplace"), Thought("", True)]
    )
    run("adaptive", engine, corpus=corpus, **ALWAYS)
    assert [query for query, *_ in corpus.queries] == [QUESTION, "Ada knew Bob.", "Bob birthplace"]


def test_the_router_hears_of_several_steps_only_where_they_are_on_offer():
    for method, offered in ((AUTO, True), ({}, None), (ALWAYS, None)):
        engine = ScriptedEngine()
        run("adaptive", engine, **method)
        heard = [asked[2].multi for asked in engine.asked if asked[0] == "route"]
        assert heard == ([offered] if offered is not None else [])


def test_many_steps_fit_under_the_backstop():
    corpus = FakeCorpus([passage(n) for n in range(1, 31)])
    method = Adaptive(complexity="multi", per_step=1, collected=30)
    engine = ScriptedEngine(thoughts=thinking(30))
    path, state, _ = run("adaptive", engine, corpus=corpus, steps=20, rewrites=0, generations=1, adaptive=method)
    assert path == f"route_question {'retrieve_step reason ' * 20}{END}"
    assert state["answer"].status == "grounded"


# --- memory -------------------------------------------------------------------------------------------------------


def test_the_engine_is_shown_the_last_turns_as_they_were_understood():
    shown = []

    class Recalling(ScriptedEngine):
        def standalone(self, question, history):
            shown.extend(history)
            return Rewrite(question)

    turns = [{"question": f"And {n}?", "asked": f"Whole {n}?", "answer": f"So {n}."} for n in range(REMEMBERED + 3)]
    deps = Deps(FakeCorpus(), Recalling(), Off())
    graph, config = compiled("plain", Options(), InMemorySaver()), {"configurable": {"thread_id": "1"}}
    graph.update_state(config, {"turns": turns}, as_node="finish")
    state = final_state(graph, deps, config=config)
    assert shown == [Turn(f"Whole {n}?", f"So {n}.") for n in range(3, REMEMBERED + 3)]
    assert len(state["turns"]) == len(turns) + 1, "those that are not shown are kept"


def test_a_question_that_was_stopped_is_not_remembered():
    class Stopping(ScriptedEngine):
        def grade(self, *given, **options):
            deps.cancel.stop()
            return super().grade(*given, **options)

    deps = Deps(FakeCorpus(), Stopping(), Off())
    graph, config = compiled("self-rag", checkpointer=InMemorySaver()), {"configurable": {"thread_id": "1"}}
    with pytest.raises(Stopped):
        graph.invoke({"question": QUESTION}, config, context=deps)
    assert not graph.get_state(config).values["turns"]


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
    engine = ScriptedEngine(drafts=[MIXED], grades=[(overall, usefulness, sentences)])
    _, state, _ = run("self-rag", engine, generations=1, strict=strict)
    assert (state["generation"], state["answer"].status) == (text, status)


@pytest.mark.parametrize(("strict", "status"), [(True, "abstained"), (False, "ungrounded")])
def test_strict_shows_nothing_that_has_no_support_as_a_whole(strict, status):
    engine = ScriptedEngine(grades=[("no", 5)])
    _, state, _ = run("self-rag", engine, generations=1, strict=strict)
    assert state["answer"].status == status


@pytest.mark.parametrize(
    ("again", "status", "text"),
    [(("fully", 5), "grounded", FINE), (("fully", 3), "partial", FINE), (("fully", 1), "abstained", NOT_IN_PASSAGES)],
)
def test_what_a_removal_leaves_is_asked_for_its_own_usefulness(again, status, text):
    """The sentence that answered may be the one that is gone."""
    engine = ScriptedEngine(drafts=[MIXED], grades=[("partially", 5, ("fully", "no")), again])
    _, state, _ = run("self-rag", engine, generations=1, strict=True)
    assert (state["answer"].status, state["generation"]) == (status, text)
    assert [asked[1:] for asked in asked_of(engine, "grade")][-1] == (FINE, "usefulness")

    engine = ScriptedEngine(drafts=[MIXED], grades=[("partially", 5, ("fully", "no")), again])
    method = drafts(2, hard_constraint=True)
    _, state, _ = run("self-rag", engine, found=1, generations=1, rewrites=0, **method)
    assert (state["answer"].status, state["generation"]) == (status, text)


@pytest.mark.parametrize("support", ["fully", "partially", "no"])
@pytest.mark.parametrize("strict", [True, False])
def test_no_draft_below_the_threshold_is_shown_whatever_its_support(support, strict):
    engine = ScriptedEngine(drafts=[FINE], grades=[(support, 5, (support,), 0.05)])
    _, state, _ = run("self-rag", engine, generations=1, rewrites=0, strict=strict, thresholds=Thresholds(answer=0.5))
    assert state["answer"].status == "abstained"


def test_strict_shows_nothing_that_could_not_be_checked():
    engine = ScriptedEngine(grades=[("unparsed", 0)])
    _, state, _ = run("self-rag", engine, generations=1)
    assert state["answer"].status == "ungrounded"
    with pytest.raises(EngineError, match="no usable verdict on the answer, and with --strict nothing unchecked is"):
        run("self-rag", engine, generations=1, strict=True)


class Mute(ScriptedEngine):
    """No reply of its grader can be used."""

    def relevance(self, question, documents):
        found = super().relevance(question, documents)
        return [replace(one, why="it said nothing") if one.label == "unparsed" else one for one in found]


@pytest.mark.parametrize(
    ("graph", "options"),
    [
        ("self-rag", {}),
        ("self-rag", {"rewrites": 0}),
        ("adaptive", {}),
        ("crag", {}),
        ("crag", {"web": True}),
        ("crag", {"crag": Crag(trigger="thresholds")}),
        ("adaptive", {"web": True, "source": "web_search"}),
    ],
)
def test_no_usable_verdict_at_all_is_a_failure_and_no_word_of_the_files(graph, options):
    engine = Mute(relevant=["?"], source=options.get("source", "vectorstore"))
    with pytest.raises(EngineError, match=r"no usable verdict on any of \d passages?") as met:
        run(graph, engine, **{name: value for name, value in options.items() if name != "source"})
    assert "it said nothing" in str(met.value) or "web" in options
    assert "local-rag models try" in met.value.hint


@pytest.mark.parametrize("later", ["n", "y"])
def test_a_later_usable_verdict_counts(later):
    corpus = FakeCorpus([passage(n) for n in range(1, 9)])
    _, state, _ = run("self-rag", Mute(relevant=["?", later]), corpus=corpus, rewrites=1)
    assert state["answer"].status == {"n": "abstained", "y": "grounded"}[later]


class Failing(ScriptedEngine):
    """Breaks down in one of its tasks, the first time or later."""

    task, at = "grade", 1

    def _count(self, task):
        if task == self.task:
            self.at -= 1
            if self.at <= 0:
                raise EngineError("the model fell over", hint="ollama serve")

    def grade(self, question, documents, generation, check="both", **options):
        self._count(check if check != "both" else "grade")
        return super().grade(question, documents, generation, check=check, **options)

    def answer(self, question, documents, attempt):
        self._count("answer")
        yield from super().answer(question, documents, attempt)

    def rewrite(self, question, tried, target):
        self._count("rewrite")
        return super().rewrite(question, tried, target)


def failing(task, at=1, **script):
    engine = Failing(**script)
    engine.task, engine.at = task, at
    return engine


@pytest.mark.parametrize("graph", ["self-rag", "adaptive", "crag"])
@pytest.mark.parametrize(("draft", "status"), [(FINE, "partial"), ("It costs 100 euros.", "ungrounded")])
def test_an_answer_outlives_a_check_that_fails(graph, draft, status):
    path, state, deps = run(graph, failing("grade", drafts=[draft]))
    assert (state["generation"], state["answer"].status) == (draft, status)
    assert state["answer"].reason == "the engine failed: the model fell over (ollama serve); it could not be checked"
    assert path.endswith("generate grade_generation give_up")
    assert [asked[0] for asked in deps.engine.asked].count("answer") == 1, "nothing more is asked of it"


@pytest.mark.parametrize(
    ("engine", "options"),
    [
        (failing("usefulness", grades=[("fully", 0)]), SEPARATE),
        (failing("support"), SEPARATE),
        (failing("answer", 2, grades=[("partially", 5)]), {}),
        (failing("grade", 2, grades=[("partially", 5)]), {}),
        (failing("rewrite", grades=[("fully", 3)]), {}),
        (failing("grade"), drafts(2)),
    ],
    ids=["usefulness", "support", "second answer", "second check", "rewrite", "candidates"],
)
def test_an_answer_outlives_every_later_failure(engine, options):
    corpus = FakeCorpus([passage(1)]) if "candidates" in str(options) else FakeCorpus()
    _, state, _ = run("self-rag", engine, corpus=corpus, **options)
    assert (state["generation"], state["answer"].status) == (FINE, "partial")
    assert state["answer"].reason.startswith("the engine failed: the model fell over (ollama serve); ")


def test_a_failure_without_an_answer_is_one():
    for engine, options in (
        (failing("answer"), {}),
        (failing("rewrite", relevant=["n"]), {}),
        (failing("grade"), {"strict": True}),
    ):
        with pytest.raises(EngineError, match="the model fell over"):
            run("self-rag", engine, **options)


def test_sentences_that_could_not_be_checked_are_shown_as_unchecked():
    two = "It costs 100 euros [1]. It costs 200 euros [2]."
    engine = ScriptedEngine(drafts=[two], grades=[("partially", 5, ("fully", "unparsed"))])
    path, state, _ = run("self-rag", engine)
    assert (state["generation"], state["answer"].status) == (two, "partial")
    assert state["answer"].reason == "1 of 2 sentences could not be checked"
    assert path == f"{GRADED} generate grade_generation give_up", "writing again would not help"
    _, state, _ = run("self-rag", engine, strict=True)
    assert (state["generation"], state["answer"].removed) == ("It costs 100 euros [1].", ("It costs 200 euros.",))
    assert "without confirmed support taken out" in state["answer"].reason


def test_an_answer_of_which_nothing_could_be_checked_has_the_status_of_its_citations():
    engine = ScriptedEngine(grades=[("unparsed", 4, ("unparsed",))])
    _, state, _ = run("self-rag", engine)
    assert (state["answer"].status, state["answer"].reason) == ("partial", "1 of 1 sentence could not be checked")


def test_a_number_that_a_candidate_made_up_counts_as_dropped():
    engine = ScriptedEngine(drafts=["It costs 100 euros [1][7]."])
    _, state, _ = run("self-rag", engine, found=2, **drafts(2))
    assert (state["generation"], state["answer"].dropped_citations, state["answer"].status) == (
        "It costs 100 euros [1].",
        1,
        "partial",
    )


@pytest.mark.parametrize(
    ("method", "late", "status"),
    [
        ({"self_rag": SelfRag(candidates=2)}, "grade", "partial"),
        ({"self_rag": SelfRag(final_grade="separate")}, "grade", "partial"),
        ({}, "grade", "partial"),
        ({}, "answer", "abstained"),
    ],
)
def test_what_was_graded_already_is_shown_where_the_clock_ends_then(method, late, status):
    class Late(ScriptedEngine):
        def grade(self, *arguments, **options):
            found = super().grade(*arguments, **options)
            if late == "grade":
                deps.cancel.deadline = 0.0
            return found

        def answer(self, *arguments):
            if late == "answer":
                deps.cancel.deadline = 0.0
            yield from super().answer(*arguments)

    values = Values(**method)
    deps = Deps(
        FakeCorpus([passage(1)]),
        Late(grades=[("partially", 5)] if not method else [("fully", 5)]),
        Off(),
        self_rag=values.self_rag,
        cancel=Cancel(1000),
    )
    state = final_state(compiled("self-rag", Options.of(values)), deps)
    assert state["answer"].status == status
    assert "out of time" in state["answer"].reason


# --- budgets, for any verdicts ------------------------------------------------------------------------------------

letters = st.text("yn?", min_size=4, max_size=4)
grades = st.tuples(st.sampled_from(["fully", "partially", "no", "unparsed"]), st.integers(0, 5))
maybe = st.one_of(st.none(), st.floats(0, 1))
scripts = dict(
    relevant=st.lists(letters, min_size=1, max_size=4),
    scores=st.lists(st.lists(maybe, max_size=4), min_size=1, max_size=3),
    drafts=st.lists(st.sampled_from([FINE, NOT_IN_PASSAGES, "", "Nonsense."]), min_size=1, max_size=4),
    grades=st.lists(grades, min_size=1, max_size=6),
    source=st.sampled_from(["vectorstore", "web_search", "direct"]),
    complexity=st.sampled_from(["single", "multi"]),
    needed=st.booleans(),
    thoughts=st.lists(
        st.builds(Thought, st.sampled_from(["", "One.", "Two.", "Three."]), st.booleans()), min_size=1, max_size=4
    ),
)
engines = st.builds(ScriptedEngine, **scripts)
methods = st.fixed_dictionaries(
    {
        "self_rag": st.builds(
            SelfRag,
            final_grade=st.sampled_from(["together", "separate"]),
            candidates=st.integers(1, 3),
            hard_constraint=st.booleans(),
            retrieve=st.sampled_from(["always", "decide"]),
        ),
        "crag": st.builds(Crag, trigger=st.sampled_from(["any_irrelevant", "thresholds"]), refine=st.booleans()),
        "adaptive": st.builds(Adaptive, complexity=st.sampled_from(["single", "auto", "multi"])),
        "strict": st.booleans(),
        "thresholds": st.builds(Thresholds, relevance=maybe, answer=maybe),
        "rewrites": st.integers(0, 3),
        "generations": st.integers(1, 3),
        "steps": st.integers(1, 4),
        "web": st.booleans(),
        "direct": st.booleans(),
    }
)


@settings(max_examples=settings().max_examples)
@given(name=st.sampled_from(sorted(GRAPHS)), engine=engines, method=methods, found=st.integers(0, 20))
def test_budgets_bound_every_path_and_every_end_has_a_status(name, engine, method, found):
    try:
        path, state, deps = run(name, engine, found=found, **method)
    except EngineError as error:
        assert "the grader gave no usable verdict" in str(error)
        return
    done = Counter(path.split())
    limits = deps.limits
    assert done["transform_query"] <= limits.rewrites + 1
    assert done["generate"] <= limits.generations
    assert done["web_search"] + done["web_search_node"] <= int(method["web"])
    assert done["reason"] <= limits.steps
    assert len(path.split()) < recursion_limit(limits)
    assert state["answer"].status in ("grounded", "partial", "ungrounded", "abstained", "direct")
    assert state["generation"]
    assert (state["answer"].status == "abstained") is (state["generation"] == NOT_IN_PASSAGES)
    assert state["answer"].status != "direct" or method["direct"]
    if not method["web"]:
        assert all(one.metadata["origin"] == "files" for one in state.get("documents", ()))


class Shelves(FakeCorpus):
    """Passages about the plan that a query names, and about no other."""

    def search(self, query, k, **narrowed):
        plan = plan_of(query)
        self.passages = [passage(f"{plan}-{n}", f"The {plan} plan costs {n}00 euros.") for n in range(1, 7)]
        return super().search(query, k, **narrowed)


class Writing(ScriptedEngine):
    """Writes about the plan that is asked about."""

    def answer(self, question, documents, attempt):
        for piece in super().answer(question, documents, attempt):
            yield replace(piece, text=piece.text.replace("It", f"The {plan_of(question)} plan"))


def plan_of(text):
    return "second" if "second" in text else "first"


@settings(max_examples=settings().max_examples)
@given(name=st.sampled_from(sorted(GRAPHS)), engine=st.builds(Writing, **scripts), method=methods)
def test_a_second_question_of_a_thread_sees_nothing_of_the_first(name, engine, method):
    options, deps = parts(engine, Shelves(), **method)
    app, config = compiled(name, options, InMemorySaver()), {"configurable": {"thread_id": "1"}}
    config["recursion_limit"] = recursion_limit(deps.limits)
    asked = []
    for question in ("What does the first plan cost?", "What does the second plan cost?"):
        engine.asked.clear()
        with suppress(EngineError):  # no usable verdict: what is left of that is no word of the next question either
            state = final_state(app, replace(deps, memory=QuestionMemory()), question, config)
            asked.append(question)
    assert "first" not in str(engine.asked)
    if asked[-1:] == [question]:
        assert [turn["question"] for turn in state.pop("turns")] == asked
        assert "first" not in str(state)
        assert state["tries"].get("generations", 0) <= deps.limits.generations
