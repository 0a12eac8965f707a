"""Which passages a prompt shows: what was read stays at the beginning, and marks point at the right passage."""

from itertools import combinations

import pytest
from support.fakes import FakeCorpus, FakeWeb, passage
from support.ollama_engine import QUESTION, answered, engine_on, grades, shown
from support.ollama_server import tokens

from local_rag.config.settings import Settings
from local_rag.core.protocols import Attempt
from local_rag.runtime.engine_choice import Choice
from local_rag.runtime.rag import Rag

GOOD = '{"s": "fully", "u": 5}'


def task(body):
    return body["messages"][-1]["content"].rpartition("\n\nTask: ")[2]


def asked(ollama, *replies, k):
    """The answer to the question, by Self-RAG over the scripted server."""
    ollama.script(*replies)
    corpus = FakeCorpus([passage(number, rank_score=1 / number) for number in range(1, 10)])
    with engine_on(ollama) as engine:
        rag = Rag(Settings.load(k=k, graph="self-rag"), corpus, Choice(engine))
        rag.web = FakeWeb(enabled=False)
        return rag.ask(QUESTION, record=False)


@pytest.mark.parametrize(
    ("letters", "cited", "counting", "last"),
    [
        ("yyyy", 4, "", 4),
        ("nyyy", 4, "passages 2, 3 and 4", 4),
        ("ynyn", 3, "passages 1 and 3", 3),
        ("nnny", 4, "passage 4", 4),
        ("ynnn", 1, "", 1),
        ("nynyyyyy", 4, "passages 2, 4, 5, 6, 7 and 8", 8),
    ],
)
def test_every_call_shares_system_passages_and_question_and_says_which_count(ollama, letters, cited, counting, last):
    reply = f"Passage {cited} says that the plan costs {cited}00 euros. [{cited}]"
    answer = asked(ollama, grades(letters), reply, GOOD, k=len(letters))
    assert answer.status == "grounded"
    assert [citation.source for citation in answer.citations] == [f"/notes/{cited}.md"]
    _, written, checked = ollama.chats
    assert shown(written) == shown(checked) == list(range(1, last + 1)), "those that were rejected behind are gone"
    named = f"only {counting}: the others were found irrelevant. " if counting else ""
    assert task(written).startswith(f"Use {named}Answer the question" if named else "Answer the question")
    assert task(checked).startswith(f"Go by {named}" if named else "Judge")
    assert f"1. Passage {cited} says that the plan costs {cited}00 euros. [{cited}]" in task(checked)
    whole = [tokens(ollama.render(body["messages"]).rpartition("\n\nQuestion:")[0]) for body in ollama.chats]
    for one, other in combinations(whole, 2):
        shared = min(len(one), len(other))
        assert one[:shared] == other[:shared], "nothing of the beginning is read again"


def test_a_mark_of_a_rejected_passage_cites_nothing(ollama):
    answer = asked(ollama, grades("nyyy"), "Passage 2 says that the plan costs 200 euros. [1, 2]", GOOD, k=4)
    assert answer.text == "Passage 2 says that the plan costs 200 euros. [1]"
    assert [citation.source for citation in answer.citations] == ["/notes/2.md"]


@pytest.mark.parametrize(
    ("said", "numbered"),
    [
        ("It costs 200 [2], 400 [4] or 600 euros [2, 4].", "It costs 200 [1], 400 [2] or 600 euros [1, 2]."),
        ("It costs 200 【2】 or x[4] euros [12] [1, 4], [ 2 ].", "It costs 200 [1] or x[2] euros [16] [5, 2], [ 2 ]."),
        ("It [costs] 200 [2 euros] 3] [[4]] [", "It [costs] 200 [2 euros] 3] [[2]] ["),
    ],
)
def test_marks_that_come_in_pieces_are_renumbered(ollama, engine, said, numbered):
    documents = [passage(number) for number in range(1, 5)]
    ollama.script(said)
    pieces, text = answered(engine, documents[1::2], Attempt(graded=tuple(documents)))
    assert text == numbered
    assert len(pieces) > 5, "it still comes word by word"


def test_other_passages_than_those_that_were_graded_are_shown_as_they_are(ollama, engine):
    documents = [passage(number) for number in range(1, 5)]
    answered(engine, [*documents[1:], passage(9)], Attempt(graded=tuple(documents)))
    answered(engine, documents[1:])
    assert [len(shown(body)) for body in ollama.chats] == [4, 3]
    assert not any(task(body).startswith("Use only") for body in ollama.chats)


def test_where_the_window_is_small_what_was_rejected_goes_first_and_in_silence(ollama):
    documents = [
        passage(number, f"Passage {number}. " + "The plan costs a few hundred euros. " * 22) for number in range(1, 5)
    ]
    with engine_on(ollama, num_ctx=1500) as engine:
        pieces, _ = answered(engine, documents[1:], Attempt(graded=tuple(documents)))
    assert shown(ollama.chats[0]) == [2, 3, 4]
    assert not pieces[-1].usage.notes
