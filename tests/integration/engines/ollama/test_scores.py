"""Scores, reasons and steps of the Ollama engine over HTTP: with a server that gives probabilities, and without."""

from __future__ import annotations

import json
import math

import pytest
from support.ollama_engine import QUESTION, answered, contents, engine_on, labels, passages, soon
from support.ollama_server import OllamaServer, no_done, say
from support.reading import ScriptedEvaluator

from local_rag.core.documents import Catalog
from local_rag.core.errors import EngineError
from local_rag.core.generation import Attempt

ANSWER = "It costs 100 euros [1]. It is new [2]."
YES_NO = '{"r": "yes no"}'
FILES, WEB = ("vectorstore",), ("vectorstore", "web_search", "direct")
ODDS = [{"yes": 0.6, "no": 0.2}, {"yes": 0.1, "no": 0.3}]


def scored(values):
    return [None if value is None else round(value, 4) for value in values]


def relevance(server, *replies, count=2, wanted=False, **settings):
    """(labels, scores, usage) of the retrieval grader on these replies."""
    server.script(*replies)
    with soon(), engine_on(server, **settings) as engine:
        verdicts = engine.relevance(QUESTION, passages(count), scored=wanted)
    return labels(verdicts), scored(one.score for one in verdicts), verdicts[0].usage


def grade(server, *replies, generation=ANSWER, check="both", **settings):
    server.script(*replies)
    with soon(), engine_on(server, **settings) as engine:
        return engine.grade(QUESTION, passages(), generation, check=check)


# --- relevance --------------------------------------------------------------------------------------------------------


def test_a_score_is_the_chance_of_yes(ollama):
    found = relevance(ollama, say(YES_NO, odds=ODDS))
    assert found[:2] == (["relevant", "irrelevant"], [0.75, 0.25])
    assert len(ollama.chats) == 1
    assert (ollama.chats[0]["logprobs"], ollama.chats[0]["top_logprobs"]) == (True, 20)


def test_what_came_with_the_verdict_is_enough(ollama):
    assert relevance(ollama, say(YES_NO, odds=ODDS), wanted=True)[1] == [0.75, 0.25]
    assert len(ollama.chats) == 1


@pytest.mark.parametrize("pieces", [['{"', "r", '":', ' "', "ye", "s", " n", "o", '"}'],
                                    ['{"r"', ":", '"yes', " no", '"}']])  # fmt: skip
def test_a_label_of_several_tokens(ollama, pieces):
    odds = [{"ye": 0.6, "n": 0.2, "yes": 0.01}, {"y": 0.1, "n": 0.3, "no": 0.0001}]
    if "ye" not in pieces:
        odds = [{'"yes': 0.6, '"no': 0.2}, {"yes": 0.1, "no": 0.3}]
    label, (first, second), _ = relevance(ollama, say("", pieces=pieces, odds=odds))
    assert label == ["relevant", "irrelevant"]
    assert (first, second) == (pytest.approx(0.75, abs=0.01), pytest.approx(0.25, abs=0.01))


def test_what_is_not_known_is_asked_for_on_a_scale(ollama):
    only_one = [{"yes": 0.6, "Sure": 0.3}, {"yes": 0.1, "no": 0.3}]
    label, found, usage = relevance(ollama, say(YES_NO, odds=only_one), '{"l": [2, 3]}', wanted=True)
    assert label == ["relevant", "irrelevant"], "the scale changes no label"
    assert found == [0.6667, 0.25], "and no score that is known"
    assert (usage.calls, [call.role for call in usage.log]) == (2, ["retrieval_grader", "relevance_scale"])
    assert "logprobs" not in ollama.chats[1]
    first, second = (contents(body)[1][1].rpartition("\n\nTask:") for body in ollama.chats)
    assert first[0] == second[0], "the passages are read once"
    for number in range(4):
        assert f"{number}: " in second[2]


def test_without_need_no_scale_is_asked_for(ollama):
    assert relevance(ollama, say(YES_NO))[1] == [None, None]
    assert len(ollama.chats) == 1


@pytest.mark.parametrize("version", ["0.12.10", "0.9.0"])
def test_an_old_server_is_not_asked_for_probabilities(version):
    with OllamaServer(version) as server:
        assert relevance(server, say(YES_NO, odds=ODDS))[1] == [None, None]
        assert "logprobs" not in server.chats[0]
        assert relevance(server, YES_NO, '{"l": [3, 0]}', wanted=True)[1] == [1.0, 0.0]


