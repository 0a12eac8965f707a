"""Minimal pairs: what the evaluator reads differs where one word of question, statement or passage does."""

from __future__ import annotations

from statistics import mean

import pytest
from support.shipped_evaluator import document, shipped_evaluator

pytestmark = pytest.mark.usefixtures("converted")

LIGHTHOUSE = "The lighthouse of Harnow was built in 1884 by Mara Lindqvist."
MILL = "In 1921 Ida Brandt sold the mill to Jonas Weber for 4,000 marks."
COMPANY = "In 2019 the company earned 4.2 million euros. In the following year it opened a second plant in Lund."
TREATY = "The treaty was signed by Norway, Chile and Japan in 1998."
DRUG = "Amlodipine lowers blood pressure by relaxing the vessels."

ABSENT = [
    ("When was the lighthouse of Harnow built?", LIGHTHOUSE, "The lighthouse of Harnow is 30 metres high, of granite."),
    ("Who sold the mill?", MILL, "The mill has two wheels and stands at the end of the village."),
    ("What did the company earn in 2019?", COMPANY, "In 2019 the company moved to Lund, where it has two plants."),
    ("What is the notice period?", "The notice period is three months.", "The rent is 900 euros, due on the third."),
]
"""Question, passage with the answer, passage on the same matter without it."""

YEARS = [
    (COMPANY, "How much did the company earn in 2019?", "How much did the company earn in 2016?"),
    (MILL, "Who sold the mill in 1921?", "Who sold the mill in 1953?"),
    (TREATY, "Who signed the treaty in 1998?", "Who signed the treaty in 2004?"),
]
"""Passage, question that it answers, the same about another year."""

ROLES = [
    (MILL, "Who sold the mill to Jonas Weber?", "Who sold the mill to Ida Brandt?"),
    ("Anna taught Bert to sail in Oslo.", "Who taught Bert to sail?", "Who taught Anna to sail?"),
    (
        "The Vikings defeated the Danes in 950.",
        "Who defeated the Danes?",
        "Who defeated the Vikings?",
    ),
]
"""Passage, question that it answers, the same with the roles exchanged."""

DENIED = [
    (TREATY, "Which countries signed the treaty?", "Which countries never signed the treaty?"),
    (DRUG, "Which drug lowers blood pressure?", "Which drug does not lower blood pressure?"),
    ("Anna and Bert attended the meeting.", "Who attended the meeting?", "Who did not attend the meeting?"),
]
"""Passage, question that it answers, the same denied."""

STATEMENTS = [
    (LIGHTHOUSE, "Mara Lindqvist built the lighthouse.", "Jonas Weber built the lighthouse."),
    (MILL, "Ida Brandt sold the mill.", "Jonas Weber sold the mill."),
    (COMPANY, "The company earned 4.2 million euros in 2019.", "The company earned 7.9 million euros in 2019."),
    (TREATY, "Norway signed the treaty.", "Norway did not sign the treaty."),
]
"""Passage, statement that it supports, one that it does not."""


def margin(pairs):
    """Mean difference of the logits of the best spans: (question, passage) that is answered, and that is not."""
    evaluator = shipped_evaluator()
    logits = [
        [evaluator.read(question, [document(text)])[0].spans[0].logit for question, text in pair] for pair in pairs
    ]
    return mean(answered - other for answered, other in logits)


def test_the_right_matter_without_the_answer():
    assert margin([((question, given), (question, absent)) for question, given, absent in ABSENT]) > 4


@pytest.mark.parametrize(("pairs", "least"), [(YEARS, 2), (ROLES, 0), (DENIED, 0)], ids=["year", "roles", "denial"])
def test_a_question_that_the_passage_does_not_answer(pairs, least):
    assert margin([((question, text), (other, text)) for text, question, other in pairs]) > least


def test_something_else_is_neither_about_the_matter_nor_an_answer():
    evaluator = shipped_evaluator()
    for question, given, absent in ABSENT:
        right, other = evaluator.read(question, [document(given), document(DRUG)])
        assert right.answerable > 0.5 > 0.2 > other.answerable and other.other > 0.5 > right.other
        assert evaluator.read(question, [document(absent)])[0].answerable < right.answerable


def test_a_statement_that_the_passage_supports():
    evaluator = shipped_evaluator()
    chances = [evaluator.supports([(given, text), (other, text), (given, DRUG)]) for text, given, other in STATEMENTS]
    assert mean(given - other for given, other, _ in chances) > 0.2
    assert mean(given - other for given, _, other in chances) > 0.3
