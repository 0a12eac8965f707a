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
from local_rag.core import question_memory
from local_rag.core.events import Done
from local_rag.core.generation import Attempt
from local_rag.core.question_memory import QuestionMemory
from local_rag.engines.language_model.prompt_layout import Layouts, Renumbering
from local_rag.runtime.engine_choice import Choice
from local_rag.runtime.rag import Rag
from local_rag.text.marks import marks

GOOD = '{"s": "fully", "u": 5}'


def shown(body):
    """The numbers of the passages in a prompt, and their texts."""
    content = body["messages"][-1]["content"]
    return [int(one) for one in re.findall(r'<passage n="(\d+)"', content)], re.findall(r">\n(.*)\n</passage>", content)


def task(body):
    return body["messages"][-1]["content"].rpartition("\n\nTask: ")[2]


def common(server, one, other):
    """(tokens that two prompts share at their beginning, tokens of the first without its task)."""
    mine, its = (tokens(server.render(body["messages"])) for body in (one, other))
    same = next((place for place, pair in enumerate(zip(mine, its, strict=False)) if pair[0] != pair[1]), len(mine))
    return same, len(tokens(server.render(one["messages"]).rpartition("\n\nTask:")[0]))


def words(letters):
    return json.dumps({"r": " ".join({"y": "yes", "n": "no"}[letter] for letter in letters)})


def asked(ollama, replies, *, k=4, thread=None, questions=(QUESTION,), corpus=None, **settings):
    """The answers to some questions, by Self-RAG over the scripted server."""
    ollama.script(*replies)
    with engine_on(ollama, **settings) as engine:
        rag = Rag(Settings.load(k=k, graph="self-rag"), corpus or Corpus(), Choice(engine))
        rag.web = FakeWeb(enabled=False)
        found = []
        for question in questions:
            *_, last = rag.stream(question, thread=thread)
            assert isinstance(last, Done)
            found.append(last.answer)
        rag.threads.close()
    return found


class Corpus(FakeCorpus):
    def __init__(self, count=9):
        super().__init__([passage(number, rank_score=1 / number) for number in range(1, count + 1)])

    def close(self):
        pass


# --- within a question ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("letters", ["yyyy", "nyyy", "ynyy", "yynyyyyy", "nynyyyyy"])
def test_every_call_of_a_question_shares_system_passages_and_question(ollama, letters):
    answer = "Passage 4 says that the plan costs 400 euros. [4]"
    (found,) = asked(ollama, [words(letters), answer, GOOD], k=len(letters))
    assert found.status == "grounded"
    assert [citation.source for citation in found.citations] == ["/notes/4.md"]
    for one, other in combinations(ollama.chats, 2):
        same, opening = common(ollama, one, other)
        assert same >= opening, "nothing of the beginning is read again"


def test_what_was_rejected_before_is_named_and_what_was_rejected_behind_is_gone(ollama):
    asked(ollama, [words("nyyn"), "Passage 2 says that the plan costs 200 euros. [2]", GOOD])
    _, answer, check = ollama.chats
    assert shown(answer)[0] == shown(check)[0] == [1, 2, 3]
    assert task(answer).startswith("Use only passages 2 and 3: the others were found irrelevant. Answer the question")
    assert "like [2]." in task(answer), "the example is one that may be cited"
    assert task(check).startswith("Go by only passages 2 and 3: ")
    assert "1. Passage 2 says that the plan costs 200 euros. [2]" in task(check)


@pytest.mark.parametrize(("letters", "kept"), [("nnny", [4]), ("nnyy", [3, 4]), ("nyny", [2, 4]), ("ynnn", [1])])
def test_no_more_is_shown_in_vain_than_it_saves(ollama, letters, kept):
    """As many passages shown as saved are not worth it: they only distract."""
    answer = f"Passage {kept[0]} says that the plan costs {kept[0]}00 euros. [1]"
    (found,) = asked(ollama, [words(letters), answer, GOOD])
    assert [citation.source for citation in found.citations] == [f"/notes/{kept[0]}.md"]
    _, texts = shown(ollama.chats[1])
    assert [text[:10] for text in texts] == [f"Passage {number} " for number in kept]
    assert shown(ollama.chats[1])[0] == list(range(1, len(kept) + 1))
    assert task(ollama.chats[1]).startswith("Answer the question")


def test_a_mark_of_a_rejected_passage_is_dropped(ollama):
    (found,) = asked(ollama, [words("nyyy"), "The plan costs 100 euros. [1]", '{"s": "no", "u": 1}'] * 3)
    assert not [citation for citation in found.citations if citation.source == "/notes/1.md"]
    (once,) = asked(ollama, [words("nyyy"), "Passage 2 says that the plan costs 200 euros. [1, 2]", GOOD])
    assert [citation.source for citation in once.citations] == ["/notes/2.md"]
    assert once.text == "Passage 2 says that the plan costs 200 euros. [1]"