@pytest.mark.parametrize("version", ["0.33.0", "0.12.11", "0.0.0"])
def test_a_server_that_ignores_the_field_breaks_nothing(version):
    with OllamaServer(version) as server:
        server.gives_logprobs = False
        assert relevance(server, say(YES_NO, odds=ODDS))[:2] == (["relevant", "irrelevant"], [None, None])
        assert server.chats[0]["logprobs"] is True
        found = grade(server, '{"s": "fully no", "u": 4}')
        assert (found.support_score, found.usefulness_score) == (None, None)
        with engine_on(server) as engine:
            pieces, text = answered(engine, attempt=Attempt(scored=True))
            assert text and all(piece.logprob is None for piece in pieces)


def test_probabilities_can_be_switched_off(ollama):
    assert relevance(ollama, say(YES_NO, odds=ODDS), logprobs="off")[1] == [None, None]
    assert not {"logprobs", "top_logprobs"} & ollama.chats[0].keys()


@pytest.mark.parametrize("bad", ["Sure!", no_done(YES_NO)], ids=["prose", "broken off"])
def test_a_verdict_that_was_asked_for_twice_has_no_score_of_its_own(ollama, bad):
    assert relevance(ollama, bad, say(YES_NO, odds=ODDS))[:2] == (["relevant", "irrelevant"], [None, None])
    ollama.requests.clear()
    assert relevance(ollama, bad, say(YES_NO, odds=ODDS), '{"l": [3, 0]}', wanted=True)[1] == [1.0, 0.0]


def test_what_stayed_unusable_has_no_score(ollama):
    label, found, usage = relevance(ollama, "Sure!", "Sure!", wanted=True)
    assert (label, found, usage.calls) == (["unparsed"] * 2, [None, None], 2)
    ollama.requests.clear()
    label, found, usage = relevance(ollama, YES_NO, "high", "low", wanted=True)
    assert (label, found) == (["relevant", "irrelevant"], [None, None])
    assert (usage.calls, usage.unparsed) == (3, 1)
    assert "relevance_scale: no usable verdict" in usage.notes[0]


def test_thoughts_before_a_verdict_move_its_place(ollama):
    assert relevance(ollama, say(f"<think>yes or no?</think>{YES_NO}", odds=[{"yes": 1.0}, {"no": 1.0}, *ODDS]))[1] == [
        0.75,
        0.25,
    ]


def test_with_a_call_for_each_there_is_one_scale_for_all(ollama):
    found = relevance(ollama, say('{"r": "yes"}', odds=ODDS), '{"r": "no"}', '{"l": [1, 1]}', wanted=True,
                      grading="each")  # fmt: skip
    assert found[:2] == (["relevant", "irrelevant"], [0.75, 0.3333])
    assert len(ollama.chats) == 3


FIRST, SECOND = ScriptedEvaluator({"Passage 1 ": 0.9}), ScriptedEvaluator({"Passage 2 ": 0.9})


def test_the_evaluator_grades_without_a_call(ollama):
    found = relevance(ollama, wanted=True, grading="evaluator", evaluator=FIRST)
    assert found[:2] == (["relevant", "irrelevant"], [0.9, 0.0])
    assert (ollama.chats, found[2].calls) == ([], 0)


def test_grading_by_an_evaluator_that_is_not_there_is_an_error(ollama):
    with pytest.raises(EngineError, match="graded by the evaluator") as met:
        relevance(ollama, YES_NO, grading="evaluator")
    assert "local-rag doctor" in met.value.hint and not ollama.chats


@pytest.mark.parametrize("grading", ["list", "each"])
def test_a_score_that_the_model_does_not_give_is_the_evaluators(ollama, grading):
    replies = [YES_NO] if grading == "list" else ['{"r": "yes"}', '{"r": "no"}']
    found = relevance(ollama, *replies, wanted=True, grading=grading, logprobs="off", evaluator=SECOND)
    assert found[:2] == (["relevant", "irrelevant"], [0.0, 0.9]), "the labels are the model's"
    assert len(ollama.chats) == len(replies), "no scale is asked for"


def test_scores_that_the_model_gives_stay(ollama):
    only_one = [{"yes": 0.6, "Sure": 0.3}, {"yes": 0.1, "no": 0.3}]
    evaluator = ScriptedEvaluator({"Passage": 0.9})
    assert relevance(ollama, say(YES_NO, odds=ODDS), wanted=True, evaluator=evaluator)[1] == [0.75, 0.25]
    assert relevance(ollama, say(YES_NO, odds=only_one), wanted=True, evaluator=evaluator)[1] == [0.9, 0.25]
    assert relevance(ollama, YES_NO, logprobs="off", evaluator=evaluator)[1] == [None, None], "nobody needs them"
    assert [len(texts) for _, texts in evaluator.questions] == [1], "only what is missing is read"


