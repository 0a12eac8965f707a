"""What the evaluator reads joins the order of a search."""

from __future__ import annotations

import pytest
from support.fakes import FakeCorpus, passage

from local_rag.core.readings import Reading
from local_rag.index.reranked import FIRST, EvaluatorReranker, Reranked

QUESTION = "What does the plan cost?"


class Reads:
    """An evaluator that finds the answer where a passage says so."""

    fingerprint = "reads 1"

    def __init__(self, answer="the answer"):
        self.answer = answer
        self.read_of = []

    def read(self, question, documents):
        self.read_of.append((question, len(documents)))
        return [self._reading(self.answer in document.page_content) for document in documents]

    def supports(self, pairs):
        return [0.5 for _ in pairs]

    def close(self):
        pass

    def _reading(self, present):
        return Reading(0.1, 0.1, 0.8, (), 0.8) if present else Reading(0.8, 0.1, 0.1, (), 0.1)


class Options(FakeCorpus):
    """A corpus whose search takes the options of an index."""

    def search(self, query, k, *, within=(), exclude=(), mode="hybrid", repeats=False):
        self.modes = [*getattr(self, "modes", []), (mode, repeats)]
        return super().search(query, k, exclude=exclude)


def corpus(count=40, answers=()):
    """Passages as hybrid search scores them, best first."""
    texts = {number: f"Passage {number} has the answer." for number in answers}
    return Options([passage(n, texts.get(n, ""), rank_score=1 / (60 + n)) for n in range(1, count + 1)])


def ids(documents):
    return [document.metadata["chunk_id"] for document in documents]


def test_a_passage_with_the_answer_comes_before_those_that_share_words_only():
    searched = Reranked(corpus(answers=(7,)), EvaluatorReranker(Reads()))
    assert ids(searched.search(QUESTION, 4)) == ["7", "1", "2", "3"]


def test_the_search_decides_among_passages_that_read_alike():
    searched = Reranked(corpus(answers=(3, 9)), EvaluatorReranker(Reads()))
    assert ids(searched.search(QUESTION, 4)) == ["3", "9", "1", "2"]


def test_the_scores_fall_over_the_border_between_what_is_read_and_what_is_not():
    evaluator = Reads()
    found = Reranked(corpus(answers=(2,)), EvaluatorReranker(evaluator)).search(QUESTION, 36)
    scores = [document.metadata["rank_score"] for document in found]
    assert evaluator.read_of == [(QUESTION, FIRST)]
    assert scores == sorted(scores, reverse=True)
    assert len(set(ids(found))) == 36
    assert ids(found)[FIRST:] == [str(number) for number in range(FIRST + 1, 37)]


@pytest.mark.parametrize("mode", ["dense", "words"])
def test_only_hybrid_search_is_reranked(mode):
    evaluator = Reads()
    searched = Reranked(corpus(answers=(7,)), EvaluatorReranker(evaluator))
    assert ids(searched.search(QUESTION, 2, mode=mode, repeats=True)) == ["1", "2"]
    assert not evaluator.read_of
    assert searched.modes == [(mode, True)]


def test_the_options_of_an_index_and_what_is_excluded_reach_it():
    searched = Reranked(corpus(answers=(7,)), EvaluatorReranker(Reads()))
    assert ids(searched.search(QUESTION, 2, exclude=["7"], mode="hybrid", repeats=True)) == ["1", "2"]
    assert searched.modes == [("hybrid", True)]


def test_nothing_is_read_where_nothing_is_left():
    evaluator = Reads()
    assert Reranked(corpus(0), EvaluatorReranker(evaluator)).search(QUESTION, 4) == []
    assert not evaluator.read_of


def test_a_retriever_of_it_is_reranked_too():
    searched = Reranked(corpus(answers=(7,)), EvaluatorReranker(Reads()))
    assert ids(searched.as_retriever(2).invoke(QUESTION)) == ["7", "1"]


def test_the_fingerprint_follows_the_evaluator():
    evaluator = Reads()
    before = EvaluatorReranker(evaluator).fingerprint
    evaluator.fingerprint = "reads 2"
    assert EvaluatorReranker(evaluator).fingerprint != before
