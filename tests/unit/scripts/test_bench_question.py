"""The benchmark of a question: what its model is made to say is what our schemas and the tutorials' take."""

from __future__ import annotations

import importlib.util

import pytest
from support import CHECKOUT
from support.fakes import passage

from local_rag.core.protocols import Attempt
from local_rag.engines.language_model import schemas
from local_rag.engines.language_model.prompts import Prompts
from local_rag.text.marks import claims, marks

BENCHMARKS = CHECKOUT / "scripts" / "benchmarks"
QUESTION = "What does the plan cost?"
OURS = Prompts()


def module(name):
    spec = importlib.util.spec_from_file_location(name, BENCHMARKS / f"{name}.py")
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


reply = module("llama_replies").reply
texts = module("question_texts")
DOCUMENTS = [passage(number) for number in range(1, 5)]
SECOND = "Passage 2 says"


def body(messages, schema=None):
    told = [{"role": role, "content": content} for role, content in messages]
    return {"messages": told} | ({"format": schemas.wire(schema)} if schema else {})


@pytest.mark.parametrize(
    "schema",
    [
        schemas.of_length(schemas.GradeGeneration, 3),
        schemas.of_length(schemas.GradeHallucinations, 1),
        schemas.GradeAnswer,
        schemas.route_among(("vectorstore", "web_search")),
    ],
    ids=lambda schema: schema.__name__,
)
def test_a_verdict_is_one_that_is_taken(schema):
    said = reply(body(OURS.chat("", QUESTION, DOCUMENTS, range(4)), schema), [])
    schema.model_validate_json(said)


def test_the_passages_of_a_case_are_rejected_by_ours_and_by_the_tutorials_calls():
    graded = schemas.of_length(schemas.GradeDocuments, 4)
    said = reply(body(OURS.chat("", QUESTION, DOCUMENTS, range(4)), graded), [SECOND])
    assert graded.model_validate_json(said).binary_scores == ["yes", "no", "yes", "yes"]
    alone = schemas.of_length(schemas.GradeDocuments, 1)
    said = [reply(body(OURS.chat("", QUESTION, [one], [0]), alone), [SECOND]) for one in DOCUMENTS]
    assert [alone.model_validate_json(one).binary_scores for one in said] == [["yes"], ["no"], ["yes"], ["yes"]]


def test_an_answer_cites_what_is_relevant():
    written = OURS.chat(OURS.answer_task(Attempt()), QUESTION, DOCUMENTS, range(4))
    said = reply(body(written), [SECOND])
    assert {number for _, cited in marks(said) for number in cited} == {1, 3, 4}
    assert len(claims(said)) == 3


def test_passages_are_the_same_each_time_and_turned_round_for_a_second_question():
    passages = texts.Passages(texts.pieces(None))
    assert len(passages.texts) >= 16 and all(len(one) <= texts.LENGTH for one in passages.texts)
    found = []
    for _ in range(2):
        passages.turn(True)
        found.append([one.page_content for one in passages.search("", 4)])
    assert found[0] == passages.texts[:4] == found[1][::-1]
    assert "0" not in [one.metadata["chunk_id"] for one in passages.search("", 4, exclude=["0"])]