# --- support and usefulness -------------------------------------------------------------------------------------------

SURE_OF = [{"fully": 0.6, "parti": 0.2, "no": 0.2}, {"fully": 0.1, "no": 0.9}, {"4": 0.5, "5": 0.5}]


def test_support_is_graded_sentence_by_sentence(ollama):
    found = grade(ollama, say('{"s": "fully no", "u": 4}', odds=SURE_OF))
    assert (found.support, found.usefulness, found.sentences) == ("partially", 4, ("fully", "no"))
    assert scored([found.support_score, found.usefulness_score]) == [0.4, 0.75]
    assert found.score == pytest.approx(0.4 * 0.875)
    assert found.usage.calls == 1
    entries = ollama.chats[0]["format"]["properties"]["s"]
    assert entries["pattern"] == "^(fully|partially|no) (fully|partially|no)$"
    told = contents(ollama.chats[0])[1][1]
    assert "1. It costs 100 euros. [1]\n2. It is new. [2]" in told


def test_words_count_where_probabilities_are_not_known(ollama):
    found = grade(ollama, '{"s": "fully partially", "u": 4}')
    assert (found.support_score, found.usefulness_score) == (None, None)
    assert found.score == pytest.approx(0.75 * 0.75)
    assert grade(ollama, '{"s": "no no", "u": 5}').support == "no"
    assert grade(ollama, '{"s": "fully fully", "u": 5}').score == 1.0
    assert grade(ollama, "Sure!", "Sure!").score is None


def test_one_sentence_that_is_not_known_is_no_mean(ollama):
    found = grade(ollama, say('{"s": "fully no", "u": 4}', odds=[SURE_OF[0], {"no": 0.9}, SURE_OF[2]]))
    assert (found.support_score, found.usefulness_score) == (None, 0.75)
    assert found.score == pytest.approx(0.5 * 0.875)


@pytest.mark.parametrize(("check", "key"), [("support", "s"), ("usefulness", "u")])
def test_one_of_the_two_is_asked_alone(ollama, check, key):
    replies = {"s": say('{"s": "fully no"}', odds=SURE_OF), "u": say('{"u": 4}', odds=SURE_OF[2:])}
    found = grade(ollama, replies[key], check=check)
    assert list(ollama.chats[0]["format"]["properties"]) == [key]
    if check == "support":
        assert (found.support, found.usefulness, found.sentences) == ("partially", 0, ("fully", "no"))
        assert (scored([found.support_score]), found.usefulness_score) == ([0.4], None)
    else:
        assert (found.support, found.usefulness, found.sentences) == ("unparsed", 4, ())
        assert (found.support_score, found.usefulness_score) == (None, 0.75)
    assert found.score is None
    assert (found.usage.calls, found.usage.unparsed) == (1, 0)
    assert "Passage 1" in contents(ollama.chats[0])[1][1], "the common beginning"


def test_the_tutorials_graders_are_asked_one_by_one(ollama):
    sure = say('{"s": "yes"}', odds=ODDS)
    both = grade(ollama, sure, say('{"u": "yes"}', odds=ODDS), grading="each")
    assert (both.support, both.usefulness, both.sentences) == ("fully", 5, ())
    assert scored([both.support_score, both.usefulness_score, both.score]) == [0.75, 0.5, 0.5625]
    support = grade(ollama, sure, grading="each", check="support")
    assert (support.support, support.usefulness, support.score) == ("fully", 0, None)
    useful = grade(ollama, '{"u": "no"}', grading="each", check="usefulness")
    assert (useful.support, useful.usefulness, useful.score) == ("unparsed", 1, None)
    assert [list(body["format"]["properties"]) for body in ollama.chats] == [["s"], ["u"], ["s"], ["u"]]
    assert "Passage 1" not in contents(ollama.chats[-1])[1][1]


def test_a_text_without_a_sentence_is_not_sent(ollama):
    found = grade(ollama, generation=" [1] … ")
    assert (found.support, found.usefulness, found.sentences) == ("no", 1, ())
    assert ollama.chats == []


# --- reasons ----------------------------------------------------------------------------------------------------------


