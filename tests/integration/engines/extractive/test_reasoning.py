"""Several steps without a language model: which questions take them, which sentence leads on, and what comes next."""

from __future__ import annotations

import pytest
from support.fakes import passage
from support.fakes_index import remembering_minilm

from local_rag.core.documents import Catalog
from local_rag.core.generation import NOT_IN_PASSAGES, Attempt
from local_rag.engines.extractive.engine import ExtractiveEngine
from local_rag.engines.extractive.reasoning import complexity

pytestmark = pytest.mark.usefixtures("converted")


@pytest.fixture(scope="module")
def embedder():
    return remembering_minilm()


@pytest.mark.parametrize(
    ("question", "steps"),
    [
        ("What is the rent?", "single"),
        ("When does the lease end?", "single"),
        ("Where was the architect born who designed the tower of the old town hall?", "multi"),
        ("What is the capacity of the stadium that the football club of Lower Ashby plays in?", "multi"),
        ("Were Ada Lovelace and Mary Somerville both members of the same learned society?", "multi"),
        ("Which company was founded first, Acme Lamps or Borealis Light?", "multi"),
        ("", "single"),
    ],
)
def test_which_questions_take_several_steps(question, steps):
    assert complexity(question) == steps


def test_the_router_says_multi_only_where_it_is_on_offer(embedder):
    engine = ExtractiveEngine(embedder)
    question = "Where was the architect born who designed the tower of the old town hall?"
    assert engine.route(question, Catalog(1, 1, nearest=0.6)).complexity == "single"
    assert engine.route(question, Catalog(1, 1, nearest=0.6, multi=True)).complexity == "multi"


BRIDGE = "Where was the architect born who designed the tower of the town hall?"
FIRST = "The tower of the town hall was designed by the architect Edda Falk. It was finished in 1911."
SECOND = "Edda Falk was born in Skagen and died in 1940. She loved boats."


def test_the_next_query_asks_for_what_the_sentence_names(embedder):
    thought = ExtractiveEngine(embedder).reason(BRIDGE, [passage(1, FIRST)], [])
    assert thought.text == "The tower of the town hall was designed by the architect Edda Falk."
    assert thought.query == "Edda Falk born"
    assert not thought.done


def test_it_is_done_where_nothing_new_is_named_or_nothing_is_left_to_cover(embedder):
    engine = ExtractiveEngine(embedder)
    first = engine.reason(BRIDGE, [passage(1, FIRST), passage(2, SECOND)], [])
    second = engine.reason(BRIDGE, [passage(1, FIRST), passage(2, SECOND)], [first.text])
    assert second.done
    assert second.text != first.text
    assert engine.reason(BRIDGE, [], []).done


def test_a_sentence_is_thought_of_once(embedder):
    engine = ExtractiveEngine(embedder)
    documents, thoughts = [passage(1, FIRST), passage(2, SECOND)], []
    for _ in range(6):
        thought = engine.reason(BRIDGE, documents, thoughts)
        if not thought.text:
            break
        thoughts.append(thought.text)
    assert len(thoughts) == len(set(thoughts)) == 4
    assert thought.done


TOWER = "The tower of the town hall was designed by the architect Edda Falk."
NEXT = [
    # written, what the answer needs, what is searched for
    (TOWER, "yes", "Edda Falk born"),
    ("The tower of the town hall was designed by an architect.", "continue", ""),
    (f"{TOWER} Edda Falk was born in Skagen and died in 1940.", "no", ""),
]


@pytest.mark.parametrize(("written", "needed", "query"), NEXT)
def test_what_an_answer_needs_follows_from_the_words_that_nothing_covers(embedder, written, needed, query):
    need = ExtractiveEngine(embedder).needs_retrieval(BRIDGE, Catalog(), [passage(1, FIRST)], written)
    assert (need.retrieve, need.query) == (needed, query)
    assert need.why


def test_the_next_part_is_quoted_for_what_is_not_covered_yet(embedder):
    engine = ExtractiveEngine(embedder)
    for documents, part in (([passage(2, SECOND)], "Edda Falk was born in Skagen and died in 1940. [1]"),
                            ([passage(3, "The harbour has a crane.")], NOT_IN_PASSAGES)):  # fmt: skip
        deltas = engine.answer(BRIDGE, documents, Attempt(written=TOWER))
        assert "".join(delta.text for delta in deltas) == part
