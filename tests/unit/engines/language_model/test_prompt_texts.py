"""Texts of one's own: which ones are taken, what the others are told, and what no text can change."""

from __future__ import annotations

import re

import pytest

from local_rag.core.errors import ConfigError
from local_rag.core.protocols import Attempt, Shape
from local_rag.diagnostics.prompts import example
from local_rag.engines.language_model.prompt_texts import DATA_ONLY, LONGEST, TEXTS, PromptTexts, of_person
from local_rag.engines.language_model.prompts import Prompts


def test_our_own_texts_pass_their_checks():
    ours = {name: text.text for name, text in TEXTS.items()}
    texts = of_person(ours, "prompts.yaml")
    assert texts.own == ours
    assert texts.changed == {} and texts.fingerprint == ""


@pytest.mark.parametrize(
    ("name", "text", "wrong", "fix"),
    [
        ("generater", "Answer {shape}.", "there is no prompt 'generater'", "did you mean generator?"),
        ("zzz", "Answer.", "there is no prompt 'zzz'", "the prompts are system, router"),
        ("generator", 3, "generator must be a text, not int", "local-rag prompts show generator"),
        ("generator", None, "generator must be a text, not NoneType", "local-rag prompts show generator"),
        ("generator", ["Answer {shape}."], "must be a text, not list", "local-rag prompts show generator"),
        ("generator", "  \n ", "generator is empty", "local-rag prompts show generator --default"),
        ("generator", "Answer briefly.", "lacks {shape}", "answer.sentences, style and language"),
        ("generator", "Answer {shape} in {tone}.", "unknown placeholder {tone}", "it may hold {shape}"),
        ("rewriter", "Write about {question}.", "unknown placeholder {question}", "this text has no placeholders"),
        ("router", "Choose {first}.", "lacks {sources}", "the sources on offer"),
        ("judge", "Is it correct?", 'does not name the answer "right"', "right and wrong"),
        ("generator", f"Answer {{shape}}. {'x' * LONGEST}", "a text has at most 4,000", "fewer words"),
        ("generator", "Answer {shape}. </passage> <passage>", "holds a fence", "without"),
        ("generator", "Answer {shape}. ＜/answer＞", "holds a fence", "without"),
        ("generator", "Answer {shape}. \u202e", "holds a fence, <passage> or <answer>, or characters", "without"),
        ("generator", "Answer {shape}.\x1b[2J", "holds the control character '\\x1b'", "a new line is allowed"),
    ],
)
def test_a_text_that_cannot_stand_in_a_prompt_is_named_with_its_fix(name, text, wrong, fix):
    with pytest.raises(ConfigError) as raised:
        of_person({name: text}, "prompts.yaml")
    assert str(raised.value).startswith("prompts.yaml: ") and wrong in str(raised.value)
    assert fix in raised.value.hint
    assert "\n" not in str(raised.value)


def test_other_braces_are_no_placeholders():
    texts = of_person({"rewriter": 'Write a query. {"a": 1} { } {}'}, "prompts.yaml")
    assert texts.filled("rewriter") == 'Write a query. {"a": 1} { } {}'


def test_what_stands_in_a_placeholder_is_not_filled_again():
    texts = PromptTexts({"router": "{sources} or {first}"})
    assert texts.filled("router", sources="{first}", first="vectorstore") == "{first} or vectorstore"


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_stands_in_its_prompt_between_what_is_ours(name):
    placeholders = " ".join(f"{{{placeholder}}}" for placeholder in TEXTS[name].placeholders)
    own = f"MARK ME {placeholders} {' '.join(TEXTS[name].answers)}"
    ours, theirs = Prompts(), Prompts(of_person({name: own}, "prompts.yaml"))
    before, after = ("\n".join(content for _, content in example(prompts, name)) for prompts in (ours, theirs))
    assert "MARK ME" in after and not re.search(r"\{\w+\}", after)
    for part in ("<passage", "</passage>", "<answer>", "</answer>", "Question: ", "Task: ", DATA_ONLY):
        assert before.count(part) == after.count(part), part
    assert [line for line in before.splitlines() if line.startswith("<")] == [
        line for line in after.splitlines() if line.startswith("<")
    ]
    form = re.search(r"Answer in JSON.*", before)
    assert form is None or form[0] in after, "the form of the reply is ours"


def test_marks_and_the_fixed_reply_are_asked_for_whatever_a_text_says():
    task = Prompts(of_person({"generator": "Say it in rhymes, {shape}."}, "")).answer_task(Attempt())
    assert task.startswith("Say it in rhymes, in at most 3 sentences. End each sentence with the number")
    assert task.endswith(Shape().refusal)


def test_a_digest_is_that_of_the_system_message_and_the_text():
    ours = PromptTexts()
    own = of_person({"rewriter": "Write another query."}, "")
    assert re.fullmatch("[0-9a-f]{12}", ours.digest(["rewriter"]))
    assert own.digest(["rewriter"]) != ours.digest(["rewriter"])
    assert own.digest(["generator"]) == ours.digest(["generator"])
    assert of_person({"system": "You help."}, "").digest(["generator"]) != ours.digest(["generator"])
    assert own.fingerprint and set(own.changed) == {"rewriter"}
