"""From tokens and their alternatives to the probabilities of labels: where a verdict stands, what is known of it."""

from __future__ import annotations

import json
import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.ollama_server import recordings

from local_rag.core.critique import answered
from local_rag.core.verdicts import Grade
from local_rag.engines.language_model.parsed_verdict import ParsedVerdict, support_score, usefulness_score
from local_rag.engines.language_model.token_probabilities import Token, label_probabilities, tokens_of, value_start

YES_NO = ("yes", "no")
SUPPORT = ("fully", "partially", "no")
LEVELS = ("1", "2", "3", "4", "5")


def token(text, own=None, **others):
    """A token of this probability, beside others; of names, a blank is `_` and a quote `q`."""
    listed = {name.replace("_", " ").replace("q", '"'): odds for name, odds in others.items()}
    logprob = math.log(own) if own else -0.001
    return Token(text, logprob, tuple((other, math.log(odds)) for other, odds in listed.items()))


def sure(*texts):
    return [Token(text, -0.001, ((text, -0.001),)) for text in texts]


TABLE = {
    "both listed": (
        [*sure('{"r": "'), token("yes", 0.6, yes=0.6, no=0.2), *sure('"}')], ("r",), YES_NO, {"yes": 0.75, "no": 0.25},
    ),
    "one chosen by the grammar, the other listed": (
        [*sure('{"r": "'), token("no", 0.01, yes=0.03, Sure=0.9), *sure('"}')], ("r",), YES_NO,
        {"yes": 0.75, "no": 0.25},
    ),
    "only the chosen one listed": (
        [*sure('{"r": "'), token("yes", 0.6, yes=0.6, Yeah=0.2), *sure('"}')], ("r",), YES_NO, None,
    ),
    "listed, but not as what was chosen": (
        [*sure('{"r": "'), token("no", 0.01, yes=0.3, maybe=0.3), *sure('"}')], ("r",), YES_NO,
        {"yes": 30 / 31, "no": 1 / 31},
    ),
    "a leading blank and a quote": (
        [*sure('{"r":'), token(' "yes', 0.3, _qyes=0.3, _qno=0.2, qno=0.1), *sure('"}')], ("r",), YES_NO,
        {"yes": 0.5, "no": 0.5},
    ),
    "the end of the string in the same token": (
        [*sure('{"r": "'), token('no"}', 0.5, yes=0.5)], ("r",), YES_NO, {"yes": 0.5, "no": 0.5},
    ),
    "capitals and blanks are the same word": (
        [*sure('{"r": "'), token("yes", 0.2, yes=0.2, Yes=0.2, _YES=0.2, no=0.2), *sure('"}')], ("r",), YES_NO,
        {"yes": 0.75, "no": 0.25},
    ),
    "other words that begin alike": (
        [*sure('{"r": "'), token("yes", 0.2, yes=0.2, yesterday=0.3, none=0.3, not_a=0.1), *sure('"}')], ("r",),
        YES_NO, None,
    ),
    "a label in several tokens": (
        [*sure('{"s": "'), token("part", 0.2, full=0.6, no=0.2), *sure("ially", '"}')], ("s",), SUPPORT,
        {"fully": 0.6, "partially": 0.2, "no": 0.2},
    ),
    "told by a later token": (
        [*sure('{"d": "'), token("vec", 0.9, w=0.1), token("torA", 0.2, torB=0.6), *sure('"}')], ("d",),
        ("vectorA", "vectorB"), {"vectora": 0.25, "vectorb": 0.75},
    ),
    "told by a later token, a third one by an earlier": (
        [*sure('{"d": "'), token("vec", 0.9, w=0.1), token("torA", 0.2, torB=0.6), *sure('"}')], ("d",),
        ("vectorA", "vectorB", "web"), None,
    ),
    "the second of a list": (
        [*sure('{"r": ["'), token("yes", 0.9, no=0.1), *sure('", "'), token("yes", 0.3, no=0.1), *sure('"]}')],
        ("r", 1), YES_NO, {"yes": 0.75, "no": 0.25},
    ),
    "a bracket before the label": (
        [*sure('{"r":'), token('["no', 0.2, yes=0.2), *sure('"]}')], ("r", 0), YES_NO, {"yes": 0.5, "no": 0.5},
    ),
    "behind escapes and other values": (
        [*sure('{"w": "a \\"no\\" \\u00e9 {[,", "x": [1, {"r": "no"}], "r": "'), token("no", 0.25, yes=0.75),
         *sure('"}')], ("r",), YES_NO, {"yes": 0.75, "no": 0.25},
    ),
    "behind a list and white space": (
        [*sure('{ "s" : [ "fully" , "no" ] ,\n "u" :'), token(" 4", 0.5, _5=0.5), *sure(" }")], ("u",), LEVELS,
        {"4": 0.5, "5": 0.5},
    ),
    "a number, and others that begin alike": (
        [*sure('{"u": '), token("5", 0.4, **{"4": 0.4, "50": 0.1, "3x": 0.1, "6": 0.1}), *sure("}")], ("u",), LEVELS,
        {"4": 0.5, "5": 0.5},
    ),
    "thoughts before the reply": (
        [*sure('<think>{"r": "no"}</think>\n', '{"r": "'), token("no", 0.25, yes=0.75), *sure('"}')], ("r",), YES_NO,
        {"yes": 0.75, "no": 0.25},
    ),
    "an escaped label": ([*sure('{"r": "\\u006eo"}')], ("r",), YES_NO, None),
    "no figures": ([Token('{"r": "'), Token("no"), Token('"}')], ("r",), YES_NO, None),
    "the whole reply in one token": ([token('{"r": "no"}', 0.5, yes=0.5)], ("r",), YES_NO, {"yes": 0.5, "no": 0.5}),
    "nothing": ([], ("r",), YES_NO, None),
}  # fmt: skip


