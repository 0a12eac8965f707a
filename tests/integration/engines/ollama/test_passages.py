"""Which passages a prompt shows: what was read stays at the beginning, and marks point at the right passage."""

from __future__ import annotations

import json
import re
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.fakes import FakeCorpus, FakeWeb, passage
from support.ollama_engine import QUESTION, answered, engine_on
from support.ollama_server import tokens

from local_rag.config.settings import Settings
from local_rag.core.protocols import Attempt
from local_rag.engines.language_model.passages import Passages
from local_rag.runtime.engine_choice import Choice
from local_rag.runtime.rag import Rag
from local_rag.text.marks import marks

GOOD = '{"s": "fully", "u": 5}'


def shown(body):
    """The numbers of the passages in a prompt."""
    return [int(one) for one in re.findall(r'<passage n="(\d+)"', body["messages"][-1]["content"])]


def task(body):
    return body["messages"][-1]["content"].rpartition("\n\nTask: ")[2]


def words(letters):
    return json.dumps({"r": " ".join({"y": "yes", "n": "no"}[letter] for letter in letters)})


def asked(ollama, *replies, k):
    """The answer to the question, by Self-RAG over the scripted server."""
    ollama.script(*replies)
    corpus = FakeCorpus([passage(number, rank_score=1 / number) for number in range(1, 10)])
    with engine_on(ollama) as engine:
        rag = Rag(Settings.load(k=k, graph="self-rag"), corpus, Choice(engine))
        rag.web = FakeWeb(enabled=False)
        return rag.ask(QUESTION)


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
    answer = asked(ollama, words(letters), reply, GOOD, k=len(letters))
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
    answer = asked(ollama, words("nyyy"), "Passage 2 says that the plan costs 200 euros. [1, 2]", GOOD, k=4)
    assert answer.text == "Passage 2 says that the plan costs 200 euros. [1]"
    assert [citation.source for citation in answer.citations] == ["/notes/2.md"]


def test_a_mark_that_comes_in_pieces_is_renumbered(ollama, engine):
    documents = [passage(number) for number in range(1, 5)]
    ollama.script("It costs 200 [2], 300 [3] or 400 euros [2, 4].")
    pieces, text = answered(engine, documents[1:], Attempt(graded=tuple(documents)))
    assert text == "It costs 200 [1], 300 [2] or 400 euros [1, 3]."
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


parts = st.sampled_from(["It costs", " ", "[2]", "[1, 3]", "[", "]", "3", ", ", "【2】", ".\n", "x[", "[4]", "[12"])


@given(st.lists(parts, max_size=12).map("".join), st.lists(st.integers(0, 60), max_size=8))
def test_however_an_answer_is_split_its_marks_are_the_same(text, cuts):
    passages = Passages(tuple(passage(number) for number in range(1, 5)), (2, 4))
    places = sorted({min(cut, len(text)) for cut in cuts})
    bits = [text[start:end] for start, end in zip([0, *places], [*places, len(text)], strict=True)]
    assert "".join(passages.renumbered_stream(iter(bits))) == passages.renumbered(text)
    own = {2: 1, 4: 2}
    before = [own.get(number, 4 + number) for _, cited in marks(text) for number in cited]
    assert [number for _, cited in marks(passages.renumbered(text)) for number in cited] == before
