"""The engine contract over a scripted server: with passages packed into calls, and one by one."""

from __future__ import annotations

from typing import ClassVar

import pytest
from support.engine_contract import PASSAGES, EngineContract
from support.fakes import ScriptedEvaluator
from support.ollama_engine import engine_on
from support.ollama_mind import mind
from support.ollama_server import say

from local_rag.core.protocols import NOT_IN_PASSAGES, Attempt


class TestThePackedEngineKeepsTheContract(EngineContract):
    options: ClassVar = {"grading": "packed"}
    pace = 0.01

    @pytest.fixture
    def engine(self, ollama):
        ollama.always = lambda body: say(mind(body), pace=self.pace)
        with engine_on(ollama, **self.options) as engine:
            yield engine


@pytest.mark.slow
class TestTheTutorialsCallsKeepTheContract(TestThePackedEngineKeepsTheContract):
    options: ClassVar = {"grading": "each"}
    pace = 0


class TestAnEngineWhosePassagesTheEvaluatorGradesKeepsTheContract(TestThePackedEngineKeepsTheContract):
    options: ClassVar = {
        "grading": "evaluator",
        "evaluator": ScriptedEvaluator({"two years after delivery": 0.9, "Forty people": 0.3}),
    }
    pace = 0


@pytest.mark.slow
class TestAnEngineThatGivesReasonsKeepsTheContract(TestThePackedEngineKeepsTheContract):
    options: ClassVar = {"explain": True}
    pace = 0


def test_the_reply_of_a_model_is_read_as_it_is_meant(ollama, engine):
    ollama.always = mind
    labels = [one.label for one in engine.relevance("When does the warranty of a pump end?", PASSAGES)]
    assert labels == ["relevant", "irrelevant", "irrelevant"]
    pieces = list(engine.answer("When does the warranty of a pump end?", PASSAGES, Attempt()))
    assert "".join(one.text for one in pieces) == "The warranty of a pump ends two years after delivery. [1]"
    pieces = list(engine.answer("Who won the cup final?", PASSAGES, Attempt()))
    assert "".join(one.text for one in pieces) == NOT_IN_PASSAGES
