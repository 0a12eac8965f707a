"""The forms in which people ask about a document itself, in English and German."""

from __future__ import annotations

import pytest

from local_rag.text.document_questions import document_question


@pytest.mark.parametrize(
    ("question", "asks", "name"),
    [
        ("What is RFC 12 about?", "content", "RFC 12"),
        ("what's harbour-rules about", "content", "harbour-rules"),
        ("What does the harbour plan propose?", "content", "harbour plan"),
        ("Please summarise the handbook.", "content", "handbook"),
        ("Give me an overview of the handbook", "content", "handbook"),
        ("Who wrote the March report?", "author", "March report"),
        ("Who are the authors of “Tides and Piers”?", "author", "Tides and Piers"),
        ("By whom was the lease drafted?", "author", "lease"),
        ("who sent the mail about the garden party?", "author", "mail about the garden party"),
        ("When was the lease last updated?", "date", "lease"),
        ("How old is the lease?", "date", "lease"),
        ("What is the title of RFC 12?", "title", "RFC 12"),
        ("Worum geht es im Mietvertrag?", "content", "Mietvertrag"),
        ("Fasse das Handbuch zusammen!", "content", "Handbuch"),
        ("Was steht in der Hausordnung?", "content", "Hausordnung"),
        ("Wer hat den Mietvertrag geschrieben?", "author", "Mietvertrag"),
        ("Von wem ist die Mail zum Sommerfest?", "author", "Mail zum Sommerfest"),
        ("Wann wurde das Handbuch veröffentlicht?", "date", "Handbuch"),
        ("Wie lautet der Titel von RFC 12?", "title", "RFC 12"),
    ],
)
def test_what_is_asked_of_which_document(question, asks, name):
    form = document_question(question)
    assert form is not None
    assert (form.asks, form.name, form.topic, form.field) == (asks, name, "", "")


@pytest.mark.parametrize(
    ("question", "name", "topic"),
    [
        ("What does the handbook say about leave?", "handbook", "leave"),
        ("What do the rules require for dogs?", "rules", "dogs"),
        ("According to the lease, who pays for repairs?", "lease", "who pays for repairs"),
        ("How long is the notice period according to the lease?", "lease", "How long is the notice period"),
        ("In the handbook, what is said of leave?", "handbook", "what is said of leave"),
        ("Was sagt die Hausordnung über Hunde?", "Hausordnung", "Hunde"),
        ("Was steht im Mietvertrag zur Kündigung?", "Mietvertrag", "Kündigung"),
        ("Laut Mietvertrag, wer zahlt Reparaturen?", "Mietvertrag", "wer zahlt Reparaturen"),
    ],
)
def test_what_a_document_says_of_something(question, name, topic):
    form = document_question(question)
    assert form is not None
    assert (form.asks, form.name, form.topic) == ("topic", name, topic)


def test_a_line_of_its_head():
    form = document_question("What is the status of RFC 12?")
    assert form is not None
    assert (form.asks, form.name, form.field) == ("field", "RFC 12", "status")


@pytest.mark.parametrize(
    "question",
    ["What is the rent?", "How many boats are there?", "Why?", "", "Which rule allows dogs?", "word " * 200],
)
def test_any_other_question_has_no_such_form(question):
    assert document_question(question) is None
