"""What kind a question is of, how many steps it takes, and what a follow-up is about."""

from __future__ import annotations

import pytest
from support.fakes import passage

from local_rag.core.protocols import Turn
from local_rag.engines.evaluator.verdicts import question_to_read
from local_rag.engines.extractive.questions import asked_number, complexity, kind_of, sides, standalone


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("When did the office open?", "fact"),
        ("Until when is the office open?", "fact"),
        ("Who led the office when it opened?", "fact"),
        ("What is the grand total of the bill?", "fact"),
        ("How many mills are there?", "fact"),
        ("Where is my home?", "fact"),
        ("Why was the mill built?", "several"),
        ("How was the mill built?", "several"),
        ("Name the mill's builders", "items"),
        ("Which books did I read in 2024?", "items"),
        ("Who are the members of the club?", "items"),
        ("What are the opening hours?", "items"),
        ("Who was the builder?", "fact"),
        ("What is the post Slow Bread about?", "whole"),
        ("Summarise the letter.", "whole"),
        ("What is the difference between a mill and a bakery?", "whole"),
        ("What does the valve do when it is cold?", "open"),
        ("What is the name of my computer?", "open"),
        ("What is the name?", "open"),
        ("high costs", "open"),
        ("Hello World: what does it print?", "open"),
        ("How are greetings encoded?", "several"),
        ("", "open"),
        ("Hello, how are you today?", "small talk"),
        ("good morning", "small talk"),
        ("Thank you!", "small talk"),
        ("What is your name?", "small talk"),
        ("Tell me a joke.", "small talk"),
        ("I had a bad day.", "small talk"),
    ],
)
def test_kind(question, kind):
    assert kind_of(question) == kind


@pytest.mark.parametrize(
    ("question", "each"),
    [
        ("What is the difference between a mill and a bakery?", ["a mill", "a bakery"]),
        ("Compare white-box and black-box attacks.", ["white-box attacks", "black-box attacks"]),
        ("Compare the rents of the flats in Elm Street and Mill Lane.",
         ["rents of the flats in Elm Street", "rents of the flats in Mill Lane"]),
        ("How did the balance of the club change between May and June 2024?",
         ["the balance of the club in May 2024", "the balance of the club in June 2024"]),
        ("What covers the differences between mills and bakeries, such as what mill?", []),
        ("Who owns the mill and the bakery?", []),
    ],
)  # fmt: skip
def test_a_comparison_asks_for_each_of_its_sides(question, each):
    assert [asked.split(" ", 2)[2] for _, asked in sides(question)] == [f"{side}?" for side in each]


def test_a_text_may_say_how_many_things_it_names():
    assert (asked_number("We present five approaches."), asked_number("It has 4 stages:")) == (5, 4)
    assert asked_number("What are the types of mill?") == asked_number("built in 1911, of stone") == 0


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
def test_steps(question, steps):
    assert complexity(question) == steps


BORN = Turn("Where was Nikola Tesla born?", "In Smiljan.")


@pytest.mark.parametrize(
    ("follow_up", "added", "history"),
    [
        ("And when did he die?", " (Nikola Tesla born)", [Turn("What is a pump?", "It moves water."), BORN]),
        ("Why?", " (Nikola Tesla born)", [BORN]),
        ("Was it abroad?", " (Nikola Tesla born)", [BORN]),
        ("How long?", " (Nikola Tesla born)", [BORN]),
        ("Who was his mother?", " (Nikola Tesla born)", [BORN, Turn("And when?", "In 1856.")]),
        ("When did Edison finish his first lamp?", "", [BORN]),
        ("What is a marmot that lives in the Alps?", "", [BORN]),
        ("What is ReAct?", "", [BORN]),
        ("What is the rent?", "", [BORN]),
    ],
)
def test_a_follow_up_takes_the_words_of_the_question_that_stands_alone(follow_up, added, history):
    assert standalone(follow_up, history) == follow_up + added


def test_what_somebody_says_is_asked_of_the_texts_that_name_them():
    asked = "What does Ada Lovelace say about engines?"
    assert question_to_read(asked, [passage(1, "Author: Ada Lovelace")]) == "What about engines?"
    assert question_to_read(asked, [passage(1, "Author: Grace Hopper")]) == asked
    assert question_to_read("What is an engine?", [passage(1, "Ada Lovelace")]) == "What is an engine?"
