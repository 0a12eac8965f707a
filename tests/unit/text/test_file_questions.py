"""Questions for files, and a question of several parts that is asked of one document."""

import pytest

from local_rag.text.document_questions import whole_document
from local_rag.text.file_questions import file_question, of_document
from local_rag.text.questions import in_other_words, parts


@pytest.mark.parametrize(
    ("question", "wanted", "kind", "made"),
    [
        ("Which files mention Anvil Court?", "Anvil Court", "", False),
        ("Which contracts have a penalty clause?", "penalty clause", "contract", False),
        ("In which documents is Anvil Court mentioned?", "Anvil Court", "", False),
        ("List all files that mention the roof", "roof", "", False),
        ("Which of my leases say something about pets?", "pets", "leas", False),
        ("Find all letters about the roof.", "roof", "letter", False),
        ("Welche Verträge enthalten eine Vertragsstrafe?", "Vertragsstrafe", "vertrag", False),
        ("Which of my letters were written by Ann Reed?", "Ann Reed", "letter", True),
        ("list the invoices from May 2024", "May 2024", "invoic", True),
        ("the mails from Ann Reed", "Ann Reed", "mail", True),
        ("In welchen Dateien steht Anvil Court?", "Anvil Court", "", False),
    ],
)
def test_a_question_for_files_says_what_they_hold_and_of_which_kind(question, wanted, kind, made):
    assert file_question(question) == (wanted, kind, made)


@pytest.mark.parametrize(
    "question",
    [
        "Which employees worked in May?",
        "Which contracts have a rent above 900 euros?",
        "What documents do I need?",
        "x" * 400,
    ],
)
def test_a_question_for_anything_else_is_none(question):
    assert file_question(question) is None


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("Summarise the expert report in three sentences, please", "expert report"),
        ("What is this about?", "this"),
        ("find the minutes of 13 May", "minutes of 13 May"),
        ("What are the main points of the lease?", "lease"),
        ("Fasse den Bericht zusammen", "Bericht"),
        ("De quoi parle l’offre de Halden ?", "offre de Halden"),
        ("¿De qué trata el informe?", "informe"),
        ("Summarise UN report 12", "UN report 12"),
        ("Tell me about the roof", ""),
        ("What does the report say about the roof?", ""),
    ],
)
def test_what_asks_for_all_of_a_document_names_it(question, name):
    assert whole_document(question) == name


def test_a_question_for_several_things_is_its_parts():
    assert parts("When does it end, and what is the notice period?") == [
        "When does it end?",
        "What is the notice period?",
    ]
    assert parts("Who are Ann and Bo?") == ["Who are Ann and Bo?"]
    assert parts("Wann endet der Vertrag und wie hoch ist die Miete?") == [
        "Wann endet der Vertrag?",
        "Wie hoch ist die Miete?",
    ]


def test_asked_of_one_document_it_is_the_kind_of_that():
    assert of_document("When does it end?", "Lease of 4 Quay Row") == "When does this lease end?"
    assert of_document("When does it end?", "quay row") == "When does it end?"
    assert in_other_words("When does this lease end?") == [
        "When does this lease expire?",
        "Until when does this lease run?",
    ]
    assert in_other_words("What is the notice period?") == ["How long is the notice period?"]
    assert in_other_words("Which trustees attended the May meeting?") == ["Who was present at the May meeting?"]
    assert in_other_words("what salary does Ann Reed get") == ["What is the salary of Ann Reed?"]
    assert in_other_words("Who pays?") == []
