"""Misspelled words of a question are replaced by words of the index; names and real words stay."""

import pytest
from support.fakes import FakeCorpus, ScriptedEvaluator

from local_rag.text.spelling import repaired

FILES = "annual premium household deposit boil boiler".split()
ENGLISH = {"casts", "mangle", "fees"}


class Files(FakeCorpus):
    def document_frequency(self, terms):
        return {term: int(term in FILES) for term in terms}

    def spelled_like(self, word):
        return [each for each in FILES if each[0] == word[0]]


class Reader(ScriptedEvaluator):
    def knows(self, word):
        return word in ENGLISH


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("how mutch is the anual premium", "how much is the annual premium"),
        ("wich houshold premiuum", "which household premium"),
        ("the depossit since Febuary", "the deposit since February"),
        ("Boilr of the house?", "boiler of the house?"),
        ("Who is Depossit?", "Who is Depossit?"),
        ("casts and fees of 12ab", "casts and fees of 12ab"),
        ("what of the naïve annuaal", "what of the naïve annual"),
        ("zeppelins", "zeppelins"),
        ("Was ist, wenn die Mietee endet?", "Was ist, wenn die Mietee endet?"),
    ],
)
def test_a_word_that_nobody_knows_becomes_the_nearest_one(written, meant):
    assert repaired(written, Files(), Reader()) == meant
