"""Self-RAG's Retrieve before each part of an answer: verdicts to path, marks, budgets, and that every path ends."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.fakes import FakeCorpus, ScriptedEngine
from support.graph_runs import QUESTION, asked_of, ids, run

from local_rag.config.settings import Settings
from local_rag.config.values import AnswerShape, Limits, SelfRag, Values
from local_rag.core.errors import ConfigError, EngineError
from local_rag.core.events import Token
from local_rag.core.protocols import NOT_IN_PASSAGES
from local_rag.graphs import compiled
from local_rag.graphs.deps import Deps, Options, recursion_limit
from local_rag.text.marks import claims
from local_rag.web.search import Off

EACH = {"self_rag": SelfRag(retrieve="each")}
FOUND = "retrieve grade_documents"
PART = "generate grade_segment decide_retrieval"
FIRST = f"decide_retrieval {FOUND} {PART}"
WHOLE = "grade_generation_v_question"
FIRST_PART, SECOND_PART = "It costs 100 euros [1].", "The plan costs 500 euros [1]."
NO, PARTLY = ("no", 0, ("no",)), ("partially", 0, ("partially",))
YES, USEFUL, DULL = ("fully", 0, ("fully",)), ("unparsed", 5), ("unparsed", 2)
UNREAD = ("unparsed", 0, ("unparsed",))


def ask(engine, **world):
    return run("self-rag", engine, **{"found": 12} | EACH | world)


TABLE = [
    # engine's script, limits, path, status
    ({"grades": [YES, USEFUL]}, {}, f"{FIRST} {WHOLE}", "grounded"),
    (
        {"drafts": [FIRST_PART, SECOND_PART], "grades": [YES, YES, USEFUL], "next": ["yes", "no"]},
        {},
        f"{FIRST} {FOUND} {PART} {WHOLE}",
        "grounded",
    ),
    ({"grades": [YES, YES, USEFUL], "next": ["continue", "no"]}, {}, f"{FIRST} {PART} {WHOLE}", "grounded"),
    # a part without support is left out, and ends the answer; without any part another query is tried
    (
        {"grades": [NO, YES, USEFUL], "drafts": ["It is blue [1].", SECOND_PART]},
        {},
        f"{FIRST} {WHOLE} transform_query {FOUND} {PART} {WHOLE}",
        "grounded",
    ),
    ({"grades": [NO], "drafts": ["It is blue [1]."]}, {"rewrites": 0}, f"{FIRST} {WHOLE} give_up", "abstained"),
    (
        {"grades": [YES, NO, USEFUL], "next": ["continue"]},
        {"generations": 1},
        f"{FIRST} {PART} {WHOLE}",
        "grounded",
    ),
    ({"grades": [PARTLY, USEFUL]}, {}, f"{FIRST} {WHOLE} give_up", "partial"),
    # what could not be checked stays, marked
    ({"grades": [UNREAD, USEFUL]}, {}, f"{FIRST} {WHOLE} give_up", "partial"),
    # nothing relevant: another query at the beginning, the end later
    ({"relevant": ["n", "y"], "grades": [YES, USEFUL], "drafts": [SECOND_PART]}, {},
     f"decide_retrieval {FOUND} transform_query {FOUND} {PART} {WHOLE}", "grounded"),
    ({"relevant": ["n"]}, {"rewrites": 0}, f"decide_retrieval {FOUND} give_up", "abstained"),
    ({"relevant": ["y", "n"], "grades": [YES, USEFUL], "next": ["yes"]}, {}, f"{FIRST} {FOUND} {WHOLE}", "grounded"),
    # nothing further is written
    (
        {"drafts": [FIRST_PART, NOT_IN_PASSAGES], "grades": [YES, USEFUL], "next": ["continue"]},
        {},
        f"{FIRST} {PART} {WHOLE}",
        "grounded",
    ),
    (
        {"drafts": [NOT_IN_PASSAGES]},
        {"rewrites": 1},
        f"{FIRST} {WHOLE} transform_query {FOUND} {PART} {WHOLE} give_up",
        "abstained",
    ),
    # not useful: the answer begins anew with another query
    (
        {"grades": [YES, DULL, YES, USEFUL]},
        {},
        f"{FIRST} {WHOLE} transform_query {FOUND} {PART} {WHOLE}",
        "grounded",
    ),
    ({"grades": [YES, ("unparsed", 3)]}, {"rewrites": 0}, f"{FIRST} {WHOLE} give_up", "partial"),
    # the steps end it
    ({"grades": [YES, YES, USEFUL], "next": ["continue"]}, {"steps": 2}, f"{FIRST} {PART} {WHOLE}", "grounded"),
]  # fmt: skip


@pytest.mark.parametrize(("script", "limits", "path", "status"), TABLE)
def test_verdicts_lead_to_the_path(script, limits, path, status):
    taken, state, _ = ask(ScriptedEngine(**script), **limits)
    assert (taken, state["status"]) == (path, status)
    assert state["generation"]


@pytest.mark.parametrize(("needed", "path"), [(False, "llm_fallback"), (True, "retrieve")])
def test_the_first_decision_is_that_of_decide(needed, path):
    engine = ScriptedEngine(needed=needed, grades=[YES, USEFUL])
    taken, _, _ = ask(engine, direct=True)
    assert taken.split()[:2] == ["decide_retrieval", path]
    taken, _, deps = ask(ScriptedEngine(needed=False, grades=[YES, USEFUL]))
    assert taken == f"{FIRST} {WHOLE}", "without --direct there is nothing to decide"
    assert deps.engine.asked[0][0] != "needs_retrieval"


def test_marks_of_several_parts_count_in_all_passages():
    engine = ScriptedEngine(
        relevant=["y", "nyny"],
        drafts=[
            "Passage 2 says that the plan costs 200 euros [2].",
            "Passage 8 says that the plan costs 800 euros [2].",
        ],
        grades=[YES, YES, USEFUL],
        next=["yes", "no"],
    )
    _, state, _ = ask(engine)
    assert ids(state["documents"]) == ["2", "8", "1", "3", "4", "6"], "the cited ones first"
    assert state["generation"] == (
        "Passage 2 says that the plan costs 200 euros [1]. Passage 8 says that the plan costs 800 euros [2]."
    )
    assert state["status"] == "grounded"
    assert state["grade"].sentences == ("fully", "fully")
    written = [asked[2].written for asked in asked_of(engine, "answer")]
    assert written == ["", "Passage 2 says that the plan costs 200 euros."]
    shown = [ids(asked[1]) for asked in asked_of(engine, "answer")]
    assert shown == [["1", "2", "3", "4"], ["6", "8"]], "a part is written from the new passages"


def test_it_retrieves_with_what_is_written_and_nothing_twice():
    engine = ScriptedEngine(
        drafts=[FIRST_PART, SECOND_PART], grades=[YES, YES, USEFUL], next=["yes", "no"], relevant=["ynyn", "y"]
    )
    _, _, deps = ask(engine)
    queries = [(query, excluded) for query, _, _, excluded in deps.index.queries]
    following = f"{QUESTION} It costs 100 euros."
    assert queries == [(QUESTION, ()), (following, ("2", "4", "1", "3"))]
    graded = [asked[1] for asked in asked_of(deps.engine, "relevance")]
    assert graded == [QUESTION, following], "what is looked for is what passages should help with"


def test_after_a_rewriting_the_answer_begins_anew_whatever_was_decided_before():
    engine = ScriptedEngine(
        relevant=["y", "n", "y"], drafts=[FIRST_PART, SECOND_PART], grades=[YES, DULL, YES, USEFUL], next=["yes", "no"]
    )
    path, state, _ = ask(engine)
    assert path == f"{FIRST} {FOUND} {WHOLE} transform_query {FOUND} {PART} {WHOLE}"
    assert state["generation"] == SECOND_PART


def test_a_sentence_without_support_is_left_out():
    engine = ScriptedEngine(
        drafts=["It costs 100 euros [1]. It is blue [1]."], grades=[("partially", 0, ("fully", "no")), USEFUL]
    )
    _, state, _ = ask(engine)
    assert (state["generation"], state["removed"], state["status"]) == (FIRST_PART, ["It is blue."], "grounded")


@pytest.mark.parametrize(("sentences", "left"), [(1, [1]), (2, [2, 1]), (3, [3, 2, 1])])
def test_parts_keep_to_the_sentences_of_the_answer(sentences, left):
    drafts = [FIRST_PART, SECOND_PART, "Passage 1 says that the plan costs 100 euros [1]."]
    engine = ScriptedEngine(drafts=drafts, grades=[YES], next=["continue"])
    _, state, _ = ask(engine, answer=AnswerShape(sentences=sentences))
    assert [asked[2].shape.sentences for asked in asked_of(engine, "answer")] == left
    assert len(claims(state["generation"])) == sentences


@pytest.mark.parametrize(
    ("drafts", "written"),
    [
        (["- It costs 100 euros [1].", "- The plan costs 500 euros [1]."],
         "- It costs 100 euros [1].\n- The plan costs 500 euros [1]."),
        (["1. It costs 100 euros [1].", "1. The plan costs 500 euros [1]."],
         "1. It costs 100 euros [1].\n2. The plan costs 500 euros [1]."),
        (["1. It costs 100 euros [1].", "2. The plan costs 500 euros [1]."],
         "1. It costs 100 euros [1].\n2. The plan costs 500 euros [1]."),
        (["| plan | price |\n|---|---|\n| A | 100 [1] |", "| plan | price |\n|---|---|\n| B | 500 [1] |"],
         "| plan | price |\n|---|---|\n| A | 100 [1] |\n| B | 500 [1] |"),
        (["| plan | price |\n|---|---|\n| A | 100 [1] |", "| B | 500 [1] |"],
         "| plan | price |\n|---|---|\n| A | 100 [1] |\n| B | 500 [1] |"),
    ],
)  # fmt: skip
def test_parts_of_a_list_or_table_make_one(drafts, written):
    engine = ScriptedEngine(drafts=drafts, grades=[YES, YES, USEFUL], next=["continue", "no"])
    _, state, _ = ask(engine)
    assert state["generation"] == written
    assert len(claims(written)) == 2


def test_strict_shows_no_part_that_could_not_be_checked():
    engine = ScriptedEngine(
        drafts=[FIRST_PART, SECOND_PART], grades=[YES, UNREAD, ("unparsed", 5)], next=["continue", "no"]
    )
    _, state, _ = ask(engine, strict=True)
    assert (state["generation"], state["status"]) == (FIRST_PART, "grounded")
    assert state["removed"] == ["The plan costs 500 euros."]
    with pytest.raises(EngineError, match="with --strict nothing unchecked is shown"):
        ask(ScriptedEngine(grades=[UNREAD, ("unparsed", 5)]), strict=True)


def test_what_stands_is_shown_when_the_engine_fails_later():
    class Failing(ScriptedEngine):
        def answer(self, question, documents, attempt):
            if attempt.written:
                raise EngineError("gone")
            yield from super().answer(question, documents, attempt)

    _, state, _ = ask(Failing(grades=[YES], next=["continue"]))
    assert (state["generation"], state["status"]) == (FIRST_PART, "partial")
    assert state["reason"].startswith("the engine failed: gone")


def test_the_draft_on_the_screen_is_what_stands_and_the_part_that_is_written():
    engine = ScriptedEngine(drafts=[FIRST_PART, SECOND_PART], grades=[YES, YES, USEFUL], next=["continue", "no"])
    deps = Deps(FakeCorpus(), engine, Off(), Limits(), self_rag=EACH["self_rag"])
    graph = compiled("self-rag", Options(each=True))
    draft, drafts = "", []
    for event in graph.stream({"question": QUESTION}, context=deps, stream_mode="custom"):
        if isinstance(event, Token):
            draft = event.text if event.restart else draft + event.text
            drafts.append(draft.strip())
    assert drafts[-1] == f"{FIRST_PART} {SECOND_PART}"


VERDICTS = st.sampled_from([YES, NO, PARTLY, UNREAD, ("partially", 0, ("fully", "no")), USEFUL, DULL, ("fully", 5)])


@settings(max_examples=60, deadline=None)
@given(
    relevant=st.lists(st.text("yn?", min_size=4, max_size=4), min_size=1, max_size=12),
    drafts=st.lists(st.sampled_from([FIRST_PART, SECOND_PART, NOT_IN_PASSAGES, "Blue [9]. Red [1, 2]."]), min_size=1),
    grades=st.lists(VERDICTS, min_size=1, max_size=30),
    following=st.lists(st.sampled_from(["yes", "no", "continue"]), min_size=1, max_size=12),
    bounds=st.tuples(st.integers(0, 3), st.integers(1, 4), st.integers(1, 6)),
    found=st.sampled_from([0, 3, 60]),
    strict=st.booleans(),
)
def test_every_path_ends_within_the_budgets(relevant, drafts, grades, following, bounds, found, strict):
    limits = dict(zip(("rewrites", "generations", "steps"), bounds, strict=True))
    engine = ScriptedEngine(relevant=relevant, drafts=drafts, grades=grades, next=following)
    try:
        path, state, _ = ask(engine, found=found, strict=strict, **limits)
    except EngineError as error:
        assert "no usable verdict" in str(error)
        return
    assert all(count <= limits[kind] for kind, count in state.get("tries", {}).items())
    assert len(path.split()) < recursion_limit(Limits(**limits))
    assert state["status"] in {"grounded", "partial", "ungrounded", "abstained"}
    known = ids(state["documents"])
    assert len(known) == len(set(known)), "no passage comes twice"


def test_it_cannot_be_combined_with_several_drafts(monkeypatch):
    monkeypatch.setenv("LOCAL_RAG_SELF_RAG_CANDIDATES", "3")
    monkeypatch.setenv("LOCAL_RAG_SELF_RAG_RETRIEVE", "each")
    with pytest.raises(ConfigError, match=r"cannot be combined with self_rag\.candidates: 3"):
        Settings.load()
    assert Values(**EACH).self_rag.retrieve == "each"
