"""The engine with an evaluator: the contract, pairs of questions that differ in one thing, and the answer of a Rag."""

from __future__ import annotations

import pytest
from support.engine_contract import EngineContract
from support.fakes import FakeCorpus, passage
from support.fakes_index import remembering_minilm
from support.reading import ScriptedEvaluator
from support.shipped_evaluator import shipped_evaluator

from local_rag.config.settings import Settings
from local_rag.core.errors import EngineError
from local_rag.core.generation import NOT_IN_PASSAGES, Attempt
from local_rag.engines.extractive.engine import ExtractiveEngine
from local_rag.runtime.engine_choice import Choice
from local_rag.runtime.rag import Rag

pytestmark = pytest.mark.usefixtures("converted")

SHIP = (
    "The Heron left the harbour of Sorby in May 1884 with coal for Oslo. Captain Joan Marsh commanded her. Captain Ole "
    "Berg, who owned the mill of Sorby, stayed at home, because he had broken his leg. The Heron was built by the "
    "brothers Quill in Turin."
)
PARTS = "A valve has three parts:\n\n- a handle of brass\n- a seat of steel\n- a spring\n\nIt weighs two kilograms."


@pytest.fixture(scope="module")
def embedder():
    return remembering_minilm()


@pytest.fixture
def engine(embedder):
    return ExtractiveEngine(embedder, evaluator=shipped_evaluator())


def answer(engine, question, *texts):
    documents = [passage(number, text) for number, text in enumerate(texts, start=1)]
    return "".join(delta.text for delta in engine.answer(question, documents, Attempt()))


class TestContractWithEvaluator(EngineContract):
    @pytest.fixture
    def engine(self, embedder):
        return ExtractiveEngine(embedder, evaluator=shipped_evaluator())


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        ("Who commanded the Heron?", "Captain Joan Marsh commanded her. [2]"),
        ("Who owned the mill of Sorby?", "Captain Ole Berg, who owned the mill of Sorby, stayed at home"),
        ("Who built the Heron?", "The Heron was built by the brothers Quill in Turin. [2]"),
        ("When did the Heron leave Sorby?", "The Heron left the harbour of Sorby in May 1884 with coal for Oslo. [2]"),
        (
            "What are the parts of a valve?",
            "A valve has three parts:\n- a handle of brass\n- a seat of steel\n- a spring",
        ),
    ],
)
def test_the_sentence_that_answers_is_quoted_among_others_on_the_matter(engine, question, sentence):
    assert answer(engine, question, PARTS, SHIP).startswith(sentence)


@pytest.mark.parametrize("question", ["Who won the cup final of 2014?", "What is the capital of Mongolia?", "Hello!"])
def test_what_the_passages_are_not_about_is_refused(engine, question):
    assert answer(engine, question, SHIP, PARTS) == NOT_IN_PASSAGES
    assert {verdict.label for verdict in engine.relevance(question, [passage(1, SHIP)])} == {"irrelevant"}


def test_what_it_quotes_is_supported_and_useful(engine):
    documents = [passage(1, SHIP)]
    grade = engine.grade("Who commanded the Heron?", documents, "Captain Joan Marsh commanded her. [1]")
    assert grade.support == "fully"
    assert grade.usefulness >= 4
    other = engine.grade(
        "Who commanded the Heron?", documents, "The Heron was built by the brothers Quill in Turin. [1]"
    )
    assert other.support == "fully" and other.score < grade.score


def test_no_sentence_is_embedded_where_the_evaluator_reads():
    class NoEmbedder:
        fingerprint = "none"

    engine = ExtractiveEngine(NoEmbedder(), evaluator=shipped_evaluator())
    assert answer(engine, "Who commanded the Heron?", SHIP) == "Captain Joan Marsh commanded her. [1]"
    engine.relevance("Who commanded the Heron?", [passage(1, SHIP)])
    engine.grade("Who commanded the Heron?", [passage(1, SHIP)], "Captain Joan Marsh commanded her. [1]")


def test_the_fingerprint_follows_the_evaluator(embedder):
    evaluators = (None, ScriptedEvaluator(), ScriptedEvaluator(fingerprint="scripted reader 2"))
    assert len({ExtractiveEngine(embedder, evaluator=evaluator).fingerprint for evaluator in evaluators}) == 3


def asked(evaluator, graph, embedder, text=SHIP):
    engine = ExtractiveEngine(embedder, evaluator=evaluator)
    corpus = FakeCorpus([passage(1, text)])
    with Rag(Settings.load(graph=graph), corpus, Choice(engine, evaluator=evaluator)) as rag:
        return rag.ask("Who commanded the Heron?")


@pytest.mark.parametrize("graph", ["plain", "self-rag", "crag", "adaptive"])
def test_the_answer_names_its_answering_words_and_where_they_stand(graph, embedder):
    answered = asked(ScriptedEvaluator({"Joan Marsh": 0.9}), graph, embedder)
    assert answered.text == "Captain Joan Marsh commanded her. [1]"
    (highlight,) = answered.highlights
    assert answered.text[highlight.start : highlight.end] == answered.short == "Joan Marsh"


def test_an_abstention_has_no_answering_words(embedder):
    refused = asked(ScriptedEvaluator({"Joan Marsh": 0.01}), "self-rag", embedder)
    assert (refused.status, refused.short, refused.highlights) == ("abstained", "", ())


def test_an_evaluator_that_fails_ends_the_question_with_its_error(embedder):
    with pytest.raises(EngineError, match="no model"):
        asked(ScriptedEvaluator(error=EngineError("no model")), "plain", embedder)
