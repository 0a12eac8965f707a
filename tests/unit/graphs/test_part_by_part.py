"""Self-RAG's Retrieve before each part of an answer: marks, queries, sentences, lists and tables."""

import pytest
from support.graph_runs import QUESTION, asked_of, ids, parts, run

from local_rag.config.settings import Settings
from local_rag.config.values import AnswerShape, SelfRag, Values
from local_rag.core.errors import ConfigError, EngineError
from local_rag.core.events import Token
from local_rag.graphs import compiled
from local_rag.text.marks import claims

EACH = {"self_rag": SelfRag(retrieve="each")}
FIRST_PART, SECOND_PART = "It costs 100 euros [1].", "The plan costs 500 euros [1]."
DRAFTS = [FIRST_PART, SECOND_PART]
YES, UNREAD, USEFUL = ("fully", 0, ("fully",)), ("unparsed", 0, ("unparsed",)), ("unparsed", 5)


def ask(**given):
    _, state, deps = run("self-rag", **{"found": 12} | EACH | given)
    return state, deps


def test_marks_of_several_parts_count_in_all_passages():
    state, deps = ask(
        relevant=["y", "nyny"],
        drafts=[
            "Passage 2 says that the plan costs 200 euros [2].",
            "Passage 8 says that the plan costs 800 euros [2].",
        ],
        grades=[YES, YES, USEFUL],
        next=["yes", "no"],
    )
    assert ids(state["documents"]) == ["2", "8", "1", "3", "4", "6"], "the cited ones first"
    assert state["generation"] == (
        "Passage 2 says that the plan costs 200 euros [1]. Passage 8 says that the plan costs 800 euros [2]."
    )
    assert state["status"] == "grounded"
    assert state["grade"].sentences == ("fully", "fully")
    written = [asked[2].written for asked in asked_of(deps.engine, "answer")]
    assert written == ["", "Passage 2 says that the plan costs 200 euros."]
    shown = [ids(asked[1]) for asked in asked_of(deps.engine, "answer")]
    assert shown == [["1", "2", "3", "4"], ["6", "8"]], "a part is written from the new passages"


def test_it_retrieves_with_what_is_written_and_nothing_twice():
    _, deps = ask(drafts=DRAFTS, grades=[YES, YES, USEFUL], next=["yes", "no"], relevant=["ynyn", "y"])
    queries = [(query, excluded) for query, _, _, excluded in deps.index.queries]
    following = f"{QUESTION} It costs 100 euros."
    assert queries == [(QUESTION, ()), (following, ("2", "4", "1", "3"))]
    graded = [asked[1] for asked in asked_of(deps.engine, "relevance")]
    assert graded == [QUESTION, following], "what is looked for is what passages should help with"


def test_a_sentence_without_support_is_left_out():
    grades = [("partially", 0, ("fully", "no")), USEFUL]
    state, _ = ask(drafts=["It costs 100 euros [1]. It is blue [1]."], grades=grades)
    assert (state["generation"], state["removed"], state["status"]) == (FIRST_PART, ["It is blue."], "grounded")


@pytest.mark.parametrize(("sentences", "left"), [(1, [1]), (2, [2, 1]), (3, [3, 2, 1])])
def test_parts_keep_to_the_sentences_of_the_answer(sentences, left):
    drafts = [*DRAFTS, "Passage 1 says that the plan costs 100 euros [1]."]
    state, deps = ask(drafts=drafts, grades=[YES], next=["continue"], answer=AnswerShape(sentences=sentences))
    assert [asked[2].shape.sentences for asked in asked_of(deps.engine, "answer")] == left
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
    state, _ = ask(drafts=drafts, grades=[YES, YES, USEFUL], next=["continue", "no"])
    assert state["generation"] == written
    assert len(claims(written)) == 2


def test_strict_shows_no_part_that_could_not_be_checked():
    state, _ = ask(drafts=DRAFTS, grades=[YES, UNREAD, USEFUL], next=["continue", "no"], strict=True)
    assert (state["generation"], state["status"]) == (FIRST_PART, "grounded")
    assert state["removed"] == ["The plan costs 500 euros."]
    with pytest.raises(EngineError, match="with --strict nothing unchecked is shown"):
        ask(grades=[UNREAD, USEFUL], strict=True)


def test_the_draft_on_the_screen_is_what_stands_and_the_part_that_is_written():
    options, deps = parts(drafts=DRAFTS, grades=[YES, YES, USEFUL], next=["continue", "no"], **EACH)
    draft, drafts = "", []
    for event in compiled("self-rag", options).stream({"question": QUESTION}, context=deps, stream_mode="custom"):
        if isinstance(event, Token):
            draft = event.text if event.restart else draft + event.text
            drafts.append(draft.strip())
    assert drafts[-1] == f"{FIRST_PART} {SECOND_PART}"


def test_it_cannot_be_combined_with_several_drafts(monkeypatch):
    monkeypatch.setenv("LOCAL_RAG_SELF_RAG_CANDIDATES", "3")
    monkeypatch.setenv("LOCAL_RAG_SELF_RAG_RETRIEVE", "each")
    with pytest.raises(ConfigError, match=r"cannot be combined with self_rag\.candidates: 3"):
        Settings.load()
    assert Values(**EACH).self_rag.retrieve == "each"
