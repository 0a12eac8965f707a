"""Short answers are compared by what they say, not by how they are written."""

from __future__ import annotations

import pytest

from local_rag.text.answer_values import ShortAnswer, compared, short_answer
from local_rag.text.fact_questions import asks_for_one_fact


def verdict(question, first, second):
    there = compared(question, ShortAnswer(first, first), ShortAnswer(second, second))
    back = compared(question, ShortAnswer(second, second), ShortAnswer(first, first))
    assert there == back, "the order does not matter"
    return there


@pytest.mark.parametrize(
    ("question", "first", "second"),
    [
        ("When?", "3 March 2021", "2021-03-03"),
        ("When?", "March 2021", "3 March 2021"),
        ("When?", "March 3, 2021", "Wednesday, 3 March"),
        ("When?", "03/04/2021", "4 March 2021"),
        ("When?", "03.04.2021", "3 April 2021"),
        ("When?", "the 1990s", "1994"),
        ("When?", "19th century", "1845"),
        ("When?", "Monday", "Monday, 3 May"),
        ("When?", "3 pm", "15:00"),
        ("When?", "9:40 p.m.", "21:40"),
        ("When?", "in 2020", "early 2020"),
        ("When?", "3. März 2021", "2021-03-03"),
        ("How much?", "EUR 1,200", "1.200 €"),
        ("How much?", "$4.98 million", "5 million dollars"),
        ("How much?", "about 500", "487"),
        ("How much?", "2.8 %", "3 percent"),
        ("How much?", "£6.50", "6.50 pounds"),
        ("How many?", "1.2 million", "1,234,567"),
        ("How many?", "three hundred and fifty", "350"),
        ("How many?", "twenty-five", "25 people"),
        ("How many?", "10 to 15", "12"),
        ("How long?", "12 months", "one year"),
        ("How long?", "one and a half years", "18 months"),
        ("How long?", "2 and a half hours", "2.5 h"),
        ("When?", "Thursdays", "on Thursday"),
        ("How tall?", "6 feet", "183 cm"),
        ("How heavy?", "15 kg", "33 lbs"),
        ("How large?", "30GB", "30 gigabytes"),
        ("Which version?", "v2", "2.4"),
        ("Which version?", "4.2", "v4.2.0"),
        ("Who?", "Dr. Jane A. Smith", "J. Smith"),
        ("Who?", "Jane Smith", "Smith"),
        ("Who?", "Jon Meyer", "John Meyer"),
        ("Who?", "the UN", "United Nations"),
        ("Who?", "Müller", "Mueller"),
        ("Where?", "Paris", "Paris, France"),
        ("What?", "organisation", "the Organization"),
        ("Who?", "Hartmann GmbH", "Hartmann"),
    ],
)
def test_harmless_differences_agree(question, first, second):
    assert verdict(question, first, second).same is True


@pytest.mark.parametrize(
    ("question", "first", "second", "kind"),
    [
        ("When?", "March 3, 2021", "March 4, 2021", "date"),
        ("When?", "4 June 1957", "4 June 1961", "date"),
        ("When?", "Monday", "Tuesday", "date"),
        ("When?", "3 pm", "14:30", "date"),
        ("In what year?", "1994", "1995", "date"),
        ("How much?", "300 euros", "350 euros", "amount"),
        ("How much?", "€300", "$300", "amount"),
        ("How much?", "500", "487", "amount"),
        ("How many?", "1.2 million", "1.3 million", "amount"),
        ("How many?", "12 members", "15 board members", "amount"),
        ("How long?", "three months", "4 weeks", "amount"),
        ("Where?", "12 Harbour Street", "14 Harbour Street", "amount"),
        ("Which version?", "3.1", "3.10", "version"),
        ("Which version?", "Python 3.11", "Python 3.12", "version"),
        ("Who?", "Anna Smith", "Peter Smith", "name"),
        ("Where?", "Paris", "Berlin", "name"),
        ("What colour?", "red", "blue", "words"),
    ],
)
def test_other_values_differ(question, first, second, kind):
    assert verdict(question, first, second) == (False, kind)


@pytest.mark.parametrize(
    ("question", "first", "second"),
    [
        ("How much?", "€300", "$350"),
        ("How much?", "6 apples", "5 pears"),
        ("Who?", "Jane Smith", "1994"),
        ("How long?", "30 days", "40 km"),
        ("When?", "Monday", "1994"),
    ],
)
def test_what_measures_something_else_is_not_compared(question, first, second):
    assert verdict(question, first, second).same is None


@pytest.mark.parametrize(
    ("text", "answer", "wide"),
    [
        ("pay within 30 days of the bill", "30", "30 days"),
        ("The rent is EUR 1,200 a month", "1,200", "EUR 1,200 a"),
        ("it costs about $300 in all", "300", "about $300 in"),
        ("five million people live here", "five", "five million people"),
        ("Anna came, and Peter left", "Anna", "Anna"),
    ],
)
def test_an_answer_has_its_unit_from_the_passage(text, answer, wide):
    start = text.index(answer)
    assert short_answer(text, start, start + len(answer)) == (answer, wide)


@pytest.mark.parametrize(
    "question",
    [
        "Who is the captain?",
        "When does the train leave?",
        "How many seats does the hall have?",
        "What is the notice period in the contract?",
        "In which city are the headquarters?",
        "Which company supplies the ovens?",
        "How high is the tower?",
        "What species is it?",
    ],
)
def test_questions_for_one_fact(question):
    assert asks_for_one_fact(question)


@pytest.mark.parametrize(
    "question",
    [
        "Is the contract signed?",
        "Why did the pump fail?",
        "How does a valve work?",
        "Which countries signed it?",
        "What are the parts of a pump?",
        "Who were the founders?",
        "What is a compiler?",
        "What does isobaric mean?",
        "Who is the captain and when did he sail?",
        "Name an example of a metal.",
        "Tell me about the harbour.",
        "What type of graph is an example of an output?",
    ],
)
def test_questions_with_several_answers_or_none(question):
    assert not asks_for_one_fact(question)