def test_a_mark_that_comes_in_pieces_is_renumbered(ollama):
    documents = [passage(number) for number in range(1, 5)]
    ollama.script(words("nyyy"), "It costs 200 [2], 300 [3] or 400 euros [2, 4].")
    with engine_on(ollama) as engine, question_memory.scope(QuestionMemory()):
        engine.relevance(QUESTION, documents)
        pieces, text = answered(engine, documents[1:])
    assert text == "It costs 200 [1], 300 [2] or 400 euros [1, 3]."
    assert len(pieces) > 5, "it still comes word by word"


def test_another_question_or_other_passages_are_shown_as_they_are(ollama):
    documents = [passage(number) for number in range(1, 5)]
    ollama.script(words("nyyy"))
    with engine_on(ollama) as engine:
        with question_memory.scope(QuestionMemory()):
            engine.relevance(QUESTION, documents)
            answered(engine, documents[:0:-1])
            answered(engine, [*documents[1:], passage(9)])
            list(engine.answer("What is new?", documents[1:], Attempt()))
        with question_memory.scope(QuestionMemory()):
            answered(engine, documents[1:])
    first, *others = (len(shown(body)[0]) for body in ollama.chats)
    assert (first, others) == (4, [3, 4, 3, 3])
    assert not any(task(body).startswith("Use only") for body in ollama.chats)


def test_where_the_window_is_small_what_was_rejected_goes_first_and_in_silence(ollama):
    documents = [passage(number, f"Passage {number}. " + "The plan costs a few hundred euros. " * 22)
                 for number in range(1, 5)]  # fmt: skip
    ollama.script(words("nyyy"))
    with engine_on(ollama, num_ctx=1500) as engine, question_memory.scope(QuestionMemory()):
        engine.relevance(QUESTION, documents)
        pieces, _ = answered(engine, documents[1:])
    assert 1 not in shown(ollama.chats[-1])[0] and 2 in shown(ollama.chats[-1])[0]
    assert task(ollama.chats[-1]).startswith("Answer the question"), "nothing that does not count is shown"
    gone = 3 - len(shown(ollama.chats[-1])[0])
    assert bool(pieces[-1].usage.notes) == bool(gone)


def test_the_lowest_ranked_waits_for_another_call_wherever_it_stands(ollama):
    documents = [passage(number, f"Plan {number}. " + "It costs a few hundred euros. " * 33, rank_score=rank)
                 for number, rank in ((1, 0.1), (2, 0.3), (3, 0.2))]  # fmt: skip
    with engine_on(ollama, num_ctx=900) as engine:
        engine.relevance(QUESTION, documents)
    order = [number for body in ollama.chats for number in re.findall(r"Plan (\d)\.", body["messages"][1]["content"])]
    assert (order[0], order[-1]) == ("2", "1")


def test_what_was_rejected_at_the_end_ends_the_common_beginning_and_costs_nothing(ollama):
    asked(ollama, [words("yyyn"), "Passage 3 says that the plan costs 300 euros. [3]", GOOD])
    grade, answer, check = ollama.chats
    assert shown(answer)[0] == shown(check)[0] == [1, 2, 3]
    until = ollama.render(grade["messages"]).partition('\n\n<passage n="4"')[0]
    assert common(ollama, grade, answer)[0] >= len(tokens(until))
    same, opening = common(ollama, answer, check)
    assert same >= opening


# --- in a chat --------------------------------------------------------------------------------------------------------


class Turning(Corpus):
    """Ranks its passages the other way round in every other search."""

    def search(self, query, k, *, within=(), exclude=()):
        found = super().search(query, k, within=within, exclude=exclude)
        return found[::-1] if len(self.queries) % 2 == 0 else found


def test_a_second_question_of_a_chat_shares_the_passages(ollama):
    follow = "What does the plan cost in passage 2?"
    asked(
        ollama,
        [words("yyyy"), "Passage 1 says that the plan costs 100 euros. [1]", GOOD,
         follow, words("yyyy"), "Passage 2 says that the plan costs 200 euros. [2]", GOOD],
        thread="plan", questions=[QUESTION, "And in passage 2?"], corpus=Turning(4),
    )  # fmt: skip
    first, second = ollama.chats[2], ollama.chats[4]
    assert shown(first) == shown(second)
    same, _ = common(ollama, first, second)
    passages = ollama.render(first["messages"]).partition("\n\nQuestion: ")[0]
    assert same >= len(tokens(passages)), "system message and passages are read once for both"


def test_a_new_passage_comes_behind_those_that_were_shown(ollama):
    class Growing(Corpus):
        def search(self, query, k, *, within=(), exclude=()):
            found = super().search(query, 4, within=within, exclude=exclude)
            return [found[3], *found[:2]] if len(self.queries) > 1 else found[:3]

    answers = asked(
        ollama,
        [words("yyy"), "Passage 1 says that the plan costs 100 euros. [1]", GOOD,
         "What does plan 4 cost?", words("yyy"), "Passage 4 says that the plan costs 400 euros. [3]", GOOD],
        thread="grows", questions=[QUESTION, "And plan 4?"], corpus=Growing(),
    )  # fmt: skip
    _, texts = shown(ollama.chats[4])
    assert [text[:9] for text in texts] == ["Passage 1", "Passage 2", "Passage 4"]
    assert [citation.source for citation in answers[1].citations] == ["/notes/4.md"]


