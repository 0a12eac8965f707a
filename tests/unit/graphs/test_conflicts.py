"""Files that disagree, in every graph, with a scripted engine and a scripted evaluator."""

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from support.fakes import FakeCorpus, FakeWeb, ScriptedEngine, ScriptedEvaluator, passage
from support.graph_runs import final_state

from local_rag.config.values import Limits
from local_rag.core.errors import LocalRagError
from local_rag.core.events import Note
from local_rag.graphs import GRAPHS, compiled
from local_rag.graphs.deps import Deps
from local_rag.text.disagreement import asks_for_one_fact, disagreeing

QUESTION = "How long is the notice period of the lease?"
OLD = "This lease is for the office. The notice period of the lease is three months. Pets are welcome."
NEW = "This lease is for the office. The notice period of the lease is six months. Pets are welcome."
SAME = "This lease is for the office. The notice period of the lease is 6 months. Pets are welcome."
ANSWERS = {"three months": 0.95, "six months": 0.95, "6 months": 0.95}


def lease(number, text, date="", **about):
    about = {"source": f"/notes/lease {number}.md", "date": date, "modified": "2020-01-01T10:00Z", **about}
    return passage(number, text, **about)


VERSIONS = [lease(1, OLD, "2019-05-01"), lease(2, NEW, "2023-02-01")]


def deps_of(passages=VERSIONS, evaluator=None, **engine):
    engine = {"drafts": ["The notice period of the lease is three months [1]."]} | engine
    evaluator = evaluator or ScriptedEvaluator(ANSWERS)
    web = FakeWeb(enabled=False)
    return Deps(FakeCorpus(list(passages)), ScriptedEngine(**engine), web, Limits(), evaluator=evaluator)


def state_of(graph="self-rag", question=QUESTION, **about):
    return final_state(compiled(graph), deps_of(**about), question)


@pytest.mark.parametrize("graph", GRAPHS)
def test_every_graph_shows_what_each_file_says_the_newest_first(graph):
    state = state_of(graph)
    (conflict,) = state["answer"].conflicts
    positions = [(position.text, position.date, position.dated) for position in conflict.positions]
    assert positions == [("six months", "2023-02-01", "document"), ("three months", "2019-05-01", "document")]
    assert (state["answer"].status, state["answer"].reason) == ("partial", "your files disagree")
    (verdict,) = (graded for graded in state["decisions"] if graded.kind == "conflict")
    assert verdict.verdict == "disagree" and '"six months"' in verdict.why and "lease 1.md" in verdict.why
    for position in conflict.positions:
        (citation,) = position.citations
        document = state["documents"][citation.number - 1]
        assert citation.source == document.metadata["source"], "the n-th document is what [n] cites"
        assert citation.quote == f"The notice period of the lease is {position.text}." and citation.verified
        assert document.page_content[citation.start : citation.end] == citation.quote


@pytest.mark.parametrize(("older", "newer", "standing"), [
    ({}, {"title": "Lease, draft"}, ("", "draft")),
    ({"title": "Lease, signed"}, {"title": "Lease"}, ("signed", "")),
    ({"source": "/notes/lease v10.md"}, {"source": "/notes/lease v9.md"}, ("", "")),
])  # fmt: skip
def test_a_signed_file_is_first_a_draft_last_and_of_two_versions_the_higher(older, newer, standing):
    passages = [lease(2, NEW, "2023-02-01", **newer), lease(1, OLD, "2019-05-01", **older)]
    (conflict,) = state_of(passages=passages)["answer"].conflicts
    assert [position.text for position in conflict.positions] == ["three months", "six months"]
    assert tuple(position.standing for position in conflict.positions) == standing


def test_quotes_alone_are_followed_by_those_of_the_other_side():
    state = state_of()
    assert state["generation"].splitlines() == [
        "The notice period of the lease is six months. [1]",
        "The notice period of the lease is three months. [2]",
    ]
    assert [citation.number for citation in state["answer"].citations] == [1, 2]


def test_what_a_model_wrote_stands_and_the_disagreement_beside_it():
    state = state_of(drafts=["You have to tell them three months before you leave [1]."])
    assert state["generation"] == "You have to tell them three months before you leave [1]."
    new, old = state["answer"].conflicts[0].positions
    assert (old.citations[0].number, new.citations[0].number) == (1, 2), "numbers go on from those of the answer"
    assert "your files disagree" in state["answer"].reason and state["answer"].status in ("partial", "ungrounded")


def test_a_file_without_a_date_has_the_time_of_its_last_change():
    passages = [lease(1, OLD, "2019-05-01"), lease(2, NEW)]
    (conflict,) = state_of(passages=passages)["answer"].conflicts
    assert [(position.text, position.dated) for position in conflict.positions] == [
        ("six months", "file"),
        ("three months", "document"),
    ]


