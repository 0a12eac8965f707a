"""Short answers are compared by what they say, not by how they are written."""

from __future__ import annotations

import pytest

from local_rag.text.answer_values import same, value_of


def value(text):
    start = text.index("<")
    return value_of(text.replace("<", "").replace(">", ""), start, text.index(">") - 1)


@pytest.mark.parametrize(
    ("first", "second", "verdict"),
    [
        ("<3 March 2021>", "<2021-03-03>", True),
        ("<March 2021>", "<3 March 2021>", True),
        ("<March 3, 2021>", "on <3. März 2021>", True),
        ("on <03.04.2021>", "<3 April 2021>", True),
        ("in <2020>", "early <May 2020>", True),
        ("<4 June 1957>", "<4 June 1961>", False),
        ("<1994>", "<1995>", False),
        ("at <9:40> p.m.", "at <21:40>", True),
        ("at <3 pm>", "at <14:30>", False),
        ("EUR <1,200>", "<1.200 €>", True),
        ("<three hundred and fifty>", "<350>", True),
        ("<a dozen> eggs", "<12> eggs", True),
        ("within <30> days", "within <40> days", False),
        ("<300> euros", "<350 euros>", False),
        ("12,<480> people", "<12,500> people", None),
        ("<24 months>", "<two years>", None),
        ("<€300>", "<$300>", None),
        ("<5 %>", "<5>", None),
        ("version <4.2>", "<4.2.0>", None),
        ("<3.1.4>", "<3.10.2>", False),
        ("<Jane Smith>", "<Smith>", True),
        ("<Jane Smith>", "<J. Smith>", None),
        ("<Müller>", "<Mueller>", None),
        ("the <UN>", "the <United Nations>", None),
        ("<Anna Brook>", "<Peter Hartmann>", False),
        ("<Paris>", "<1994>", None),
    ],
)
def test_two_answers_say_the_same_or_not_or_it_is_not_certain(first, second, verdict):
    assert same(value(first), value(second)) is same(value(second), value(first)) is verdict


def test_words_that_are_no_name_and_several_numbers_have_no_value():
    assert value("It is painted <red>.") is None
    assert value("From <10 to 15> people came.") is None
