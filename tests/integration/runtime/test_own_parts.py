"""Test a corpus, a reranker and an engine that a program gives to Rag.open."""

import asyncio
from dataclasses import replace

import pytest
from support.fakes import FakeCorpus, FakeWeb, ScriptedEngine, passage
from support.screen import shown

from local_rag import Rag
from local_rag.config.values import Web
from local_rag.core.errors import UsageError
from local_rag.diagnostics.kept import about, kept
from local_rag.runtime.kept import RunPassages
from local_rag.terminal.history import run_parts

QUESTION = "What does the plan cost?"


class ByLength:
    """Order the longest passage first, as no search would."""

    fingerprint = "by length 1"

    def __init__(self):
        self.asked = []

    def rerank(self, question, documents):
        self.asked.append((question, len(documents)))
        ranked = sorted(documents, key=lambda document: -len(document.page_content))
        return [(document, 1 / rank) for rank, document in enumerate(ranked, start=1)]


def corpus():
    return FakeCorpus([passage(number, f"The plan costs 100 euros{' and more' * number}.") for number in range(1, 9)])


def test_a_corpus_of_ones_own_takes_the_place_of_the_index():
    given = corpus()
    with Rag.open(engine="extractive", corpus=given) as rag:
        answer = rag.ask(QUESTION)
        assert rag.corpus is given
        with pytest.raises(UsageError, match="a corpus of a program is asked, and no index"):
            rag.index.status()
        assert (answer.status, answer.engine) == ("grounded", "extractive")
        assert answer.citations[0].source in {document.metadata["source"] for document in given.search(QUESTION, 8)}
    assert not given.closed


def test_a_reranker_chooses_from_more_than_is_wanted():
    given, reranker = corpus(), ByLength()
    with Rag.open(engine=ScriptedEngine(), corpus=given, reranker=reranker, k=2) as rag:
        state = rag.graph("plain").invoke({"question": QUESTION}, context=rag.context())
        assert rag.fingerprint.endswith("; by length 1")
    assert [document.metadata["chunk_id"] for document in state["documents"]] == ["8", "7"]
    assert [document.metadata["rank_score"] for document in state["documents"]] == [1.0, 0.5]
    assert reranker.asked == [(QUESTION, 8)]
    assert given.queries[0][1] == 10


def test_an_engine_of_ones_own_stays_open_and_an_index_that_was_opened_is_closed():
    engine = ScriptedEngine()
    with Rag.open(engine=engine, corpus=corpus()) as rag:
        assert rag.ask(QUESTION).engine == "scripted"
        assert rag.choice.lines == ["engine: obeys a script"]
    assert ("close",) not in engine.asked


def test_prompts_say_nothing_to_an_engine_that_has_its_own():
    with pytest.raises(UsageError, match="prompts= says nothing to it"):
        Rag.open(engine=ScriptedEngine(), corpus=corpus(), prompts={"system": "Be brief."})


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"reranker": lambda question, documents: documents}, "a reranker has .*, and function does not"),
        ({"corpus": [1]}, "a corpus has .*, and list does not"),
        ({"prompts": ["a"]}, "prompts are texts by name, not list"),
        ({"model": "qwen"}, "model='qwen' says nothing to an engine that a program gives"),
    ],
)
def test_what_is_no_part_is_one_clear_line(wrong, message):
    with pytest.raises(UsageError, match=message) as raised:
        Rag.open(**{"engine": ScriptedEngine(), "corpus": corpus()} | wrong)
    assert raised.value.hint


def test_a_wrong_question_and_a_wrong_consent_are_one_clear_line():
    with Rag.open(engine=ScriptedEngine(), corpus=corpus()) as rag:
        with pytest.raises(UsageError, match="may_search is a function"):
            rag.context(may_search="foo")
        with pytest.raises(UsageError, match="a question is a text, not int"):
            rag.ask(5)
        for wrong in ({}, {"question": 5}):
            with pytest.raises(UsageError, match="a graph is given a question"):
                rag.graph("plain").invoke(wrong)
            with pytest.raises(UsageError, match="a graph is given a question"):
                asyncio.run(rag.graph("plain").ainvoke(wrong))


def test_a_corpus_of_ones_own_is_no_index_that_a_run_could_name(tmp_path):
    with Rag.open(engine=ScriptedEngine(), corpus=corpus()) as rag:
        run = rag.history.run(rag.ask(QUESTION, thread="a").run)
        assert (run.folder, run.conditions["index"]["name"]) == ("", "")
        (turn,) = rag.history.turns("a")
        assert turn.indexes == ("",) and rag.history.runs(index=rag.settings.index_path) == []
        (line,) = [line for line in shown(*run_parts(run, RunPassages.of(run))) if "note:" in line]
        assert "a corpus of a program was asked" in line
        assert about(kept(rag.settings)) == []


def test_a_corpus_of_ones_own_stays_off_the_web_as_soon_as_any_index_does():
    flags = {"engine": ScriptedEngine(), "corpus": corpus(), "web__enabled": "on"}
    with Rag.open(**flags) as rag:
        assert rag.web.enabled
    with pytest.raises(UsageError, match="about a corpus of one's own never go to the web"):
        Rag.open(**flags, web__never=["letters"])
    with Rag.open(**flags) as rag:
        never = replace(rag.settings, values=rag.settings.values.model_copy(update={"web": Web(never=("letters",))}))
    with Rag.open(never, engine=flags["engine"], corpus=corpus()) as rag:
        rag.web = FakeWeb()
        assert rag.context().limit("web_searches") == 0