# --- numbers, whatever the list ---------------------------------------------------------------------------------------

LISTS = st.lists(st.booleans(), min_size=1, max_size=8).filter(any)


@given(LISTS, st.data())
def test_a_mark_means_the_same_passage_on_both_sides(kept, data):
    graded = [passage(number, "word " * data.draw(st.integers(1, 30))) for number in range(1, len(kept) + 1)]
    documents = [document for document, keep in zip(graded, kept, strict=True) if keep]
    layouts = Layouts()
    layouts.graded(QUESTION, graded, [place for place, keep in enumerate(kept) if not keep])
    layout = layouts.of(QUESTION, documents)
    assert [layout.shown[place] for place in layout.used] == documents
    assert sorted(layout.order) == list(range(len(layout.shown)))
    numbers = data.draw(st.lists(st.integers(1, len(documents)), min_size=1, max_size=4))
    text = " ".join(f"It is so [{number}]." for number in numbers)
    theirs = layout.theirs(text)
    meant = [layout.shown[number - 1] for _, cited in marks(theirs) for number in cited]
    assert meant == [documents[number - 1] for number in numbers]
    assert layout.ours(theirs) == text
    cuts = sorted(data.draw(st.sets(st.integers(1, len(theirs) - 1), max_size=12)))
    ours = Renumbering(layout)
    pieces = [theirs[start:end] for start, end in zip([0, *cuts], [*cuts, len(theirs)], strict=True)]
    assert "".join(map(ours.feed, pieces)) + ours.end() == text


@given(LISTS, st.integers(0, 99))
def test_a_number_that_does_not_count_names_no_passage(kept, number):
    graded = [passage(one, "word " * 9) for one in range(1, len(kept) + 1)]
    documents = [document for document, keep in zip(graded, kept, strict=True) if keep]
    layouts = Layouts()
    layouts.graded(QUESTION, graded, [place for place, keep in enumerate(kept) if not keep])
    layout = layouts.of(QUESTION, documents)
    ((_, (ours,)),) = marks(layout.ours(f"It is so [{number}]."))
    counts = number - 1 in layout.used
    assert (1 <= ours <= len(documents)) == counts


def test_an_index_of_code_is_no_mark():
    graded = [passage(1), passage(2, "The first is x[1] of the list."), passage(3), passage(4)]
    layouts = Layouts()
    layouts.graded(QUESTION, graded, [0])
    layout = layouts.of(QUESTION, graded[1:])
    ours = Renumbering(layout)
    pieces = ["The first is x", "[1", "] of", " the list", " [2]."]
    assert "".join(map(ours.feed, pieces)) + ours.end() == "The first is x[1] of the list [1]."


def test_a_list_is_known_for_its_own_question_and_by_chunk_ids():
    layouts, documents = Layouts(), [passage(number) for number in range(1, 5)]
    layouts.graded(QUESTION, documents, [0])
    again = [passage(number) for number in range(2, 5)]
    assert layouts.of(QUESTION, again).shown == tuple(documents), "other objects, the same passages"
    assert len(layouts.of("Another?", again).shown) == 3
    shortened = [passage(2, "Passage 2."), *again[1:]]
    assert layouts.of(QUESTION, shortened).shown == tuple(shortened)
    unnamed = [passage(number, chunk_id="") for number in range(1, 5)]
    layouts.graded(QUESTION, unnamed, [0])
    assert len(layouts.of(QUESTION, unnamed[1:]).shown) == 3, "without an id nothing is known of a passage"


def test_nothing_but_what_this_run_rejected_is_shown_besides():
    graded = [passage(number, f"Words of number {number}. " * 9) for number in range(1, 5)]
    layouts = Layouts()
    layouts.graded(QUESTION, graded, [0])
    assert layouts.of(QUESTION, graded[1:]).spare == 1
    assert layouts.of(QUESTION, graded[2:]).spare == 0  # the second one was kept: a draft over some of them
    layouts.graded(QUESTION, [passage(9, graded[1].page_content), *graded[1:]], [0])
    assert layouts.of(QUESTION, graded[1:]).spare == 0  # a copy that the prompt would point at


def test_a_reference_in_a_passage_is_no_reason_to_leave_a_mark_alone():
    graded = [passage(1, "Words. " * 9), passage(2, "It was found by Smith [3]."), *map(passage, (3, 4))]
    layouts = Layouts()
    layouts.graded(QUESTION, graded, [0])
    layout = layouts.of(QUESTION, graded[1:])
    assert layout.ours("It was found by Smith [3].") == ("It was found by Smith [2]." if layout.spare else "")
