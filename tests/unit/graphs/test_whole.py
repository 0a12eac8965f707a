"""Whole documents and questions for files in every graph: outlines, summaries that are checked and kept, lists."""

from dataclasses import replace

import pytest
from support.fakes import FakeFile, ScriptedEngine, passage
from support.graph_runs import asked_of, final_state, parts, run

from local_rag.core.events import Note, Started
from local_rag.core.protocols import NOT_IN_PASSAGES
from local_rag.graphs import GRAPHS, compiled

SUMMARISE = "Summarise 1.md"
QUOTING = {"writes": False, "grades_by": "evaluator"}


class Shelf:
    """What is kept, in memory."""

    def __init__(self):
        self.kept = {}

    def get(self, *named):
        return self.kept.get(named, "")

    def put(self, name, source, made, value):
        self.kept[name, source, made] = value


def of(count):
    """A file of so many passages."""
    return FakeFile([passage(number, source="/notes/1.md", title="The plan") for number in range(1, count + 1)])


def summary(engine, corpus, **more):
    """Return the answer and the events of a question for a summary."""
    options, deps = parts(engine, corpus)
    told, asked = {"custom": [], "values": []}, {"question": SUMMARISE}
    for mode, event in compiled("self-rag", options).stream(asked, context=replace(deps, **more), stream_mode=[*told]):
        told[mode].append(event)
    return told["values"][-1]["answer"], told["custom"]


@pytest.mark.parametrize(
    ("graph", "question"),
    [
        ("plain", "What is 1.md about?"),
        ("self-rag", "Summarise 1.md."),
        ("crag", "Give me an outline of 1.md"),
        ("adaptive", "Worum geht es in 1.md?"),
    ],
)
def test_without_a_language_model_all_of_a_document_is_its_outline_in_every_graph(graph, question):
    path, state, _ = run(graph, ScriptedEngine(**QUOTING), of(2), question)
    assert (path, state["status"]) == ("overview", "grounded")
    assert state["generation"] == "/notes/1.md: 4 passages [1]"
    (citation,) = state["citations"]
    assert (citation.source, citation.located, citation.rows) == ("/notes/1.md", "computed", ((0, 9),))


@pytest.mark.parametrize("graph", GRAPHS)
def test_files_that_hold_something_are_listed_in_every_graph_and_none_is_said(graph):
    engine = ScriptedEngine(**QUOTING)
    path, state, _ = run(graph, engine, of(3), "Which files mention plan costs?")
    assert (path, state["status"]) == ("overview", "grounded")
    first, line = state["generation"].split("\n\n")
    assert first == "1 file holds “plan costs”: [1]"
    assert line == '- /notes/1.md: "Passage 1 says that the plan costs 100 euros." and 2 more places [1]'
    path, state, _ = run(graph, engine, of(3), "Which files mention Anvil Court?")
    assert (path, state["status"]) == ("overview", "abstained") and state["nearest"]
    assert engine.asked == []


@pytest.mark.parametrize(
    "question", ["What does 1.md say about the cost?", "What is nothing about?", "Which plan is best?"]
)
def test_any_other_question_is_answered_from_passages(question):
    path, _, _ = run("plain", None, of(2), question)
    assert path == "retrieve generate"


def test_a_summary_is_written_part_by_part_and_then_together_each_sentence_with_its_passage():
    drafts = [
        "The plan costs 100 euros [1].",
        "The plan costs 900 euros [1].",
        "The plan costs 100 euros. The plan costs 900 euros.",
    ]
    engine = ScriptedEngine(drafts=drafts, grades=[("fully", 0, ("fully", "fully"))])
    answer, told = summary(engine, of(9))
    assert answer.text == "The plan costs 100 euros. [1] The plan costs 900 euros. [2]"
    assert (answer.status, answer.certainty) == ("grounded", "sure")
    assert [citation.chunk_id for citation in answer.citations] == ["1", "9"]
    doing = [event.doing for event in told if isinstance(event, Started)]
    assert doing[-5:-1] == [
        "summarising part 1 of 2",
        "summarising part 2 of 2",
        "summarising the whole",
        "checking the summary",
    ]
    assert [check for *_, check in asked_of(engine, "grade")] == ["support"]
    lengths = [attempt.shape.sentences for _, _, attempt in asked_of(engine, "answer")]
    assert lengths == [3, 3, 8]


def test_what_no_passage_says_is_taken_out_of_a_summary_and_said():
    engine = ScriptedEngine(
        drafts=["The plan costs 100 euros [1]. It is loved [1]."], grades=[("partially", 0, ("fully", "no"))]
    )
    answer, _ = summary(engine, of(2))
    assert answer.text == "The plan costs 100 euros. [1]" and answer.removed == ("It is loved.",)


def test_of_a_long_document_the_beginning_of_each_part_is_read_which_is_said():
    engine = ScriptedEngine(grades=[("fully", 0)])
    _, told = summary(engine, of(200))
    assert len(asked_of(engine, "answer")) == 9 and all(
        len(documents) <= 8 for _, documents, _ in asked_of(engine, "answer")
    )
    assert "made from 64 of 200 passages, the beginning of each part" in [
        event.text for event in told if isinstance(event, Note)
    ]


def test_a_summary_is_kept_until_the_file_or_the_model_changes():
    shelf = Shelf()

    def calls(corpus, **about):
        engine = ScriptedEngine(drafts=["The plan costs 100 euros [1]."], grades=[("fully", 0, ("fully",))], **about)
        answer, told = summary(engine, corpus, kept=shelf)
        assert answer.text == "The plan costs 100 euros. [1]" and answer.status == "grounded"
        assert bool(engine.asked) != any("made before" in event.text for event in told if isinstance(event, Note))
        return len(engine.asked)

    assert [
        calls(of(2)),
        calls(of(2)),
        calls(of(3)),
        calls(of(3), fingerprint="other"),
        calls(of(3), fingerprint="other"),
    ] == [2, 0, 2, 2, 0]


def test_where_the_time_is_up_what_is_written_is_shown_unchecked():
    engine = ScriptedEngine(drafts=["The plan costs 100 euros [1]."])
    options, deps = parts(engine, of(30))

    def expire(task):
        deps.cancel.deadline = 0.0 if len(asked_of(engine, "answer")) == 2 else deps.cancel.deadline

    engine.at = expire
    state = final_state(compiled("plain", options), deps, SUMMARISE)
    assert state["status"] == "partial" and "out of time" in state["reason"] and "100 euros" in state["generation"]


def test_where_the_model_finds_nothing_to_say_the_outline_is_shown():
    path, state, _ = run("plain", ScriptedEngine(drafts=[NOT_IN_PASSAGES]), of(2), SUMMARISE)
    assert path == "overview" and state["generation"] == "/notes/1.md: 4 passages [1]"
