"""Replies that are no verdict and prompts that do not fit: asked for once more, marked, and never a yes."""

import re
from itertools import chain

import pytest
from support.engine_contract import FULL_CATALOG
from support.ollama_engine import (
    FULLY,
    LONG,
    QUESTION,
    YES,
    answered,
    contents,
    engine_on,
    graded,
    grades,
    labels,
    passages,
    shown,
)
from support.ollama_server import Model, empty, say, too_long

from local_rag.core import cancel
from local_rag.core.cancel import Cancel
from local_rag.core.errors import EngineError
from local_rag.core.protocols import Turn
from local_rag.engines.language_model import graders

ANSWER = "It costs 100 euros [1]."
WORDS = 225

# --- replies without a text -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("think", "reply"), [(False, empty()), ("low", empty()), (False, "<think>Let me see, what does a plan cost?")]
)
def test_a_model_that_returns_no_text_names_the_setting(ollama, think, reply):
    ollama.models = {"tiny:latest": Model(capabilities=("completion", "thinking"))}
    ollama.always = reply
    with engine_on(ollama, think=think) as engine:
        for task in (
            lambda: engine.relevance(QUESTION, passages()),
            lambda: answered(engine),
            lambda: engine.rewrite(QUESTION, [QUESTION], "web"),
            lambda: engine.grade(QUESTION, passages(), ANSWER),
        ):
            with pytest.raises(EngineError, match=r"generated 1\d tokens and returned no text") as met:
                task()
            assert "'think: low' for it in your models.yaml, under ollama: models: tiny:" in met.value.hint
    assert len(ollama.chats) == 4, "it is not asked again"


def test_gpt_oss_is_told_to_think_a_little(ollama):
    ollama.models = {"tiny:latest": Model(family="gptoss", capabilities=("completion", "thinking"))}
    assert labels(graded(ollama)) == ["relevant", "relevant"]
    assert ollama.chats[0]["think"] == "low"
    assert ollama.chats[0]["options"]["num_predict"] > 1024


@pytest.mark.parametrize(
    ("thought", "restarts"),
    [
        ("<think>Is it so?</think>", 0),
        ("\n<think>\nYes, no: {]\n</think>\n\n", 0),
        ("Let me see. It is free [2].\n</think>\n\n", 1),  # some templates lose the mark (Ollama's issue 12736)
    ],
)
def test_thoughts_in_the_content_are_left_out(ollama, engine, thought, restarts):
    ollama.script(*(f"{thought}{reply}" for reply in (YES, ANSWER, FULLY, "plan cost euros")))
    assert labels(engine.relevance(QUESTION, passages())) == ["relevant", "relevant"]
    pieces, text = answered(engine)
    assert text.strip() == ANSWER
    assert engine.grade(QUESTION, passages(), ANSWER).support == "fully"
    assert engine.rewrite(QUESTION, [QUESTION], "web").text == "plan cost euros"
    assert sum(piece.restart for piece in pieces) == restarts


# --- replies that are no verdict --------------------------------------------------------------------------------------

WRONG = {
    "prose around it": f"Sure! Here is the JSON:\n```json\n{YES}\n```",
    "the schema was ignored": "Both passages are relevant: yes, yes.",
    "a list": '{"r": ["yes", "yes"]}',
    "too short": '{"r": "yes"}',
    "an extra key": '{"r": "yes yes", "why": "because"}',
    "two objects": f"{YES}{YES}",
}


@pytest.mark.parametrize("reply", WRONG.values(), ids=WRONG)
def test_what_is_no_verdict_is_asked_for_again_with_the_error_and_then_unparsed(ollama, reply):
    verdicts = graded(ollama, reply, '{"r": "no yes"}')
    assert labels(verdicts) == ["irrelevant", "relevant"]
    assert (verdicts[0].usage.retries, verdicts[0].usage.unparsed) == (1, 0)
    first, second = map(contents, ollama.chats)
    assert second[: len(first)] == first, "what the server has read already stays as it is"
    (role, said), (last, asked) = second[len(first) :]
    assert (role, last) == ("assistant", "user")
    assert said == " ".join(reply.split())
    quoted = re.search(r"could not be used: (.+?)\. Reply with", asked)[1]
    assert "(it was " in quoted, "the validation error, with what was given"
    assert '{"r": …}' in asked
    assert ollama.chats[1]["options"]["temperature"] == 0.0
    verdicts = graded(ollama, reply, reply)
    assert labels(verdicts) == ["unparsed", "unparsed"]
    usage = verdicts[0].usage
    assert (usage.calls, usage.retries, usage.unparsed, len(usage.log)) == (2, 1, 1, 2)
    assert verdicts[0].why in usage.notes[0]
    assert verdicts[1].usage.calls == 0


