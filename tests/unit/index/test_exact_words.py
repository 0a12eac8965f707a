"""How a query is read that people type, and which passages obey it."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from local_rag.core.errors import UsageError
from local_rag.core.narrowing import Narrowing
from local_rag.index.exact_words import ExactWords, Query, quoted_phrases, typed_query

QUOTED = ("net sum", "grobe Sache", "faute lourde")


@pytest.mark.parametrize(
    ("typed", "query"),
    [
        ("notice period", Query("notice period")),
        ('"notice period" rent', Query("notice period rent", ("notice period",))),
        ("rent -draft", Query("rent", (), ("draft",))),
        ("-draft rent", Query("rent", (), ("draft",))),
        ('rent -"first draft" -old', Query("rent", (), ("first draft", "old"))),
        ("“net sum” „grobe Sache“ «faute lourde»", Query("net sum grobe Sache faute lourde", QUOTED)),
        ('"a" "a"', Query("a a", ("a",))),
        # what only looks like an operator stands for itself
        ("self-rag and long-term", Query("self-rag and long-term")),
        ("stored at -5 °C", Query("stored at -5 °C")),
        ("May - June", Query("May - June")),
        ('a 5" pipe', Query('a 5" pipe')),
        ('a 5" and a 6" pipe', Query('a 5" and a 6" pipe')),
        ('an open "quote', Query('an open "quote')),
        ("(“net” or gross)", Query("( net or gross)", ("net",))),
    ],
)
def test_a_query_is_read_as_people_type_it(typed, query):
    assert typed_query(typed) == query


def test_a_query_that_only_leaves_out_is_refused():
    for typed in ("-draft", '-"first draft" -old'):
        with pytest.raises(UsageError, match="only says what to leave out"):
            typed_query(typed)


def test_a_query_without_a_word_is_refused():
    for typed in ('""', '"', '"" -- ?', "…"):
        with pytest.raises(UsageError, match="the query has no word"):
            typed_query(typed)


def test_of_a_question_only_quotes_are_operators():
    assert quoted_phrases('What does "gross negligence" mean -draft or not?') == ("gross negligence",)
    assert quoted_phrases("Keep it at -5 °C, said the self-employed cook") == ()


@dataclass
class Stored:
    text: str
    heading: str = ""
    title: str = ""


@pytest.mark.parametrize(
    ("phrases", "without", "passage", "obeys"),
    [
        (["notice period"], [], Stored("The Notice\nPeriod is long."), True),
        (["notice period"], [], Stored("The notice of a period"), False),
        (["notice period"], [], Stored("notice periods"), False),
        (["notice period"], [], Stored("It is long.", heading="Lease > Notice period"), True),
        (["notice period"], [], Stored("period", title="notice"), False),
        (["self-rag"], [], Stored("Self RAG grades."), True),
        (["Café"], [], Stored("the cafe"), True),
        ([], ["draft"], Stored("a Draft"), False),
        ([], ["draft"], Stored("some drafts"), True),
        ([], ["draft"], Stored("final", title="Draft of March"), False),
        (["lease"], ["draft"], Stored("the lease"), True),
    ],
)
def test_a_passage_obeys_exact_words(phrases, without, passage, obeys):
    assert ExactWords.of(Narrowing(phrases=phrases, without=without)).are_in(passage) is obeys


def test_a_narrowing_without_words_asks_for_none():
    assert ExactWords.of(Narrowing(phrases=["…"], types=["pdf"])) is None
