"""Training examples: what is read from the question sets, and what is made of it."""

from __future__ import annotations

import json
import random
import sys
from dataclasses import replace

from support import CHECKOUT

sys.path.append(str(CHECKOUT / "scripts"))

from evaluator_training import negatives, passages
from evaluator_training.examples import (
    ABOUT,
    PRESENT,
    UNSURE,
    Example,
    Pair,
    absent,
    pairs,
    reader,
    shortened,
    squad,
)

TEXT = "The lamp of Skerry Light was lit in 1871 by Ada Moren. It burned whale oil. The keeper wrote the times down."
START = TEXT.index("Ada Moren")
ANSWERED = Example("Who lit the lamp of Skerry Light in 1871?", TEXT, "Skerry Light", START, START + 9, (0, 0, 1))


def lines(file, *rows):
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return file


def test_squad_gives_spans_and_unanswerable_questions(tmp_path):
    answer = {"text": "Ada Moren", "answer_start": START}
    questions = [
        {"question": "Who lit it?", "answers": [answer], "is_impossible": False},
        {"question": "Who broke it?", "answers": [], "is_impossible": True},
        {"question": "Whose offset is wrong?", "answers": [{"text": "Ada Moren", "answer_start": 3}]},
    ]
    paragraph = {"context": TEXT, "qas": questions}
    data = {"data": [{"title": "Skerry_Light", "paragraphs": [paragraph]}, {"title": "_untitled", "paragraphs": []}]}
    file = tmp_path / "train.json"
    file.write_text(json.dumps(data), encoding="utf-8")
    first, second = squad(file)
    assert (first.answer, first.title, first.relevance[PRESENT]) == ("Ada Moren", "Skerry Light", 1)
    assert (second.answer, second.relevance[ABOUT]) == ("", 1)


def test_a_question_without_a_literal_answer_teaches_no_span(tmp_path):
    file = lines(tmp_path / "data.jsonl", {"question": "Why?", "context": TEXT, "answers": [], "is_impossible": False})
    [example] = reader(file)
    assert example.present and not example.spans


def test_of_one_context_so_many_questions_are_taken(tmp_path):
    rows = [{"question": f"Which {n}?", "context": TEXT, "answers": [], "is_impossible": True} for n in range(9)]
    assert len(list(reader(lines(tmp_path / "data.jsonl", *rows), most=4))) == 4


def test_only_entailment_is_support_and_the_text_is_written_as_people_write(tmp_path):
    rows = [
        {"premise": "It burned oil , not coal .", "hypothesis": "It did n't burn coal .", "label": "entailment"},
        {"premise": "It burned oil .", "hypothesis": "It burned coal .", "label": "neutral"},
    ]
    assert list(pairs(lines(tmp_path / "pairs.jsonl", *rows))) == [
        Pair("It didn't burn coal.", "It burned oil, not coal.", 1),
        Pair("It burned coal.", "It burned oil.", 0),
    ]


def test_shortened_keeps_the_answer_where_it_stands():
    start = TEXT.index("by Ada")
    assert shortened(ANSWERED, start, len(TEXT)).answer == "Ada Moren"


def test_a_neighbour_shares_rare_words_and_is_not_about_something_else():
    other = ("Fog Horn", "The lamp of the fog horn was lit by nobody; Skerry folk lit candles.")
    fillers = [(f"T{n}", f"Words number {n} of filler text without any matter at all.") for n in range(80)]
    pool = [("Skerry Light", TEXT), other, *fillers]
    [made] = negatives.wrong_passages([ANSWERED], negatives.Neighbours(pool), random.Random(1), near=1, far=0)
    assert (made.text, made.relevance, made.answer) == (other[1], UNSURE, "")


def test_a_question_is_turned_unanswerable_by_rule():
    made = {
        made.question
        for seed in range(60)
        if (made := negatives.unanswerable(ANSWERED, random.Random(seed), ["Robert Flint", "Hollow Point"]))
    }
    assert ANSWERED.question not in made
    assert any("Skerry Light" not in question and "1871" in question for question in made), made
    assert any("Skerry Light" in question and "1871" not in question for question in made), made


def test_an_opposite_takes_the_place_of_a_word():
    first = replace(ANSWERED, question="who wrote the first book?", title="")
    made = {negatives.unanswerable(first, random.Random(seed), []) for seed in range(20)}
    assert "who wrote the last book?" in {example.question for example in made if example}


def test_statements_are_supported_by_their_own_answer_alone():
    other = replace(ANSWERED, text=TEXT.replace("whale oil", "the oil of Peter Gale"))
    made = [pair for seed in range(20) for pair in negatives.answers_as_statements([other], random.Random(seed))]
    assert {pair.supported for pair in made} == {0, 1}
    assert all(("Ada Moren" in pair.statement) == bool(pair.supported) for pair in made)


def test_cropping_keeps_answer_and_header_gives_no_class_away():
    for seed in range(20):
        assert passages.cropped(ANSWERED, random.Random(seed), 1.0).answer == "Ada Moren"
    untitled = absent("Who broke it?", TEXT, "")
    assert passages.with_header(untitled, random.Random(1), 1.0).title
    assert passages.with_header(ANSWERED, random.Random(1), 0.0).title == ""


def test_without_the_sentence_of_its_answer_a_passage_is_about_the_matter_alone():
    made = [passages.without_answer(ANSWERED, random.Random(seed)) for seed in range(10)]
    assert any(made)
    for example in filter(None, made):
        assert example.relevance[ABOUT] == 1 and example.start < 0
        assert example.text == "It burned whale oil. The keeper wrote the times down."
    twice = replace(ANSWERED, text=f"{TEXT} Ada Moren died there.")
    assert passages.without_answer(twice, random.Random(1)) is None
