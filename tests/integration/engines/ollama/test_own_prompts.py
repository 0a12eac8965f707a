"""Texts of one's own on a server: they arrive, replies are still read, and what is measured by others says so."""

from dataclasses import replace

import pytest
from support.fakes import FakeCorpus, passage
from support.ollama_engine import QUESTION, contents, engine_on
from support.ollama_mind import mind

from local_rag.config.calibrated import (
    fingerprint_of,
    keep,
    thresholds_for,
    void_calibration,
)
from local_rag.config.settings import Settings
from local_rag.config.values import Thresholds
from local_rag.core.errors import ConfigError
from local_rag.engines.language_model.prompt_texts import PromptTexts, of_person
from local_rag.engines.language_model.prompts import Prompts
from local_rag.evaluation.manifest import own_prompts
from local_rag.runtime.engine_choice import Choice, choose_engine, prompt_file, prompt_texts
from local_rag.runtime.rag import Rag

OWN = {
    "system": "You serve a library.",
    "retrieval_grader": "Would a librarian hand over {passages}?",
    "generator": "Answer the question {shape}, as a librarian would.",
    "hallucination_grader": 'is {sentences} in the books? "fully", "partially" or "no".',
    "answer_grader": "from 1 to 5, how glad is the reader of {answer}?",
}


def test_texts_reach_the_server_the_replies_are_read_and_each_call_says_of_which_texts_it_was_made(ollama):
    texts = of_person(OWN, "prompts.yaml")
    ollama.always = mind
    with engine_on(ollama, texts=texts) as engine:
        corpus = FakeCorpus([passage(number) for number in range(1, 5)])
        answer = Rag(Settings.load(graph="self-rag", k=2), corpus, Choice(engine)).ask(QUESTION)
    assert answer.status == "grounded"
    told = [contents(body) for body in ollama.chats]
    assert {system for (_, system), _ in told} == {Prompts(texts).texts.system}
    tasks = [user.rpartition("Task: ")[2] for _, (_, user) in told]
    assert tasks[1].startswith("Answer the question in at most 3 sentences, as a librarian would.")
    assert "in the books?" in tasks[2] and "how glad is the reader" in tasks[2]
    names = ["retrieval_grader", "generator", "hallucination_grader+answer_grader"]
    made = [(name, texts.digest(name.split("+"))) for name in names]
    assert [(call.role, call.prompt) for call in answer.usage.log] == made
    assert made[0][1] != PromptTexts().digest(["retrieval_grader"])


def test_thresholds_that_were_calibrated_with_other_texts_do_not_hold(ollama):
    settings = Settings.load(engine="ollama", model="tiny", ollama__grading="packed")
    ours = choose_engine(settings, None, None)
    keep(settings, fingerprint_of(ours.engine, None), Thresholds(relevance=0.9), {})
    assert thresholds_for(settings, ours.engine.fingerprint).relevance == 0.9 and not ours.note
    ours.engine.close()
    prompt_file(settings).write_text("rewriter: Write a query.\n")
    own = choose_engine(settings, None, None)
    assert thresholds_for(settings, own.engine.fingerprint).relevance is None
    assert own.note == "prompts of your own: rewriter"
    assert void_calibration(settings, own.engine.fingerprint)
    assert own.lines[-1] == own.note
    assert set(own_prompts(own.engine)) == {"rewriter"} and own_prompts(ours.engine) == {}
    own.engine.close()


def test_a_program_gives_texts_that_are_stronger_than_those_of_the_file():
    settings = replace(Settings.load(), prompts={"rewriter": "Write one query."})
    prompt_file(settings).parent.mkdir(parents=True, exist_ok=True)
    prompt_file(settings).write_text("rewriter: Write a query.\nrewriter_web: Write three words.\n")
    texts = prompt_texts(settings)
    assert texts.replacements == {"rewriter": "Write one query.", "rewriter_web": "Write three words."}
    assert texts.origin == {"rewriter": "prompts", "rewriter_web": str(prompt_file(settings))}
    with pytest.raises(ConfigError, match=r"prompts: generator lacks \{shape\}"):
        Rag.open(prompts={"generator": "Answer."}, engine="extractive")


@pytest.mark.parametrize(
    ("content", "wrong"),
    [
        (b"rewriter: [", "is not YAML in line"),
        (b"rewriter: [x]", "must be a text, not list"),
        (b"a: !!python/object/apply:os.system [ls]", "is not YAML"),
        (b"x" * 1_000_001, "has more than 1 MB"),
        (b"[" * 100_000, "nest"),
        (b"rewriter: &a [*a]", "it has the alias *a"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_a_hostile_file_is_one_clear_line(content, wrong):
    settings = Settings.load()
    prompt_file(settings).parent.mkdir(parents=True, exist_ok=True)
    prompt_file(settings).write_bytes(content)
    with pytest.raises(ConfigError) as raised:
        prompt_texts(settings)
    assert wrong in str(raised.value)
    assert str(prompt_file(settings)) in str(raised.value) and "\n" not in str(raised.value)