@pytest.mark.parametrize("grading", ["packed", "each"])
@pytest.mark.parametrize("reply", ['{"s": "fully", "u": "5"}', "yes"])
def test_whatever_is_asked_nothing_unparsed_is_a_yes(ollama, reply, grading):
    ollama.always = say(reply)
    with engine_on(ollama, grading=grading) as engine:
        verdicts = engine.relevance(QUESTION, passages())
        grade = engine.grade(QUESTION, passages(), ANSWER)
        route = engine.route(QUESTION, FULL_CATALOG)
    calls = 2 if grading == "each" else 1
    assert labels(verdicts) == ["unparsed", "unparsed"]
    assert [verdict.usage.retries for verdict in verdicts] == [calls, 0]
    assert (grade.support, grade.usefulness) == ("unparsed", 0) and grade.why
    assert (grade.usage.calls, grade.usage.retries, grade.usage.unparsed) == (2, 1, 1)
    assert (route.source, route.usage.retries, route.usage.unparsed) == ("vectorstore", 1, 1) and route.why


def test_with_two_checks_a_second_one_that_is_none_makes_it_unparsed(ollama):
    ollama.script('{"s": "fully"}', "it does", "it does")
    with engine_on(ollama, grading="each") as engine:
        grade = engine.grade(QUESTION, passages(), ANSWER)
    assert (grade.support, grade.usefulness, grade.score) == ("fully", 0, None)
    assert (grade.usage.calls, grade.usage.retries, grade.usage.unparsed) == (3, 1, 1)


def test_a_verdict_that_was_cut_off_is_none_even_if_it_can_be_read(ollama):
    rambling = f"{YES}{' ' * 3}{'x ' * 200}"
    verdicts = graded(ollama, rambling, rambling)
    assert labels(verdicts) == ["unparsed", "unparsed"]
    assert "cut off after" in verdicts[0].why
    closed = say(YES, done_reason="length")
    assert "cut off after" in graded(ollama, closed, closed)[0].why


def test_an_answer_that_was_cut_off_says_so(ollama, engine):
    ollama.script("word " * 600)
    pieces, text = answered(engine)
    assert text.startswith("word word")
    assert pieces[-1].usage.notes[0].startswith("the answer was cut off after 512 tokens, the most")


# --- prompts that do not fit ------------------------------------------------------------------------------------------


def texts_in(body):
    """The texts of the passages in a prompt."""
    return re.findall(r">\n(.*)\n</passage>", contents(body)[1][1])


def test_by_the_counts_of_the_server_one_more_try_is_enough(ollama):
    ollama.script(
        too_long(n_prompt=3000, n_ctx=2048),
        lambda body: grades("y" * len(shown(body))),
    )
    verdicts = graded(ollama, documents=passages(8, WORDS))
    assert labels(verdicts) == ["relevant"] * 8
    refused, first, second = ollama.chats
    assert shown(refused) == list(range(1, 9))
    kept = len(shown(first))
    assert 3 <= kept <= 5, "room for two thirds of the prompt, whose beginning stays"
    assert [said[:10] for said in texts_in(first) + texts_in(second)] == [f"Passage {n}." for n in range(1, 9)]
    assert (verdicts[0].usage.notes, verdicts[0].usage.retries) == ((), 0), "nothing was left out"


@pytest.mark.parametrize(
    ("reply", "restarts"),
    [
        (too_long(n_prompt=3000, n_ctx=2048), 0),
        (say("It costs 900 euros [8].", prompt_tokens=500), 1),
        (say("It costs", done_reason="length", prompt_tokens=3907, output_tokens=189), 1),
    ],
    ids=["refused", "cut in silence", "no room for the reply"],
)
def test_a_prompt_that_does_not_fit_loses_its_last_passages(ollama, engine, reply, restarts):
    ollama.script(reply, ANSWER)
    pieces, text = answered(engine, passages(8, WORDS))
    assert text == ANSWER
    assert sum(piece.restart for piece in pieces) == restarts
    (note,) = pieces[-1].usage.notes
    assert "ranked lowest" in note and "left out" in note
    first, second = map(shown, ollama.chats)
    assert second == first[: len(second)] and 0 < len(second) < len(first)


CUT_IN_SILENCE = say(YES, prompt_tokens=4096)


@pytest.mark.parametrize("reply", [too_long(n_prompt=9000, n_ctx=4096), CUT_IN_SILENCE], ids=["refused", "cut"])
def test_a_prompt_that_never_fits_is_an_error(ollama, engine, reply):
    ollama.always = reply
    for task in (
        lambda: engine.relevance(QUESTION, passages(3)),
        lambda: answered(engine, passages(3)),
        lambda: engine.rewrite(QUESTION, [QUESTION], "web"),
        lambda: engine.standalone(QUESTION, [Turn(QUESTION, ANSWER)]),
        lambda: engine.route(QUESTION, FULL_CATALOG),
    ):
        with pytest.raises(EngineError, match="does not fit the window of 4,096 tokens of tiny") as met:
            task()
        assert "num_ctx" in met.value.hint
    grade = engine.grade(QUESTION, passages(3), ANSWER)
    assert (grade.support, grade.usefulness, grade.score) == ("unparsed", 0, None), "the answer stands"
    assert "does not fit the window" in grade.why


