"""from_chat_model on llama.cpp's own server: a real server and a real client, with a model that means nothing."""

from __future__ import annotations

import pytest
from support.engine_contract import LABELS, PASSAGES, SUPPORTS, EngineContract
from support.fakes import FakeCorpus

from local_rag import Rag, from_chat_model
from local_rag.core.documents import Catalog
from local_rag.core.protocols import Attempt

INSTALL = "pip install 'llama-cpp-python[server]' gguf langchain-openai"
for library in ("llama_cpp", "gguf", "langchain_openai", "fastapi", "uvicorn", "sse_starlette", "starlette_context"):
    pytest.importorskip(library, reason=f"{library} is not installed: {INSTALL}")

QUESTION = "When does the warranty of a pump end?"


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    from langchain_openai import ChatOpenAI
    from support.llama_server import llama_server

    with llama_server(tmp_path_factory.mktemp("llama")) as url:
        asked = {"max_tokens": 40}
        model = ChatOpenAI(base_url=url, api_key="none", model="random", temperature=0, extra_body=asked, max_retries=0)
        yield from_chat_model(model, window=3000)


class TestWithRandomWeights(EngineContract):
    """What of the contract needs no sense in what a model says: with random weights no answer is right."""

    @pytest.fixture
    def engine(self, engine):
        return engine

    documents = PASSAGES[:1]


NEEDS_SENSE = [
    "test_one_verdict_for_each_document_in_order",
    "test_what_the_documents_say_is_answered_and_cited",
    "test_what_the_documents_do_not_say_is_refused",
    "test_a_part_of_an_answer_is_not_written_twice",
    "test_a_rewrite_differs_from_everything_tried",
    "test_one_of_the_two_grades_may_be_asked_for",  # this server's grammar knows no largest number: it is `unparsed`
]
TAKES_MINUTES = [
    "test_the_same_question_gives_the_same_result",
    "test_questions_do_not_disturb_each_other",
    "test_two_threads_may_share_it",
    "test_a_route_is_one_of_those_allowed",
    "test_grades_are_in_range",
    "test_a_chain_of_reasoning_goes_on_or_ends",
]
"""Of reading on two cores: the vocabulary of this model is bytes."""
for name in (*NEEDS_SENSE, *TAKES_MINUTES):
    setattr(TestWithRandomWeights, name, None)


def test_every_verdict_is_json_of_its_schema(engine):
    verdicts = engine.relevance(QUESTION, PASSAGES[:2])
    assert len(verdicts) == 2
    assert {verdict.label for verdict in verdicts} <= LABELS - {"unparsed"}
    assert verdicts[0].usage.retries == 0
    grade = engine.grade(QUESTION, PASSAGES[:1], "It ends after two years [1]. Pumps fly.", check="support")
    assert len(grade.sentences) == 2 and set(grade.sentences) <= SUPPORTS - {"unparsed"}
    catalog = Catalog(2, 3, ("Plan",), ("plan",), 0.5, ("vectorstore", "web_search"), (), True)
    route = engine.route(QUESTION, catalog)
    assert route.source in catalog.allowed and route.usage.unparsed == 0


def test_an_answer_comes_bit_by_bit_with_what_it_cost(engine):
    deltas = list(engine.answer(QUESTION, PASSAGES[:1], Attempt()))
    assert len([delta for delta in deltas if delta.text]) > 5
    assert deltas[-1].usage.calls == 1


def test_a_graph_runs_on_it(engine):
    with Rag.open(engine=engine, corpus=FakeCorpus(PASSAGES[:1]), limits__generations=1, limits__rewrites=0) as rag:
        answer = rag.ask(QUESTION)
    assert answer.engine == "langchain/random"
    assert answer.usage.calls >= 2 and answer.path