def test_reasons_are_asked_for_behind_the_verdicts(ollama):
    ollama.script(say('{"r": "yes no", "w": ["It says  no or yes.", "Something else."]}', odds=ODDS),
                  '{"s": "fully no", "u": 4, "w": "The second is not there."}',
                  '{"d": "web_search", "c": "multi", "w": "It is about the weather."}',
                  '{"n": "no", "w": "It is small talk."}', '{"l": [3, 1]}')  # fmt: skip
    with soon(), engine_on(ollama, explain=True) as engine:
        verdicts = engine.relevance(QUESTION, passages())
        assert [one.why for one in verdicts] == ["It says no or yes.", "Something else."]
        assert scored(one.score for one in verdicts) == [0.75, 0.25]
        assert engine.grade(QUESTION, passages(), ANSWER).why == "The second is not there."
        route = engine.route(QUESTION, Catalog(allowed=WEB, multi=True))
        assert (route.source, route.complexity, route.why) == ("web_search", "single", "It is about the weather.")
        assert engine.needs_retrieval(QUESTION, Catalog()).why == "It is small talk."
        assert "explain" in engine.fingerprint
    for body in ollama.chats:
        assert list(body["format"]["properties"])[-1] == "w"
        assert contents(body)[1][1].splitlines()[-1].startswith('Add to the JSON, at its end, "w"')


def test_no_reasons_unless_asked_for(ollama):
    relevance(ollama, YES_NO)
    grade(ollama, '{"s": "fully no", "u": 4}')
    assert '"w"' not in json.dumps(ollama.chats)


def test_the_tutorials_graders_give_reasons_too(ollama):
    ollama.script(
        '{"r": "yes", "w": "It does."}', '{"s": "yes", "w": "It stands there."}', '{"u": "no", "w": "No sum."}'
    )
    with soon(), engine_on(ollama, grading="each", explain=True) as engine:
        assert engine.relevance(QUESTION, passages(1))[0].why == "It does."
        assert engine.grade(QUESTION, passages(1), ANSWER).why == "It stands there.; No sum."


def test_a_reason_that_is_too_long_costs_no_verdict(ollama):
    ollama.script(json.dumps({"r": "yes", "w": ["word " * 60]}))
    with soon(), engine_on(ollama, explain=True) as engine:
        (verdict,) = engine.relevance(QUESTION, passages(1))
    assert (verdict.label, len(verdict.why) <= 200) == ("relevant", True)


# --- where to look ----------------------------------------------------------------------------------------------------

ROUTES = [
    # allowed, multi, replies, source, complexity
    (WEB, True, ['{"d": "vectorstore", "c": "multi"}'], "vectorstore", "multi"),
    (WEB, True, ['{"d": "vectorstore", "c": "single"}'], "vectorstore", "single"),
    (WEB, True, ['{"d": "web_search", "c": "multi"}'], "web_search", "single"),
    (WEB, True, ['{"d": "direct", "c": "multi"}'], "direct", "direct"),
    (WEB, True, ["files", "files"], "vectorstore", "single"),
    (WEB, False, ['{"d": "web_search"}'], "web_search", "single"),
    (FILES, True, ['{"c": "multi"}'], "vectorstore", "multi"),
    (FILES, True, ["many", "many"], "vectorstore", "single"),
    (FILES, False, [], "vectorstore", "single"),
    (("direct",), True, [], "direct", "direct"),
    (("web_search", "direct"), True, ['{"d": "web_search"}'], "web_search", "single"),
]


@pytest.mark.parametrize(("allowed", "multi", "replies", "source", "complexity"), ROUTES)
def test_a_route_is_a_source_and_a_number_of_steps(ollama, allowed, multi, replies, source, complexity):
    ollama.script(*replies)
    with soon(), engine_on(ollama) as engine:
        route = engine.route(QUESTION, Catalog(1, 2, ("Plan",), ("plan",), 0.5, allowed, ("Costs",), multi))
    assert (route.source, route.complexity) == (source, complexity)
    assert route.usage.calls == len(ollama.chats) == len(replies)
    for body in ollama.chats:
        shape = ", ".join(f'"{key}": "…"' for key in body["format"]["properties"])
        assert contents(body)[1][1].endswith(f"Answer in JSON: {{{shape}}}"), "prompt and schema ask for the same"


NEEDS = [
    ([say('{"n": "no"}', odds=[{"no": 0.6, "yes": 0.2}])], "no", 0.25),
    ([say('{"n": "yes"}', odds=ODDS)], "yes", 0.75),
    (['{"n": "no"}'], "no", None),
    (["Yes.", "Yes!"], "yes", None),
]


@pytest.mark.parametrize(("replies", "needed", "score"), NEEDS)
def test_whether_the_files_are_needed(ollama, replies, needed, score):
    ollama.script(*replies)
    with soon(), engine_on(ollama) as engine:
        need = engine.needs_retrieval(QUESTION, Catalog(3, 9, ("Plan",), ("fee",)))
    assert (need.retrieve, need.score) == (needed, None if score is None else pytest.approx(score))
    assert "among them: Plan" in contents(ollama.chats[0])[1][1]