def test_what_is_estimated_too_long_is_never_sent(ollama):
    with engine_on(ollama, num_ctx=1024) as engine:
        verdicts = engine.relevance(QUESTION, passages(8, WORDS))
        pieces, _ = answered(engine, passages(8, WORDS // 3))
        with pytest.raises(EngineError, match="even with one passage"):
            engine.relevance(QUESTION, passages(2, 2000))
        mixed = engine.relevance(QUESTION, [*passages(1, 2000), *passages(2)])
    assert labels(mixed) == ["unparsed", "relevant", "relevant"] and "does not fit" in mixed[0].why
    assert labels(verdicts) == ["relevant"] * 8
    assert all(ollama.count(ollama.render(body["messages"])) < 1024 for body in ollama.chats)
    assert "ranked lowest" in pieces[-1].usage.notes[0]


def test_a_check_keeps_what_the_answer_cites(ollama):
    ollama.always = say(FULLY)
    with engine_on(ollama, num_ctx=1024) as engine:
        grade = engine.grade(QUESTION, passages(8, WORDS), "It costs 700 euros [7].")
    assert grade.support == "fully"
    assert 7 in shown(ollama.chats[0])
    assert 8 not in shown(ollama.chats[0])


# --- more than one window holds ---------------------------------------------------------------------------------------


def only_passage_27(body):
    return grades("y" if "Passage 27." in text else "n" for text in texts_in(body))


def ranked(count, words):
    """Passages of which the last is ranked highest."""
    documents = passages(count, words)
    for number, document in enumerate(documents):
        document.metadata["rank_score"] = number / count
    return documents


def test_passages_beyond_the_window_are_graded_in_further_calls_the_best_first(ollama):
    ollama.always = only_passage_27
    documents = ranked(30, WORDS // 3)
    with engine_on(ollama, num_ctx=1024) as engine:
        verdicts = engine.relevance(QUESTION, documents)
        ollama.always = ANSWER
        relevant = [one for one, verdict in zip(documents, verdicts, strict=True) if verdict.label == "relevant"]
        pieces, _ = answered(engine, relevant)
    assert labels(verdicts) == ["irrelevant"] * 26 + ["relevant"] + ["irrelevant"] * 3
    *calls, answer = ollama.chats
    assert len(calls) > 3
    order = [[int(text.split()[1].rstrip(".")) for text in texts_in(body)] for body in calls]
    assert list(chain(*map(sorted, reversed(order)))) == list(range(1, 31)), "each once, the best in the first call"
    assert "Passage 27." in "".join(texts_in(answer)) and not pieces[-1].usage.notes
    assert (verdicts[0].usage.calls, verdicts[0].usage.notes) == (len(calls), ())


def test_a_call_that_says_nothing_usable_spoils_only_its_own_passages(ollama):
    ollama.script("Sure!", "Sure!")
    with engine_on(ollama, num_ctx=1024) as engine:
        verdicts = engine.relevance(QUESTION, passages(12, WORDS // 3))
    bad = labels(verdicts).count("unparsed")
    assert 0 < bad < 12
    assert labels(verdicts) == ["unparsed"] * bad + ["relevant"] * (12 - bad)


def test_grading_leaves_time_for_the_answer(ollama, monkeypatch):
    """A share of nothing: the first call uses it up."""
    monkeypatch.setattr(graders, "SHARE", 0.0)
    with engine_on(ollama, num_ctx=1024) as engine, cancel.scope(Cancel(LONG)):
        engine.relevance(QUESTION, passages())  # loads the model, which gives the question its time back
        verdicts = engine.relevance(QUESTION, passages(12, WORDS // 3))
    first = len(texts_in(ollama.chats[1]))
    assert len(ollama.chats) == 2
    assert labels(verdicts) == ["relevant"] * first + ["unparsed"] * (12 - first)
    assert verdicts[-1].why == "not graded: the time of the question did not allow it"
    assert verdicts[0].usage.notes == (f"{12 - first} passages not graded: the time of the question did not allow it",)


def test_a_retry_that_does_not_fit_is_unparsed(ollama):
    verdicts = graded(ollama, "Sure!", too_long(n_prompt=4200, n_ctx=4096), documents=passages(1))
    assert labels(verdicts) == ["unparsed"]