def test_files_that_agree_stand_on_one_side():
    passages = [*VERSIONS, lease(3, SAME, "2024-01-01")]
    new, old = state_of(passages=passages)["answer"].conflicts[0].positions
    assert (new.text, new.date) == ("6 months", "2024-01-01"), "the words of the newest file"
    assert [citation.source for citation in new.citations] == ["/notes/lease 3.md", "/notes/lease 2.md"]
    assert len(old.citations) == 1


@pytest.mark.parametrize(
    ("passages", "question", "evaluator"),
    [
        ([lease(2, NEW), lease(3, SAME)], QUESTION, None),
        ([lease(1, OLD), lease(2, NEW, source="/notes/lease 1.md")], QUESTION, None),
        ([lease(1, OLD), lease(2, NEW, origin="web", url="https://web.test/1")], QUESTION, None),
        (VERSIONS, "Is the notice period of the lease three months?", None),
        (VERSIONS, "Which notice periods does the lease have?", None),
        (VERSIONS, "How long is the notice period of the Harbour lease?", None),
        (VERSIONS, QUESTION, ScriptedEvaluator({"three months": 0.95, "six months": 0.01})),
    ],
    ids=["same value", "one file", "web", "yes or no", "list", "name that no file has", "not confident"],
)
def test_no_disagreement(passages, question, evaluator):
    state = state_of(passages=passages, question=question, evaluator=evaluator)
    assert not state["answer"].conflicts and "disagree" not in state["answer"].reason
    assert not [graded for graded in state["decisions"] if graded.kind == "conflict"]


@pytest.mark.parametrize(
    ("first", "second", "question"),
    [
        ("In 2021 the revenue was 4 million.", "In 2022 the revenue was 5 million.", "What was the revenue?"),
        ("The rent of Mill House is 4 million.", "The rent of Oak House is 5 million.", "What is the rent?"),
        ("Hall B has 4 million seats.", "Hall D has 5 million seats.", "How many seats does the hall have?"),
        (
            "The captain of the hockey team earns 4 million.",
            "The captain of the chess team earns 5 million.",
            "How much does the captain earn?",
        ),
        (
            "The rent of the garage is 4 million a month.",
            "The rent of the flat is 5 million a month.",
            "How much is the rent of the garage?",
        ),
        (
            "The budget of the playground is 4 million.",
            "We propose a budget of 5 million for the playground.",
            "How much is the budget of the playground?",
        ),
        (
            "One of the owners paid 4 million for the boat.",
            "An owner paid 5 million for the boat.",
            "How much did the owner pay for the boat?",
        ),
    ],
)
def test_two_true_answers_are_about_two_things(first, second, question):
    evaluator = ScriptedEvaluator({"4 million": 0.99, "5 million": 0.99})
    passages = [passage(1, first, title=""), passage(2, second, title="")]
    assert disagreeing(question, passages, evaluator) == []


@pytest.mark.parametrize(
    ("first", "second", "sides"),
    [
        ("lease-2019", "lease-2023", 2),
        ("lease", "lease amended", 2),
        ("old", "new", 2),
        ("Lease of Mill House", "Lease of Oak House", 0),
    ],
)
def test_names_in_titles_tell_things_apart_and_years_and_versions_do_not(first, second, sides):
    passages = [lease(1, OLD, title=first), lease(2, NEW, title=second)]
    assert len(disagreeing(QUESTION, passages, ScriptedEvaluator(ANSWERS))) == sides


FOR_ONE_FACT = """
Who is the captain?
When does the train leave?
How many seats does the hall have?
What is the notice period in the contract?
In which city are the headquarters?
Which company supplies the ovens?
What species is it?
"""
FOR_MORE = """
Is the contract signed?
Why did the pump fail?
How does a valve work?
Which countries signed it?
Who were the founders?
What is a compiler?
What does isobaric mean?
Who is the captain and when did he sail?
Who spoke?
Tell me about the harbour.
"""


@pytest.mark.parametrize(("questions", "one"), [(FOR_ONE_FACT, True), (FOR_MORE, False)])
def test_questions_for_one_fact(questions, one):
    assert [each for each in questions.strip().splitlines() if asks_for_one_fact(each) is not one] == []


def test_an_evaluator_that_fails_costs_a_note_and_not_the_answer():
    deps = deps_of(evaluator=ScriptedEvaluator(error=LocalRagError("its weights are damaged")))
    events = compiled("self-rag").stream({"question": QUESTION}, context=deps, stream_mode="custom")
    assert [event.text for event in events if isinstance(event, Note)] == [
        "whether your files disagree is not known: its weights are damaged"
    ]


def test_the_next_question_of_a_chat_begins_without_conflicts():
    app = compiled("self-rag", checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "lease"}}
    deps = deps_of()
    first = final_state(app, deps, QUESTION, config)
    assert first["answer"].conflicts[0].positions[0].text == "six months"
    second = final_state(app, deps, "Are pets welcome?", config)
    assert not second["answer"].conflicts and len(second["turns"]) == 2
