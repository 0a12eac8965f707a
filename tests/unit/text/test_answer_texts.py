"""The program's own sentences by language: complete, with the same placeholders, known to what compares with them."""

import re
from collections.abc import Mapping
from dataclasses import replace

import pytest

from local_rag.core.answer import Answer, Citation
from local_rag.text.answer_language import (
    TABLES,
    asked_language,
    fallback_note,
    is_engine_failure,
    is_refusal,
    ran_out_of_time,
    texts_for,
)
from local_rag.text.answer_texts import ENGLISH
from local_rag.text.citations import reads_as_refusal
from local_rag.text.languages import detected


def texts(table):
    """Every text of a table by its name."""
    for name, value in vars(type(table)).items():
        if name.startswith("_") or callable(value) or name == "code":
            continue
        if isinstance(value, Mapping):
            yield from ((f"{name}.{key}", text) for key, text in value.items())
        elif isinstance(value, tuple):
            yield from ((f"{name}.{number}", text) for number, text in enumerate(value))
        else:
            yield name, value


def placeholders(text):
    return set(re.findall(r"\{(\w+)", text))


ALIKE = "page similarity in_index web of_pages.0 of_pages.1 stand_out.dates".split()
"""Texts that are the same in two languages."""


@pytest.mark.parametrize("code", ["de", "fr", "es"])
def test_each_language_has_each_text_with_the_same_placeholders(code):
    english, own = dict(texts(ENGLISH)), dict(texts(TABLES[code]))
    assert list(english) == list(own)
    for name, text in english.items():
        assert own[name] and placeholders(own[name]) - {"n"} == placeholders(text) - {"n"}, name
        assert own[name] != text or name in ALIKE, f"{name} is not translated"


@pytest.mark.parametrize(
    ("quotes_only", "origins", "said"),
    [
        (True, ("files",), "Quoted from your files"),
        (False, ("files", "files"), "Supported by your files"),
        (True, ("web",), "Quoted from its sources"),
        (False, ("files", "web"), "Supported by its sources"),
    ],
)
def test_a_grounded_answer_says_whose_words_it_has(quotes_only, origins, said):
    citations = tuple(Citation(1, "a.md", None, "", "q", 0, 1, "", True, origin=origin) for origin in origins)
    assert ENGLISH.grounds(Answer("Why?", "So.", "grounded", citations=citations, quotes_only=quotes_only)) == said


@pytest.mark.parametrize("table", TABLES.values(), ids=list(TABLES))
def test_what_is_compared_with_is_known_in_every_language(table):
    assert is_refusal(table.refusal) and reads_as_refusal(f"{table.refusal} [1]")
    assert ran_out_of_time(table.out_of_time_after.format(seconds=300.0))
    assert is_engine_failure(f"{table.engine_failed}: the server is gone")
    assert not ran_out_of_time(table.nothing_found) and not is_engine_failure(table.nothing_found)
    assert not is_refusal(f"{table.refusal} But the plan costs 5 euros.")


REFUSALS = """
Die Textstellen enthalten keine Antwort.
„Die Textstellen enthalten keine Antwort auf die Frage.“ [2]
- Die Textstellen enthalten keine Antwort
Die Passagen enthalten die Antwort nicht.
The passages do not contain the answer to your question
Les passages ne contiennent pas la réponse à la question.
I passaggi non contengono la risposta.
The passage does not mention a hotel named Ribeira Nova. [1]
The passages do not explicitly state the price.
The chip number of Pepper is not mentioned in the provided passages.
Based on the information provided in the passage, there is no mention of a meeting. It describes an invoice.
According to the passage, no information about potato harvests in 2022 is provided.
I'm sorry, but I cannot answer this question as it is not related to the provided passage.
"""
OTHER_ANSWERS = """
Die Textstellen enthalten keine Antwort auf die Frage, wer zahlt.
Die Antwort steht in den Textstellen.
The rent is not included in the price.
According to the lease, the rent is due on the first.
No information about customers is provided to others.
The fee is 5 euros. There is no information on taxes.
"""


@pytest.mark.parametrize(("replies", "is_one"), [(REFUSALS, True), (OTHER_ANSWERS, False)])
def test_a_refusal_is_known_as_models_write_it(replies, is_one):
    assert [reply for reply in replies.strip().split("\n") if reads_as_refusal(reply) is not is_one] == []
    assert not reads_as_refusal("")