@pytest.mark.parametrize(("tokens", "path", "labels", "expected"), TABLE.values(), ids=TABLE)
def test_the_probabilities_of_a_verdict(tokens, path, labels, expected):
    reply = "".join(one.text for one in tokens).rpartition("</think>")[2].strip()
    found = label_probabilities(tokens, reply or "{}", path, labels)
    assert found == (pytest.approx(expected) if expected else None)


def test_a_reply_that_is_not_in_the_tokens_says_nothing():
    tokens = [*sure('{"r": "'), token("yes", 0.6, no=0.2), *sure('"}')]
    assert label_probabilities(tokens, '{"r":"yes"}', ("r",), YES_NO) is None
    assert label_probabilities(tokens, "", ("r",), YES_NO) is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from("abw"), JSON), JSON, st.sampled_from([None, 1]), st.booleans())
def test_a_value_is_found_behind_anything(before, after, indent, ascii_only):
    whole = before | {"r": ["yes", "no"], "s": "fully no", "z": after}
    reply = json.dumps(whole, indent=indent, ensure_ascii=ascii_only)
    assert reply[value_start(reply, ("r", 1)) :].startswith('no"')
    assert reply[value_start(reply, ("r",)) :].startswith("[")
    assert reply[value_start(reply, ("s",)) :].startswith("fully no")
    assert reply[value_start(reply, ("s", 1)) :].startswith('no"')


@given(st.lists(st.sampled_from(YES_NO), min_size=1, max_size=6), st.booleans(), st.data())
def test_however_a_reply_is_cut_into_tokens_each_verdict_has_its_own_figures(labels, listed, data):
    """Every token tells its own place; the figures of a verdict are those of the token that holds its first letter."""
    reply = json.dumps({"r": labels if listed else " ".join(labels)})
    cuts = [0, *sorted(data.draw(st.sets(st.integers(1, len(reply) - 1)))), len(reply)]
    tokens = [
        Token(reply[start:end], math.log(1e-12), (("\tyes", 0.0), ("\tno", math.log(1 / (number + 2)))))
        for number, (start, end) in enumerate(pairwise(cuts))
    ]
    for place in range(len(labels)):
        at = value_start(reply, ("r", place))
        holder = next(number for number, end in enumerate(cuts[1:]) if end > at)
        assert label_probabilities(tokens, reply, ("r", place), YES_NO)["no"] == pytest.approx(
            1 / (holder + 3), rel=1e-6
        )


