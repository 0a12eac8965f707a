"""The queue: questions of people in their order, and the cases of an evaluation while nobody has one."""

from __future__ import annotations

import threading

import pytest

from local_rag.core.cancel import Cancel, scope
from local_rag.core.errors import Stopped
from local_rag.server.questions import Question, Questions


@pytest.fixture
def questions():
    return Questions(waiting=8)


def entered(questions, text="Why?"):
    question = Question(text, "cookie")
    questions.enter(question)
    return question


def test_a_question_waits_for_the_case_that_is_asked_and_goes_before_the_next_one(questions):
    began = threading.Event()

    def next_case():
        with questions.evaluating():
            began.set()

    with questions.evaluating():
        first, second = entered(questions), entered(questions)
        turns = questions.turn(first)
        assert next(turns) == 1
        assert [position for position, _ in questions.positions()] == [1, 2] and not first.begun
        case = threading.Thread(target=next_case)
        case.start()
    assert [*turns] == [] and first.begun and not began.is_set()
    questions.leave(first)
    assert [*questions.turn(second)] == [] and not began.is_set(), "nor between two questions"
    questions.leave(second)
    assert began.wait(30)
    case.join(30)


def test_an_evaluation_that_is_stopped_does_not_wait_for_its_turn(questions):
    entered(questions)
    cancel = Cancel()
    cancel.stop()
    with scope(cancel), pytest.raises(Stopped), questions.evaluating():
        pytest.fail("a question is before it")
    assert [position for position, _ in questions.positions()] == [0]
