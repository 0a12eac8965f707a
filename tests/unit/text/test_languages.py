"""The language of a document, and its stems."""

import pytest

from local_rag.text.languages import NAMES, STEMMERS, language_of, stems

TEXTS = {
    "de": "Die Kündigungsfrist beträgt drei Monate. Sie beginnt mit dem Ende des Quartals.",
    "fr": "Le délai de préavis est de trois mois. Il commence à la fin du trimestre.",
    "es": "El plazo de preaviso es de tres meses. Comienza al final del trimestre.",
    "it": "Il preavviso è di tre mesi. Comincia alla fine del trimestre.",
    "nl": "De opzegtermijn is drie maanden. Hij begint aan het einde van het kwartaal, en de huurder betaalt tot dan.",
    "sv": "Uppsägningstiden är tre månader. Den börjar vid slutet av kvartalet, och hyresgästen betalar till dess.",
    "pt": "O prazo de aviso é de três meses. Começa no fim do trimestre, e o inquilino paga até lá com a sua conta.",
    "ru": "Срок уведомления составляет три месяца. Он начинается в конце квартала, и арендатор платит до этого дня.",
    "en": "The notice period is three months. It begins at the end of the quarter, and the tenant pays until then.",
}


@pytest.mark.parametrize("code", TEXTS)
def test_a_text_is_known_by_its_function_words(code):
    assert language_of(TEXTS[code]) == code


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1, 2, 3",
        "name,price\npump,3\nseal,4",
        "for (int i = 0; i < n; i++) { sum += a[i]; }",
        "Pumpe P-100",
        "日本語の文",
    ],
)
def test_what_is_no_running_text_has_no_stems(text):
    assert stems(text, language_of(text)) == []


@pytest.mark.parametrize(
    ("code", "first", "second"),
    [
        ("de", "Häuser", "Hauses"),
        ("de", "Kündigungsfristen", "Kündigungsfrist"),
        ("fr", "propriétaires", "propriétaire"),
        ("fr", "l'électricité", "électricité"),
        ("es", "inquilinos", "inquilino"),
        ("ru", "договора", "договор"),
    ],
)
def test_forms_of_a_word_have_one_stem(code, first, second):
    assert stems(first, code) == stems(second, code) and stems(first, code)[0].startswith(code)


def test_function_words_and_other_languages_have_none():
    assert stems("Die der und", "de") == stems("the houses", "en") == stems("houses", "") == []
    assert STEMMERS.keys() < NAMES.keys() and all(stems("xyz", code) for code in STEMMERS)