# --- lines of a stream ------------------------------------------------------------------------------------------------


def entry(text, logprob=-1.0, **more):
    return {"token": text, "logprob": logprob} | more


def test_figures_belong_to_the_text_beside_them():
    listed = [entry("no", -2.0, top_logprobs=[entry("yes", -1.0), entry("no", -2.0)])]
    assert tokens_of("no", listed) == [Token("no", -2.0, (("yes", -1.0), ("no", -2.0)))]
    assert tokens_of("no", [entry("n"), entry("o", -3.0, top_logprobs=None)]) == [Token("n", -1.0), Token("o", -3.0)]
    for content, odd in (("é", [entry("\ufffd")]), ("{}", [entry("}")]), ("no", None), ("no", []), ("", [entry("no")])):
        assert tokens_of(content, odd) == [Token(content)]


@pytest.mark.parametrize("version", ["0.33.0-rc2", "0.24.0"])
def test_the_recorded_stream_has_a_position_and_no_second_label(version):
    """Random weights: "no" was forced by the grammar, and "yes" was never among the five listed."""
    case = {one.case: one for one in recordings(version)}["schema-enum-logprobs-stream"]
    tokens = []
    for line in map(json.loads, case.response["lines"]):
        tokens += tokens_of(line["message"]["content"], line.get("logprobs"))
    reply = "".join(one.text for one in tokens)
    assert json.loads(reply) == {"binary_score": "no"}
    assert all(one.logprob is not None for one in tokens if one.text)
    assert label_probabilities(tokens, reply, ("binary_score",), YES_NO) is None
    begins = reply.index("no") - len(reply)
    place = next(n for n in range(len(tokens)) if len("".join(one.text for one in tokens[n:])) == -begins)
    known = Token(tokens[place].text, tokens[place].logprob, (*tokens[place].others, ("yes", tokens[place].logprob)))
    found = label_probabilities([*tokens[:place], known, *tokens[place + 1 :]], reply, ("binary_score",), YES_NO)
    assert found == pytest.approx({"yes": 0.5, "no": 0.5})


# --- scores -----------------------------------------------------------------------------------------------------------


def test_scores_of_self_rag():
    assert ParsedVerdict(None).yes("r") is None
    assert support_score([{"fully": 0.6, "partially": 0.2, "no": 0.2}, {"fully": 1.0, "no": 0.0}]) == pytest.approx(
        0.85
    )
    assert support_score([{"fully": 1.0, "no": 0.0}, None]) is None
    assert support_score([]) is None
    assert usefulness_score({"5": 0.5, "4": 0.25, "1": 0.25}) == pytest.approx(0.375)
    assert usefulness_score(None) is None


ANSWERED = [
    (Grade("fully", 5, ("fully", "fully")), 1.0),
    (Grade("partially", 5, ("fully", "no")), 0.5),
    (Grade("partially", 3, ("partially",)), 0.25),
    (Grade("fully", 2), 0.25),
    (Grade("no", 5, ("no",)), 0.0),
    (Grade("fully", 1, ("fully",)), 0.0),
    (Grade("fully", 5, ("fully",), support_score=0.8, usefulness_score=0.5), 0.6),
    (Grade("fully", 5, ("fully",), support_score=0.8), 0.8),
    (Grade("fully", 3, ("fully",), usefulness_score=-0.5), 0.25),
    (Grade("fully", 0, ("fully",)), None),
    (Grade("unparsed", 5), None),
    (Grade("unparsed", 0), None),
]


@pytest.mark.parametrize(("grade", "expected"), ANSWERED)
def test_the_chance_that_an_answer_answers(grade, expected):
    assert answered(grade) == (None if expected is None else pytest.approx(expected))
