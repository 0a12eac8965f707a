"""Questions about a document itself, answered by the engine that quotes."""

from __future__ import annotations

import pytest
from support.fakes import passage
from support.fakes_index import remembering_minilm

from local_rag.core.generation import NOT_IN_PASSAGES, Attempt, Shape
from local_rag.engines.extractive.engine import ExtractiveEngine
from local_rag.text.answer_texts import GERMAN
from local_rag.text.citations import check

pytestmark = pytest.mark.usefixtures("converted")

HEAD = """RFC: 12
Title: Fog signals
Author: Ada Quill <ada@harbour.test>,
        Bo Reed <bo@harbour.test>
Status: Final
Created: 05-Mar-2017

.. note:: replaces an older one

Abstract
========

This rule says which sounds a boat makes in fog. It holds for every boat with an engine."""

FOG = passage(1, HEAD, source="/files/rfc-0012.rst", title="Fog signals", named="rfc 12")
HORN = passage(
    2,
    "The horn sounds twice a minute while the fog lasts. A bell is rung at anchor.",
    source="/files/rfc-0012.rst",
    title="Fog signals",
    heading="Signals",
    start=900,
    named="rfc 12",
)
FEES = passage(
    3,
    "A berth costs nine crowns. In fog the harbour master asks every boat for its name.",
    source="/files/fees.docx",
    title="Fees",
    author="Cy Moss",
    date="2023-03-31",
)
DOCUMENTS = [FOG, HORN, FEES]


@pytest.fixture(scope="module")
def engine():
    return ExtractiveEngine(remembering_minilm())


def answer(engine, question, documents=DOCUMENTS, attempt=Attempt()):  # noqa: B008
    return "".join(delta.text for delta in engine.answer(question, documents, attempt)).strip()


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Who wrote RFC 12?", "Author: Ada Quill <ada@harbour.test>, Bo Reed <bo@harbour.test> [1]"),
        ("When was RFC 12 created?", "Created: 05-Mar-2017 [1]"),
        ("What is the title of RFC 12?", "Title: Fog signals [1]"),
        ("What is the status of RFC 12?", "Status: Final [1]"),
        (
            "What is RFC 12 about?",
            "Title: Fog signals [1]\n\nThis rule says which sounds a boat makes in fog. [1] It holds for every boat "
            "with an engine. [1] The horn sounds twice a minute while the fog lasts. [2]",
        ),
        ("Who wrote the fees?", "fees.docx names Cy Moss as its author. [3]"),
        ("Wer hat fees geschrieben?", "fees.docx names Cy Moss as its author. [3]"),
        ("When were the fees written?", "fees.docx bears the date 2023-03-31. [3]"),
    ],
)
def test_a_document_says_it_of_itself(engine, question, expected):
    given = answer(engine, question)
    assert given == expected
    checked = check(given, DOCUMENTS)
    assert checked.status == "grounded"
    grade = engine.grade(question, DOCUMENTS, given)
    assert (grade.support, grade.usefulness) == ("fully", 5)
    cited = {citation.number for citation in checked.citations}
    labels = [verdict.label for verdict in engine.relevance(question, DOCUMENTS)]
    assert all(labels[number - 1] == "relevant" for number in cited)


def test_the_sentences_of_the_program_are_in_the_language_of_the_answer(engine):
    attempt = Attempt(shape=Shape(language="German", refusal=GERMAN.refusal))
    given = answer(engine, "Wer hat fees geschrieben?", attempt=attempt)
    assert given == "fees.docx nennt Cy Moss als Verfasser. [3]"
    assert check(given, DOCUMENTS).status == "grounded"


def test_what_a_document_says_of_something_is_quoted_from_it(engine):
    given = answer(engine, "What does RFC 12 say about the horn?")
    assert given.startswith("The horn sounds twice a minute while the fog lasts. [2]") and "[3]" not in given


HANDBOOK = passage(
    4,
    "Handbuch\n\nVon Ruth Falk\n\nHunde sind im Büro erlaubt. Urlaub wird zwei Wochen vorher abgesprochen.",
    source="/files/handbuch.md",
    title="Handbuch",
    named="handbuch",
)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Wer hat das Handbuch geschrieben?", "Von Ruth Falk [1]"),
        ("Was sagt das Handbuch über Hunde?", "Hunde sind im Büro erlaubt. [1]"),
        (
            "Worum geht es im Handbuch?",
            "Handbuch [1]\n\nHunde sind im Büro erlaubt. [1] Urlaub wird zwei Wochen vorher abgesprochen. [1]",
        ),
    ],
)
def test_lines_without_a_name_and_words_of_another_language(engine, question, expected):
    given = answer(engine, question, [HANDBOOK])
    assert given == expected and check(given, [HANDBOOK]).status == "grounded"
    assert engine.grade(question, [HANDBOOK], given).usefulness == 5


def test_the_words_that_name_a_document_do_not_choose_its_sentences(engine):
    text = "Rules of the harbour have a number, and rule 7 has one. Two ropes hold a boat."
    rule = passage(5, text, source="/files/rule-7.md", title="Rule 7", named="rule 7")
    assert answer(engine, "How many ropes hold a boat by rule 7?", [rule]).startswith("Two ropes hold a boat.")


def test_a_change_is_no_other_date(engine):
    assert "05-Mar-2017" not in answer(engine, "When was RFC 12 last updated?")


def test_a_failed_draft_is_not_written_again(engine):
    failed = Attempt(2, (("Status: Final [1]", "no"),))
    assert answer(engine, "What is the status of RFC 12?", attempt=failed) != "Status: Final [1]"


def test_documents_that_no_question_names_say_nothing_of_themselves(engine):
    assert answer(engine, "Who wrote Tides and Piers?") == NOT_IN_PASSAGES
    assert answer(engine, "Who wrote RFC 13?", [HORN, FEES]) == NOT_IN_PASSAGES


def test_words_of_the_file_name_count_as_covered(engine):
    """A document need not say its own number."""
    why = engine.relevance("What is RFC 0012 about?", [HORN])[0].why
    assert "missing" not in why


def test_a_property_is_cited_as_one():
    (citation,) = check("fees.docx names Cy Moss as its author. [1]", [FEES]).citations
    assert (citation.quote, citation.located, citation.verified) == ("Author: Cy Moss", "property", True)
    assert (citation.start, citation.end) == (0, 0)


@pytest.mark.parametrize(
    ("sentence", "verified"),
    [
        ("Cy Moss is the author of fees.docx. [1]", True),
        ("Fees was written by Cy Moss. [1]", True),
        ("fees.docx names Ada Quill as its author. [1]", False),
        ("fees.docx does not name Cy Moss as its author. [1]", False),
        ("fees.docx bears the date 2023-04-30. [1]", False),
        ("Cy Moss asked for nine crowns. [1]", False),
    ],
)
def test_a_property_carries_no_more_than_it_says(sentence, verified):
    assert check(sentence, [FEES]).citations[0].verified is verified


def test_without_properties_nothing_is_said_of_them(engine):
    bare = replace_metadata(FEES, author="", date="")
    assert "Cy Moss" not in answer(engine, "Who wrote the fees?", [bare])


def replace_metadata(document, **metadata):
    return document.model_copy(update={"metadata": document.metadata | metadata})
