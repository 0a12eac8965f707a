"""How a query is read that people type, and which passages obey it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from local_rag.core.documents import Narrowing
from local_rag.core.errors import UsageError
from local_rag.index.exact_words import Query, obeys, quoted_phrases, typed_query

QUOTED = ("net sum", "grobe Sache", "faute lourde")


@pytest.mark.parametrize(
    ("typed", "query"),
    [
        ('"notice period" rent', Query("notice period rent", ("notice period",))),
        ('-draft rent -"first draft" -old', Query("rent", (), ("draft", "first draft", "old"))),
        ("“net sum” „grobe Sache“ «faute lourde»", Query("net sum grobe Sache faute lourde", QUOTED)),
        ('"a" "a -b"', Query("a a -b", ("a", "a -b"))),
        # what only looks like an operator stands for itself
        ("self-rag - and at -5 °C", Query("self-rag - and at -5 °C")),
        ('a 5" and a 6" pipe', Query('a 5" and a 6" pipe')),
        ('an open "quote', Query('an open "quote')),
        ("(“net” or gross)", Query("( net or gross)", ("net",))),
    ],
)
def test_a_query_is_read_as_people_type_it(typed, query):
    assert typed_query(typed) == query


@pytest.mark.parametrize(
    ("typed", "message"),
    [('-draft -"first draft"', "only says what to leave out"), ('"" -- ?', "the query has no word")],
)
def test_a_query_without_words_is_refused(typed, message):
    with pytest.raises(UsageError, match=message):
        typed_query(typed)


def test_of_a_question_only_quotes_are_operators():
    assert quoted_phrases('What does "gross negligence" mean -draft or not?') == ("gross negligence",)


@pytest.mark.parametrize(
    ("phrases", "without", "text", "obeyed"),
    [
        (["notice period"], [], "The Notice\nPeriod is long.", True),
        (["notice period"], [], "The notice of a period, two notice periods", False),
        (["café", "of leases"], [], "the cafe", True),
        (["of leases draft"], [], "The draft", False),
        (["self-rag", "…"], [], "Self RAG grades.", True),
        ([], ["draft", "…"], "some drafts", True),
        ([], ["Leases"], "some drafts", False),
    ],
)
def test_a_passage_obeys_in_text_heading_or_title(phrases, without, text, obeyed):
    passage = SimpleNamespace(text=text, heading="Of leases", title="Annex")
    assert obeys(passage, Narrowing(phrases=phrases, without=without)) is obeyed
