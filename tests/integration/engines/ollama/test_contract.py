"""What every engine keeps, by the scripted server, and what only an evaluation asks."""

import pytest
from support.engine_contract import EngineContract
from support.fakes import ScriptedEvaluator, passage
from support.ollama_engine import contents, engine_on
from support.ollama_mind import mind
from support.ollama_server import OllamaServer

from local_rag.engines.language_model.judge import Judge, QuestionProposer

# --- the contract


READ = {"two years after delivery": 0.9, "Forty people": 0.3}
GRADING = {"packed": {}, "evaluator": {"evaluator": ScriptedEvaluator(READ)}}


class TestOllamaKeepsTheContract(EngineContract):
    @pytest.fixture(scope="class", params=GRADING)
    @classmethod
    def engine(cls, request):
        options = GRADING[request.param]
        with OllamaServer() as server, engine_on(server, grading=request.param, **options) as engine:
            server.always = mind
            yield engine


# --- the judge and the proposer


QUESTION = "What does the plan cost?"
RIGHT, WRONG = '{"j": "right"}', '{"j": "wrong"}'


def judged(server, *replies, answer="It costs 100 euros [1].", references=("100 euros",)):
    server.script(*replies)
    with engine_on(server) as engine:
        return Judge(engine).judge(QUESTION, references, answer)


@pytest.mark.parametrize(
    ("replies", "verdict"), [([RIGHT], "right"), ([WRONG], "wrong"), (["It is right.", '{"j": "Right"}'], "unparsed")]
)
def test_a_verdict_is_one_call(ollama, replies, verdict):
    found = judged(ollama, *replies)
    unread = int(verdict == "unparsed")
    assert (found.verdict, bool(found.why)) == (verdict, bool(unread))
    assert (found.usage.calls, found.usage.unparsed, found.usage.retries) == (len(replies), unread, unread)
    body = ollama.chats[0]
    assert body["format"]["properties"] == {"j": {"enum": ["right", "wrong"], "type": "string"}}
    assert body["options"]["temperature"] == 0


def test_the_judge_sees_the_answer_and_nothing_of_who_wrote_it(ollama):
    judged(ollama, RIGHT, answer="It costs 100 euros [1], paid in 2 parts [1, 2].", references=["100 euros", "EUR 100"])
    system, (_, told) = contents(ollama.chats[0])
    assert "It costs 100 euros, paid in 2 parts." in told
    assert "- 100 euros\n- EUR 100\n" in told
    assert told.startswith(f"Question: {QUESTION}")
    everything = (system[1] + told).lower()
    for word in ("[1]", "self-rag", "crag", "adaptive", "plain", "extractive", "tiny", '<passage n="'):
        assert word not in everything


def test_a_judge_needs_a_reference(ollama, engine):
    with pytest.raises(ValueError, match="at least one reference"):
        Judge(engine).judge(QUESTION, ["", " "], "It costs 100 euros.")
    assert ollama.chats == []


def test_a_question_is_proposed_with_the_words_that_answer_it_or_without_an_answer(ollama, engine):
    ollama.script('{"q": "What does the\\n plan cost?", "a": " 100 euros "}', "Here is one: why?", '{"q": "Why?"}')
    proposer = QuestionProposer(engine)
    assert proposer.propose(passage(1)) == ("What does the plan cost?", "100 euros")
    assert proposer.propose(passage(1)) == ("", "")
    ollama.script('{"q": "Who drew the plan?"}', "no", "no")
    assert proposer.propose_missing(passage(1)) == "Who drew the plan?"
    assert proposer.propose_missing(passage(1)) == ""
    told = contents(ollama.chats[0])[1][1]
    assert '<passage n="1" from="1.md">' in told
    assert '{"q": "…", "a": "…"}' in told
    assert set(ollama.chats[0]["format"]["properties"]) == {"q", "a"}
    assert ollama.chats[0]["options"]["num_predict"] >= 240
    assert "does not stand in the passage" in contents(ollama.chats[3])[1][1]