QUESTIONS = {
    "en": """What does the plan cost?
        Who pays?
        When will Die Zeit publish it?
        Who was Schrödinger?""",
    "de": """Was kostet der Plan?
        Wann endet die Kündigungsfrist?
        Und warum?
        Und die Kaution?
        Wie hoch ist die Kaution, und wer zahlt sie?
        Fasse den Vertrag zusammen
        Erkläre Self-RAG
        Erkla\u0308re Self-RAG
        Kosten des Plans
        Was tun?
        Kündigungsfristen
        Wer haftet für Schäden am Gebäude?
        Wie lange läuft der Vertrag?
        Welche Frist gilt für die Kündigung?
        Wo steht das?
        Darf ich das Zimmer untervermieten?
        Wann muss die Miete gezahlt werden?
        Was passiert bei Verzug?
        Ist Rauchen erlaubt?
        Warum wurde der Antrag abgelehnt?
        Wie viele Tage Urlaub habe ich?
        Gibt es eine Probezeit?
        Wem gehört der Garten?
        Muss ich die Küche streichen?
        Kann ich kostenlos stornieren?
        Wieviel kostet ein Schlüssel?
        Welches Ventil ist undicht?
        Woran erkenne ich einen Defekt?
        Wozu dient der Filter?
        Seit wann gibt es die Firma?""",
    "fr": """Quel est le prix des plans?
        Combien coûte l'abonnement ?
        Qui paie l’électricité ?
        Que dit le règlement ?
        Qui a proposé de remplacer les imprimantes ?
        Numéro de téléphone de Hugo""",
    "sv": "Vad är priset på planen?",
    "nl": "Wat is de prijs van het plan?",
    "da": "Hvad koster planen?",
    "es": "¿Cuándo termina el contrato?\n¿Fianza?",
    "": "résumé\nplan price 2024\n",
}


@pytest.mark.parametrize("code", QUESTIONS)
def test_the_language_of_a_question(code):
    questions = [line.strip() for line in QUESTIONS[code].split("\n")]
    assert [question for question in questions if detected(question) != code] == []


def test_what_does_not_tell_its_language_keeps_the_one_before():
    assert [detected(text, "de") for text in ("Self-RAG?", "", "Quel est le prix?", "What is it?")] == [
        "de", "de", "fr", "en",
    ]  # fmt: skip


def test_which_texts_and_which_wish_follow_from_the_setting():
    german, french = "Was kostet der Plan?", "Quel est le prix?"
    italian, spanish = "Quanto costa il piano?", "¿Cuánto cuesta?"
    asked = {"en": "What does it cost?", "de": german, "fr": french, "es": spanish, "it": italian}
    assert {code: texts_for("question", question).code for code, question in asked.items()} == {
        "en": "en", "de": "de", "fr": "fr", "es": "es", "it": "en",
    }  # fmt: skip
    assert texts_for("de", french).code == "de" and texts_for("Italian", german) is ENGLISH
    assert not any(hasattr(function, "cache_info") for function in (texts_for, asked_language)), "no question is kept"
    assert asked_language("question", "What does it cost?") == "", "the task is in English already"
    assert asked_language("question", german) == "German"
    assert asked_language("question", french) == "French"
    assert asked_language("question", "résumé") == "the language of the question"
    assert asked_language("fr", german) == "French" and asked_language("Latin", german) == "Latin"
    assert fallback_note("question") == fallback_note("German") == fallback_note("français") == ""
    assert "it has English, German, French and Spanish, not Italian" in fallback_note("it")


def test_a_row_of_a_table_is_no_text_of_its_file():
    quote = Citation(1, "/n/rent.md", None, "", "The rent is 900 euros.", 0, 22, "", True, located="exact")
    row = replace(quote, source="/n/Rent.CSV")
    assert [ENGLISH.how(quote), TABLES["de"].how(quote)] == ["word for word", "wörtlich"]
    assert [ENGLISH.how(row), TABLES["de"].how(row)] == [ENGLISH.record, TABLES["de"].record]
    assert ENGLISH.how(replace(row, verified=False)) == "not verified"
    assert ENGLISH.how(replace(row, located="property")) == "a property of the file"
