"""Questions in languages that the evaluator does not read: answered by their words, or shown the nearest passages."""

import pytest
from support.fakes_index import remembering_minilm
from support.screen import shown

from local_rag.config.settings import Settings
from local_rag.index.index import Index
from local_rag.runtime.rag import Rag
from local_rag.terminal.answers import answer_parts
from local_rag.text.display import short_path

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
    """A function that asks an index of the three files, which nobody changes: status, and what a person is shown."""
    folder = tmp_path_factory.mktemp("files")
    for name, text in (("mietvertrag.md", LEASE), ("bail.md", BAIL), ("contrato.md", CONTRATO)):
        (folder / name).write_text(text, encoding="utf-8")
    with Index.open(folder / "index", remembering_minilm(), create=True) as index:
        index.sync([folder])

    def asked(question):
        answer = rag.ask(question, record=False)
        return answer.status, "\n".join(shown(*answer_parts(answer, short_path)))

    with Rag.open(Settings.load(engine="extractive", index=str(folder / "index"))) as rag:
        yield asked


@pytest.mark.parametrize(
    ("question", "status", "said"),
    [
        ("Wie groß ist die Küche?", "grounded", "Küche | Größe: 12 m²"),
        ("Wer ist der Vermieter?", "grounded", "Vermieter: Anna Schmidt"),
        ("Wie viel kostet der Stellplatz?", "grounded", "Stellplatz: 40 Euro"),
        ("Wie lange ist die Kündigungsfrist?", "partial", "drei Monate zum Ende eines Quartals. [1]"),
        ("Wann wurde der Vertrag unterschrieben?", "partial", "am 3. Mai 2019 unterschrieben"),
        ("Combien coûte le loyer ?", "grounded", "Loyer : 700 euros"),
        ("Combien de mois dure le délai de préavis ?", "partial", "trois mois"),
        ("Qui gardera les clés ?", "partial", "Camille Durand gardera les clés. [1]"),
        ("Quelles sont les clés du bail ?", "grounded", "- cave [1]\n- garage [1]"),
        ("¿Cuándo se paga la fianza?", "partial", "el 4 de mayo de 2020"),
        ("¿Dónde está la llave?", "partial", "La llave está en la portería. [1]"),
        ("¿Cuál es el teléfono de Javier Soler?", "grounded", "Javier Soler | Teléfono: 96 123 45 07"),
    ],
)
def test_a_line_with_the_words_of_the_question_answers(ask, question, status, said):
    found, text = ask(question)
    assert found == status and said in text


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
def test_what_no_line_answers_is_refused_with_the_nearest_passages_in_its_language(ask, question, refused, nearest):
    status, text = ask(question)
    assert status == "abstained" and refused in text and nearest in text