# --- steps ------------------------------------------------------------------------------------------------------------

STEPS = [
    (['{"t": "Ada wrote it.  And more. ", "d": false}'], "Ada wrote it.", False),
    (['{"t": "Ada was born in London.", "d": true}'], "Ada was born in London.", True),
    (['{"t": "So the answer is London.", "d": false}'], "So the answer is London.", True),
    (['{"t": " ", "d": false}'], "", True),
    (["Ada wrote it.", '{"t": "Ada wrote it.", "d": false}'], "Ada wrote it.", False),
    (["Ada wrote it.", "Ada wrote it."], "", True),
    ([f'{{"t": "{"so and " * 400}']*2, "", True),
]  # fmt: skip


@pytest.mark.parametrize(("replies", "text", "done"), STEPS)
def test_the_next_sentence_of_reasoning(ollama, replies, text, done):
    ollama.script(*replies)
    with soon(), engine_on(ollama) as engine:
        thought = engine.reason(QUESTION, passages(), ["The plan is a book."])
    assert (thought.text, thought.done) == (text, done)
    assert thought.usage.calls == len(replies)
    told = contents(ollama.chats[0])[1][1]
    assert told.index("Passage 2") < told.index("Task:") < told.index("1. The plan is a book.")
    assert ollama.chats[0]["options"]["num_predict"] == 160


def test_reasoning_begins_without_passages(ollama):
    ollama.script('{"t": "Who wrote the plan?", "d": false}')
    with soon(), engine_on(ollama) as engine:
        assert engine.reason(QUESTION, [], []).text == "Who wrote the plan?"


# --- answers ----------------------------------------------------------------------------------------------------------


def test_an_answer_comes_with_the_log_probability_of_each_token(ollama):
    ollama.script(say("", pieces=["It", " costs", " 100"], odds=[{"It": 0.5}, {"costs": 0.25}]))
    with soon(), engine_on(ollama) as engine:
        pieces, text = answered(engine, attempt=Attempt(scored=True))
    assert text == "It costs 100"
    found = [piece.logprob for piece in pieces]
    assert found[:3] == [pytest.approx(math.log(odds)) for odds in (0.5, 0.25, 0.99)]
    assert found[3] is None and pieces[3].usage is not None
    assert ollama.chats[0]["logprobs"] is True
    assert "top_logprobs" not in ollama.chats[0]


def test_log_probabilities_are_not_asked_for_in_vain(ollama):
    with soon(), engine_on(ollama) as engine:
        pieces, _ = answered(engine)
    assert all(piece.logprob is None for piece in pieces)
    assert "logprobs" not in ollama.chats[0]


def test_what_was_held_back_has_no_log_probability(ollama):
    ollama.script(say("", pieces=["<thi", "s> ", "costs"], odds=[{"<thi": 0.5}, {"costs": 0.25}]))
    with soon(), engine_on(ollama) as engine:
        pieces, text = answered(engine, attempt=Attempt(scored=True))
    assert text == "<this> costs"
    assert [piece.logprob for piece in pieces[:2]] == [None, pytest.approx(math.log(0.25))]


# --- what scores hold for ---------------------------------------------------------------------------------------------


def test_a_fingerprint_follows_the_evaluator(ollama):
    with engine_on(ollama, evaluator=ScriptedEvaluator()) as beside:
        assert beside.fingerprint.endswith("; list, logprobs; evaluator scripted reader 1")
    with engine_on(ollama, evaluator=ScriptedEvaluator(), logprobs="off") as scores:
        assert scores.fingerprint.endswith("; list, evaluator; evaluator scripted reader 1")
    with engine_on(ollama, evaluator=ScriptedEvaluator(), grading="evaluator") as grades:
        assert grades.fingerprint.endswith("; evaluator, logprobs; evaluator scripted reader 1")


def test_a_fingerprint_names_weights_prompts_and_ways(ollama):
    with engine_on(ollama) as one, engine_on(ollama) as same, engine_on(ollama, grading="each") as each:
        first = one.fingerprint
        assert first == same.fingerprint == one.fingerprint
        assert first.startswith("ollama 4; tiny@") and first.endswith("; list, logprobs")
        assert each.fingerprint.endswith("; each, logprobs")
    with engine_on(ollama, logprobs="off") as off, engine_on(ollama, explain=True) as explains:
        assert len({first, off.fingerprint, explains.fingerprint}) == 3
    with engine_on(ollama) as engine:
        ollama.close()
        assert engine.fingerprint == "ollama 4; tiny@?; list, logprobs"
