"""Parts of one's own: a corpus, a reranker and an engine that a program gives to Rag.open."""

from __future__ import annotations

import pytest
from support.fakes import FakeCorpus, ScriptedEngine, passage

from local_rag import Rag
from local_rag.core.errors import UsageError

QUESTION = "What does the plan cost?"


class ByLength:
    """The longest passage first: no search would put them so."""

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
        assert rag.index is given
        assert (answer.status, answer.engine) == ("grounded", "extractive")
        assert answer.citations[0].source == "/notes/1.md"
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
