"""An engine of a chat model of LangChain: the contract, every way to ask for JSON, callbacks, errors, a whole graph."""

import threading

import pytest
from langchain_core.exceptions import ContextOverflowError
from langsmith.run_helpers import get_tracing_context
from pydantic import Field
from support.chat_model import MindModel, PlainModel, SchemaModel, ToolModel
from support.engine_contract import PASSAGES, EngineContract
from support.fakes import FakeCorpus, ScriptedEvaluator

from local_rag import Rag, from_chat_model
from local_rag.core import cancel
from local_rag.core.errors import EngineError, Stopped, UsageError
from local_rag.core.protocols import Attempt

QUESTION = "When does the warranty of a pump end?"
READ = {"two years after delivery": 0.9}
ANSWER = "The warranty of a pump ends two years after delivery. [1]"


def graded_by_the_evaluator():
    engine = from_chat_model(SchemaModel(), grading="evaluator")
    return engine.opened_with(engine.prompts.texts, ScriptedEvaluator(READ))


ENGINES = {
    "it takes a schema": lambda: from_chat_model(SchemaModel(pace=0.001), explain=True),
    "it calls tools": lambda: from_chat_model(ToolModel(), grading="each"),
    "it knows no JSON": lambda: from_chat_model(PlainModel()),
    "the evaluator grades": graded_by_the_evaluator,
}


class TestAChatModelKeepsTheContract(EngineContract):
    @pytest.fixture(scope="class", params=ENGINES)
    @classmethod
    def engine(cls, request):
        return ENGINES[request.param]()


def labels(engine):
    return [verdict.label for verdict in engine.relevance(QUESTION, PASSAGES)]


@pytest.mark.parametrize(
    ("model", "refuses", "way"),
    [
        (SchemaModel, (), "json_schema"),
        (SchemaModel, ("json_schema",), "function_calling"),
        (ToolModel, (), "tools"),
        (PlainModel, (), None),
    ],
)
def test_the_strictest_way_that_the_model_knows_is_found_once(model, refuses, way):
    asked = model(refuses=refuses)
    engine = from_chat_model(asked)
    assert labels(engine) == labels(engine) == ["relevant", "irrelevant", "irrelevant"]
    assert [call["way"] for call in asked.seen] == [way, way], "what was refused once is not asked for again"


class Watched(SchemaModel):
    """Notes every way that it is asked in, refused ones too, and how many calls there were at a time."""

    ways: list[str] = Field(default_factory=list)
    running: list[int] = Field(default_factory=list)
    most: list[int] = Field(default_factory=list)

    def _generate(self, *arguments, way="", **options):
        self.ways.append(way)
        self.running.append(1)
        self.most.append(len(self.running))
        try:
            return super()._generate(*arguments, way=way, **options)
        finally:
            self.running.pop()


def test_engines_of_one_model_take_turns_and_know_its_way():
    model = Watched(refuses=("json_schema",), pace=0.05)
    engine = from_chat_model(model, grading="packed")
    assert labels(engine) == ["relevant", "irrelevant", "irrelevant"]
    assert model.ways == ["json_schema", "json_schema", "function_calling"]
    corpus = FakeCorpus(list(PASSAGES))
    with (
        Rag.open(engine=engine, corpus=corpus, prompts={"system": "Answer by the files alone."}) as own,
        Rag.open(engine=engine, corpus=corpus) as ours,
    ):
        assert own.engine is not engine
        threads = [threading.Thread(target=labels, args=(rag.engine,)) for rag in (own, ours, own, ours)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert set(model.ways[3:]) == {"function_calling"}, "the way that the model knows is handed on"
    assert max(model.most) == 1, "one call at a time, whichever engine asks"
    assert labels(engine) == ["relevant", "irrelevant", "irrelevant"], "a Rag that ends leaves the engine open"


def test_what_the_model_raises_is_one_line_and_a_hint_and_says_nothing_about_how_json_is_asked_for():
    model = SchemaModel(script=[ConnectionError("no\nway"), ValueError("it passes")])
    engine = from_chat_model(model)
    with pytest.raises(EngineError, match=r"^the chat model mind failed: ConnectionError: no way$") as raised:
        labels(engine)
    assert "model.invoke" in raised.value.hint
    assert labels(engine) == ["relevant", "irrelevant", "irrelevant"]
    assert [call["way"] for call in model.seen] == ["json_schema"] * 3, "nor does one error that passes"


def test_langsmith_gets_nothing(monkeypatch):
    monkeypatch.setenv("LANGSMITH_TRACING", "true")
    traced = []

    class Watching(SchemaModel):
        def _reply(self, *arguments):
            traced.append(get_tracing_context()["enabled"])
            return super()._reply(*arguments)

    engine = from_chat_model(Watching())
    labels(engine)
    list(engine.answer(QUESTION, PASSAGES, Attempt()))
    assert traced == [False, False]


def test_a_prompt_that_is_too_long_for_the_model_is_made_shorter():
    model = SchemaModel(script=[ContextOverflowError("too long")])
    verdicts = from_chat_model(model).relevance(QUESTION, PASSAGES)
    assert [verdict.label for verdict in verdicts] == ["relevant", "irrelevant", "irrelevant"]
    assert len(model.seen) == 3, "in two calls, after the one that was too long"


def test_a_model_that_does_not_answer_is_left_behind_when_the_question_stops():
    model = SchemaModel(pace=30)
    stop = cancel.Cancel()
    timer = threading.Timer(0.1, stop.stop)
    timer.start()
    with cancel.scope(stop), pytest.raises(Stopped):
        labels(from_chat_model(model))


def test_it_says_what_it_is_and_no_more_than_it_knows():
    engine = from_chat_model(SchemaModel(model_name="tiny"), version="sha256:12")
    assert engine.name == "langchain/tiny"
    assert engine.describe == "SchemaModel tiny (window 8,192 tokens), given by the calling program, wherever it runs"
    assert "SchemaModel/tiny@sha256:12" in engine.fingerprint
    assert from_chat_model(SchemaModel()).fingerprint != from_chat_model(SchemaModel(pace=1)).fingerprint
    assert "@?" in from_chat_model(SchemaModel()).fingerprint
    assert from_chat_model(SchemaModel(profile={"max_input_tokens": 900})).setups["grader"].num_ctx == 900
    with pytest.raises(UsageError, match="takes a chat model of LangChain, not str"):
        from_chat_model("gpt-oss")


def test_a_graph_asks_it():
    corpus, model = FakeCorpus(list(PASSAGES)), SchemaModel()
    with Rag.open(
        engine=from_chat_model(model, grading="packed"), corpus=corpus, prompts={"system": "Answer by the files alone."}
    ) as rag:
        state = rag.graph("self-rag").invoke({"question": QUESTION}, context=rag.context())
        answer = rag.ask(QUESTION)
    assert state["generation"] == answer.text == ANSWER
    assert (answer.status, answer.engine) == ("grounded", "langchain/mind")
    assert model.seen[0]["messages"][0].text.startswith("Answer by the files alone.")
    assert not corpus.closed, "what a program gives stays open"


def test_what_is_no_engine_is_refused_by_what_it_lacks():
    with pytest.raises(UsageError, match=r"an engine has describe, fingerprint, .*, and MindModel does not"):
        Rag.open(engine=MindModel(), corpus=FakeCorpus())
