"""Questions in languages that the evaluator does not read: answered by their words, or shown the nearest passages."""

from __future__ import annotations

import pytest
from support.fakes_index import remembering_minilm

from local_rag.cli.app import run
from local_rag.index.index import Index

LEASE = """# Mietvertrag

Die Kündigungsfrist beträgt drei Monate zum Ende eines Quartals. Haustiere sind nur mit Zustimmung erlaubt.
Der Vertrag wurde am 3. Mai 2019 unterschrieben.

- Miete: 850 Euro
- Stellplatz: 40 Euro

| Raum | Größe |
|---|---|
| Küche | 12 m² |

Vermieter: Anna Schmidt
"""
BAIL = """# Bail

Le délai de préavis est de trois mois à la fin du trimestre. Camille Durand gardera les clés.

- Loyer : 700 euros

Gardes : Hugo Martin

## Clés

- cave
- garage
"""
CONTRATO = """# Contrato

El plazo de preaviso es de dos meses. La fianza se paga el 4 de mayo de 2020. La llave está en la portería.

| Inquilino | Teléfono |
|---|---|
| Javier Soler | 96 123 45 07 |
"""


@pytest.fixture(scope="module")
def ask(tmp_path_factory, converted):
    """A function that asks an index of the three files, which nobody changes."""
    folder = tmp_path_factory.mktemp("files")
    for name, text in (("mietvertrag.md", LEASE), ("bail.md", BAIL), ("contrato.md", CONTRATO)):
        (folder / name).write_text(text, encoding="utf-8")
    with Index.open(folder / "index", remembering_minilm(), create=True) as index:
        index.sync([folder])
    return lambda question: run(["ask", question, "--engine", "extractive", "--index", str(folder / "index")])


@pytest.mark.parametrize(
    ("question", "code", "said"),
    [
        ("Wie groß ist die Küche?", 0, "Küche | Größe: 12 m²"),
        ("Wer ist der Vermieter?", 0, "Vermieter: Anna Schmidt"),
        ("Wie viel kostet der Stellplatz?", 0, "Stellplatz: 40 Euro"),
        ("Wie lange ist die Kündigungsfrist?", 4, "drei Monate zum Ende eines Quartals. [1]"),
        ("Wann wurde der Vertrag unterschrieben?", 4, "am 3. Mai 2019 unterschrieben"),
        ("Combien coûte le loyer ?", 0, "Loyer : 700 euros"),
        ("Combien de mois dure le délai de préavis ?", 4, "trois mois"),
        ("Qui gardera les clés ?", 4, "Camille Durand gardera les clés. [1]"),
        ("Quelles sont les clés du bail ?", 0, "- cave [1]\n- garage [1]"),
        ("¿Cuándo se paga la fianza?", 4, "el 4 de mayo de 2020"),
        ("¿Dónde está la llave?", 4, "La llave está en la portería. [1]"),
        ("¿Cuál es el teléfono de Javier Soler?", 0, "Javier Soler | Teléfono: 96 123 45 07"),
    ],
)
def test_a_line_with_the_words_of_the_question_answers(ask, capsys, question, code, said):
    assert ask(question) == code
    assert said in capsys.readouterr().out


@pytest.mark.parametrize(
    ("question", "refused", "nearest"),
    [
        ("Wie hoch ist der Mond?", "Aus den Dateien ging es nicht hervor: keine der", "Am nächsten kommt:"),
        ("Welche Haustiere sind erlaubt?", "Aus den Dateien ging es nicht hervor", "(Ähnlichkeit 0."),
        ("Wann wurde die Küche gestrichen?", "Aus den Dateien ging es nicht hervor", "Der Index handelt von:"),
        ("Qui a réparé la chaudière ?", "Les fichiers n'ont pas permis de répondre: aucun des", "Au plus près :"),
        ("¿Dónde está la piscina?", "Los archivos no permitieron responder: ninguno de los", "Lo más próximo:"),
    ],
)
def test_what_no_line_answers_is_refused_with_the_nearest_passages_in_its_language(
    ask, capsys, question, refused, nearest
):
    assert ask(question) == 3
    said = capsys.readouterr()
    assert refused in said.out and nearest in said.out and "others by their words alone" in said.err
